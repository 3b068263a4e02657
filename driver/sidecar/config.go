package sidecar

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/memkernel/memkernel/kernel/mem"
)

// Defaults and bounds of Config.
const (
	DefaultCandidates       = 50
	DefaultMaxRequestBytes  = 8 << 20
	DefaultMaxResponseBytes = 1 << 20
	// MaxCandidates is as many rows of an arm as a view returns.
	MaxCandidates = 1000
)

// Config says where the engine is and what it is sent. Name, URL and Destination have no default. It
// prints without the token.
type Config struct {
	// Name is what policies and requests call the driver; see mem.ValidDriverName.
	Name string

	// URL is the address that is asked, http or https, without user, query and fragment.
	URL string

	// Destination is the class of the place that the engine is at: local, trusted_model or
	// remote_model. It decides which texts and questions go there.
	Destination mem.Destination

	// AllowPlainHTTP allows http to a host that is neither localhost nor a loopback address. Texts
	// and the token then travel in the clear, whatever Destination says.
	AllowPlainHTTP bool

	// Token is sent as a bearer token; empty sends none. A transport of HTTPClient's can add
	// credentials of another sort.
	Token string `json:"-"`

	// HTTPClient makes the requests. A copy is used that follows no redirect and keeps no cookies;
	// proxies are its transport's affair. Nil is a client that asks no proxy, whatever the
	// environment says, and keeps at most 8 idle connections, each for 30 seconds.
	HTTPClient *http.Client

	// WordCandidates and VectorCandidates are how many rows of each arm are sent at most, default
	// 50, at most MaxCandidates. -1 asks an arm for none.
	WordCandidates, VectorCandidates int

	// MaxRequestBytes bounds a request, default 8 MiB. A search whose candidates are larger is not
	// sent.
	MaxRequestBytes int64

	// MaxResponseBytes bounds a response, after decompression, default 1 MiB.
	MaxResponseBytes int64
}

// String describes the engine without the token.
func (c Config) String() string {
	return fmt.Sprintf("sidecar.Config{Name: %q, URL: %q, Destination: %q}", c.Name, c.URL, c.Destination)
}

// GoString is String, for the verb that would print every field.
func (c Config) GoString() string { return c.String() }

// LogValue is String, for log/slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (c Config) withDefaults() Config {
	c.WordCandidates = cmp.Or(c.WordCandidates, DefaultCandidates)
	c.VectorCandidates = cmp.Or(c.VectorCandidates, DefaultCandidates)
	c.MaxRequestBytes = cmp.Or(c.MaxRequestBytes, DefaultMaxRequestBytes)
	c.MaxResponseBytes = cmp.Or(c.MaxResponseBytes, DefaultMaxResponseBytes)
	return c
}

func invalid(field, reason string) error {
	return &mem.InvalidError{Field: "sidecar.Config." + field, Reason: reason}
}

// validate is asked after withDefaults. Its errors do not repeat the address or the token: an address
// may carry a password by mistake.
func (c Config) validate() error {
	if !mem.ValidDriverName(c.Name) {
		return invalid("Name", "it is not 1 to 64 of a-z, 0-9, '-' and '_'")
	}
	switch c.Destination {
	case mem.DestinationLocal, mem.DestinationTrustedModel, mem.DestinationRemoteModel:
	default:
		return invalid("Destination", "it is not local, trusted_model or remote_model")
	}
	if err := c.validateURL(); err != nil {
		return err
	}
	if strings.ContainsFunc(c.Token, unfit) {
		return invalid("Token", "it contains white space, or what no header can carry")
	}
	for _, f := range []struct {
		name string
		n    int
	}{{"WordCandidates", c.WordCandidates}, {"VectorCandidates", c.VectorCandidates}} {
		if f.n < -1 || f.n > MaxCandidates {
			return invalid(f.name, fmt.Sprintf("%d, want 1 to %d, or -1 for none", f.n, MaxCandidates))
		}
	}
	switch {
	case c.WordCandidates == -1 && c.VectorCandidates == -1:
		return invalid("WordCandidates", "it is -1, and so is VectorCandidates: nothing would be sent")
	case c.MaxRequestBytes < 0:
		return invalid("MaxRequestBytes", "it is negative")
	case c.MaxResponseBytes < 0:
		return invalid("MaxResponseBytes", "it is negative")
	}
	return nil
}

func (c Config) validateURL() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return invalid("URL", "it is no http or https address")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return invalid("URL", "it must have no user, query or fragment")
	case u.Scheme == "http" && !loopback(u.Hostname()) && !c.AllowPlainHTTP:
		return invalid("URL", "it is plain http to another host, which AllowPlainHTTP does not allow")
	}
	return nil
}

func loopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// unfit reports runes that have no place in a token.
func unfit(r rune) bool { return r > unicode.MaxASCII || unicode.IsSpace(r) || unicode.IsControl(r) }

// client returns the client that requests are made with: nothing is sent to an address that nobody
// named, and nothing of one search is known to the next.
func (c Config) client() *http.Client {
	const idle, idleTime = 8, 30 * time.Second
	client := &http.Client{}
	if c.HTTPClient != nil {
		*client = *c.HTTPClient
	} else {
		client.Transport = &http.Transport{
			MaxIdleConns: idle, MaxIdleConnsPerHost: idle, IdleConnTimeout: idleTime, ForceAttemptHTTP2: true, DisableCompression: true,
		}
	}
	client.Jar = nil
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}
