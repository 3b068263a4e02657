package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	goopenai "github.com/sashabaranov/go-openai"
)

// maxErrorBytes bounds what is read of an error's body.
const maxErrorBytes = 64 << 10

// outcome is what is known of a request's fate, for the budget.
type outcome int

const (
	unsent   outcome = iota // it never left
	lost                    // it left, and what the server made of it is unknown
	refused                 // the server answered with an error
	answered                // the server answered
)

// exchange is one request and its answer. It stands where the protocol's client expects its
// HTTP client, reads the whole answer within its bound, and turns every failure into an
// error of this package, with nothing in it that was sent.
type exchange struct {
	http   *http.Client
	limit  int64
	now    func() time.Time
	redact redactor

	outcome outcome
	body    []byte // of an answer
	err     error  // of a failure
}

var _ goopenai.HTTPDoer = (*exchange)(nil)

// Do makes the request. Its error is also x.err.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	resp, err := x.http.Do(req) //nolint:gosec // the address is the host's configuration
	if err != nil {
		x.err, x.outcome = newNetworkError(err), lost
		if beforeSending(err) {
			x.outcome = unsent
		}
		return nil, x.err
	}
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, x.fail(resp)
	}
	x.outcome = lost
	body, err := io.ReadAll(io.LimitReader(resp.Body, x.limit+1))
	switch {
	case err != nil:
		x.err = newNetworkError(err)
		return nil, x.err
	case int64(len(body)) > x.limit:
		x.err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, x.limit)
		return nil, x.err
	case !json.Valid(body):
		x.err = fmt.Errorf("%w: %d bytes are no JSON document", ErrMalformed, len(body))
		return nil, x.err
	}
	x.outcome, x.body = answered, body
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// fail reads an answer that is an error. A body that cannot be read says nothing; the
// status still does.
func (x *exchange) fail(resp *http.Response) error {
	x.outcome = refused
	if resp.StatusCode == http.StatusGatewayTimeout {
		x.outcome = lost // a gateway stopped waiting for a model that may be at work
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	e := newAPIError(resp.StatusCode, body, x.redact)
	e.RequestID = x.redact.word(resp.Header.Get("X-Request-Id"))
	e.RetryAfter = retryAfter(resp.Header, x.now())
	x.err = e
	return e
}

// explain turns an error of the protocol's client into one of this package. Its text is
// dropped: it may quote the answer.
func (x *exchange) explain(err error) error {
	switch {
	case x.err != nil:
		return x.err
	case errors.Is(err, goopenai.ErrReasoningModelMaxTokensDeprecated):
		return errOldBound
	case x.outcome == answered:
		return fmt.Errorf("%w: the JSON has another shape", ErrMalformed)
	default:
		return errors.New("the request cannot be made of this model and these parameters")
	}
}

// hidden looks for an error in an answer whose status was good. Gateways that commit to
// their status before the model runs report failures in this way.
func (x *exchange) hidden() error {
	e := apiErrorInside(x.body, x.redact)
	if e == nil {
		return nil
	}
	x.outcome = refused
	return e
}
