package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// Defaults of Config.
const (
	DefaultBaseURL          = "https://api.openai.com/v1"
	DefaultAttempts         = 4
	DefaultAttemptTimeout   = time.Minute
	DefaultBackoff          = 500 * time.Millisecond
	DefaultMaxBackoff       = 20 * time.Second
	DefaultMaxRetryAfter    = time.Minute
	DefaultMaxResponseBytes = 32 << 20
)

// Config describes an endpoint. The zero value of every field but APIKey is a default; no
// number may be negative. It prints without the key.
type Config struct {
	// BaseURL is where the API's paths begin, DefaultBaseURL if empty; for Azure the
	// resource, https://NAME.openai.azure.com. It must be http or https, and plain: no
	// user, query or fragment. With http, texts and the key travel in the clear.
	BaseURL string

	// APIKey is sent with every request: as a bearer token, or in Azure's api-key header.
	// It may be empty for servers that want none, and if HTTPClient's transport adds
	// credentials of its own, for example tokens of Entra ID that expire.
	APIKey string `json:"-"`

	// AzureAPIVersion, for example "2024-10-21", makes this an Azure endpoint: its paths
	// name deployments, and each request this version.
	AzureAPIVersion string

	// Organization is OpenAI's organization header, for keys that belong to several.
	Organization string

	// HTTPClient makes the requests, http.Client's zero value if nil. A copy is used that
	// follows no redirect.
	HTTPClient *http.Client

	// Attempts is how often a request is made before it is given up, default 4.
	Attempts int

	// AttemptTimeout bounds one attempt, its whole answer included, default 1 minute.
	AttemptTimeout time.Duration

	// Backoff and MaxBackoff shape the waits between attempts: the n-th is a random time
	// up to Backoff doubled n-1 times, and never above MaxBackoff. Defaults 500 ms, 20 s.
	Backoff, MaxBackoff time.Duration

	// MaxRetryAfter is the longest wait that a server's Retry-After is granted, default 1
	// minute. If it asks for more the call fails at once, with an *APIError that says how
	// long; it is never asked again earlier than it wants.
	MaxRetryAfter time.Duration

	// MaxResponseBytes bounds an answer, after decompression, default 32 MiB.
	MaxResponseBytes int64

	// Budget caps what tenants use; nil is no cap.
	Budget Budget

	// Logger gets a line for every attempt that is repeated and for everything a server is
	// seen to refuse. Nil logs nothing.
	Logger *slog.Logger

	// Now and Sleep are the clock, the real one if nil. Sleep waits until d is over, or
	// returns the context's error as soon as that ends.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// String describes the endpoint without its key.
func (c Config) String() string {
	return fmt.Sprintf("openai.Config{BaseURL: %q, AzureAPIVersion: %q}", c.BaseURL, c.AzureAPIVersion)
}

// GoString is String, for the verb that would print every field.
func (c Config) GoString() string { return c.String() }

// LogValue is String, for log/slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	c.BaseURL = cmp.Or(strings.TrimRight(c.BaseURL, "/"), DefaultBaseURL)
	c.Attempts = cmp.Or(c.Attempts, DefaultAttempts)
	c.AttemptTimeout = cmp.Or(c.AttemptTimeout, DefaultAttemptTimeout)
	c.Backoff = cmp.Or(c.Backoff, DefaultBackoff)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, max(DefaultMaxBackoff, c.Backoff))
	c.MaxRetryAfter = cmp.Or(c.MaxRetryAfter, DefaultMaxRetryAfter)
	c.MaxResponseBytes = cmp.Or(c.MaxResponseBytes, DefaultMaxResponseBytes)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now //nolint:forbidigo // the one place where the real clock comes in
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return c
}

// validate is asked after withDefaults. Its errors name the field and never the value: an
// address may carry a password by mistake, and a key must not be shown.
func (c Config) validate(own bool) error {
	if err := validateURL(c.BaseURL); err != nil {
		return err
	}
	switch {
	case c.AzureAPIVersion != "" && c.BaseURL == DefaultBaseURL:
		return errors.New("openai: Config.BaseURL must name the Azure resource")
	case own && c.BaseURL == DefaultBaseURL && c.APIKey == "":
		return errors.New("openai: Config.APIKey is empty")
	}
	for _, f := range []struct{ name, value string }{
		{"APIKey", c.APIKey}, {"Organization", c.Organization}, {"AzureAPIVersion", c.AzureAPIVersion},
	} {
		if strings.ContainsFunc(f.value, unfit) {
			return fmt.Errorf("openai: Config.%s contains white space, or what no header can carry", f.name)
		}
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"Attempts", int64(c.Attempts)},
		{"AttemptTimeout", int64(c.AttemptTimeout)},
		{"Backoff", int64(c.Backoff)},
		{"MaxBackoff", int64(c.MaxBackoff)},
		{"MaxRetryAfter", int64(c.MaxRetryAfter)},
		{"MaxResponseBytes", c.MaxResponseBytes},
	} {
		if f.value < 0 {
			return fmt.Errorf("openai: Config.%s is negative", f.name)
		}
	}
	return nil
}

func validateURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("openai: Config.BaseURL is no http or https address")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("openai: Config.BaseURL must have no user, query or fragment")
	}
	return nil
}

// unfit reports runes that have no place in a key: a newline from the end of a file, or
// quotes that a word processor made curly.
func unfit(r rune) bool { return r > unicode.MaxASCII || unicode.IsSpace(r) || unicode.IsControl(r) }

// sleep waits for the real time.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
