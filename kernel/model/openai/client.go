package openai

import (
	"context"
	"net/http"
	"time"

	goopenai "github.com/sashabaranov/go-openai"
)

// Client is an endpoint. It is safe for concurrent use, starts no goroutine and needs no
// closing. New makes one.
type Client struct {
	cfg  Config        // without the key
	key  func() string // a function, so that printing a Client cannot show it
	http *http.Client

	// timeout derives an attempt's context; tests replace it.
	timeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

// New returns a client of the endpoint that cfg describes. It does no I/O: a wrong key or
// address shows with the first request. It fails if a field has no meaning, and then names
// it without its value.
func New(cfg Config) (*Client, error) {
	own := cfg.HTTPClient == nil // else its transport may add the credentials
	cfg = cfg.withDefaults()
	if err := cfg.validate(own); err != nil {
		return nil, err
	}
	c := &Client{http: &http.Client{}, timeout: context.WithTimeout}
	if !own {
		*c.http = *cfg.HTTPClient
	}
	// A redirect would take texts, and Azure's key, to an address that nobody configured.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	key := cfg.APIKey
	c.key = func() string { return key }
	cfg.APIKey = ""
	c.cfg = cfg
	return c, nil
}

// azure reports whether the endpoint speaks Azure's dialect.
func (c *Client) azure() bool { return c.cfg.AzureAPIVersion != "" }

// official reports whether the endpoint is OpenAI's or Azure's own, whose newer models want
// a newer name for the bound on an answer.
func (c *Client) official() bool { return c.azure() || c.cfg.BaseURL == DefaultBaseURL }

// wire returns the protocol's client for one exchange.
func (c *Client) wire(x *exchange) *goopenai.Client {
	key := c.key()
	cfg := goopenai.DefaultConfig(key)
	if c.azure() {
		cfg = goopenai.DefaultAzureConfig(key, c.cfg.BaseURL)
		cfg.APIVersion = c.cfg.AzureAPIVersion
		cfg.AzureModelMapperFunc = func(model string) string { return model }
		if key == "" {
			cfg.APIType = goopenai.APITypeAzureAD // sends no empty api-key header
		}
	}
	cfg.BaseURL = c.cfg.BaseURL
	cfg.OrgID = c.cfg.Organization
	cfg.HTTPClient = x
	return goopenai.NewClientWithConfig(cfg)
}
