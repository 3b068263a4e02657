package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
)

// networkError is a request that got no whole answer. It matches ErrUnavailable.
type networkError struct {
	timeout bool
	cause   error // says nothing that a server or a proxy could have put in its mouth
}

func newNetworkError(err error) *networkError {
	var n net.Error
	return &networkError{timeout: errors.As(err, &n) && n.Timeout(), cause: harmless(err)}
}

func (e *networkError) Error() string {
	if e.timeout {
		return "no answer in time"
	}
	return "no answer: " + e.cause.Error()
}

func (e *networkError) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns no error of a context: what is over is the attempt's time, not the caller's.
func (e *networkError) Unwrap() error { return e.cause }

// harmless returns the part of a transport's error that the machine itself has written: the
// rest may quote an answer, and an answer may quote the request.
func harmless(err error) error {
	var (
		dns   *net.DNSError
		op    *net.OpError
		cert  *tls.CertificateVerificationError
		errno syscall.Errno
	)
	switch {
	case errors.As(err, &dns):
		return dns
	case errors.As(err, &cert):
		return cert
	case errors.As(err, &op) && errors.As(op.Err, &errno):
		return op
	case errors.As(err, &errno):
		return errno
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case errors.Is(err, context.Canceled):
		return errors.New("given up")
	default:
		return errors.New("the connection failed")
	}
}

// beforeSending reports whether a request failed before any of it was sent.
func beforeSending(err error) bool {
	var (
		dns  *net.DNSError
		op   *net.OpError
		cert *tls.CertificateVerificationError
	)
	return errors.As(err, &dns) || errors.As(err, &cert) || errors.As(err, &op) && op.Op == "dial"
}
