package rup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Client sends requests to the RUP server of one site. It may be used concurrently. It follows no
// redirects, so that a key is sent nowhere else. It has no state, and puts keys neither into logs
// nor into URLs or errors.
type Client struct {
	CGI       string // Info.CGI
	UserAgent string
	// Transport sends the requests; nil means http.DefaultTransport. It is responsible for
	// robots.txt, the host's delay and which addresses may be dialled.
	Transport http.RoundTripper
	// needed for a Retry-After with a date; nil means that such dates are ignored
	Now func() time.Time
}

// Register registers and returns the key, which the site will not send again.
func (c *Client) Register(ctx context.Context, p Preferences) (Key, error) {
	a, err := c.Do(ctx, Request{Action: Register, Preferences: p})
	if err != nil {
		return "", err
	}
	return a.Key()
}

// Unregister ends a registration.
func (c *Client) Unregister(ctx context.Context, who Credentials) error {
	a, err := c.Do(ctx, Request{Action: Unregister, Credentials: who})
	if err != nil {
		return err
	}
	return a.Err()
}

// Modify changes the preferences in p. If it has an Email, the registration moves to that address.
func (c *Client) Modify(ctx context.Context, who Credentials, p Preferences) error {
	a, err := c.Do(ctx, Request{Action: ModifyPreferences, Credentials: who, Preferences: p})
	if err != nil {
		return err
	}
	return a.Err()
}

// Sequence requests how many reports the site has sent.
func (c *Client) Sequence(ctx context.Context, who Credentials) (int64, error) {
	a, err := c.Do(ctx, Request{Action: GetSequenceNumber, Credentials: who})
	if err != nil {
		return 0, err
	}
	return a.Sequence()
}

// Index requests the changes within a span. Without credentials it gets a report without a number.
func (c *Client) Index(ctx context.Context, span Span, who Credentials) (*Report, error) {
	a, err := c.Do(ctx, Request{Action: GetIndex, Span: span, Credentials: who})
	if err != nil {
		return nil, err
	}
	return a.Report()
}

// Do sends a request and reads the answer, whatever its status. An error means that there was no
// complete answer.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.CGI, strings.NewReader(r.Form()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", FormType)
	if c.UserAgent != "" {
		req.Header.Set("User-Agent", c.UserAgent)
	}
	transport := c.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", r.Action, c.CGI, err)
	}
	defer res.Body.Close()
	a := &Answer{Status: res.StatusCode, ContentType: res.Header.Get("Content-Type"), RetryAfter: c.retryAfter(res.Header)}
	if a.Body, err = io.ReadAll(io.LimitReader(res.Body, MaxAnswer+1)); err != nil {
		return nil, fmt.Errorf("%s at %s: %w", r.Action, c.CGI, err)
	}
	if len(a.Body) > MaxAnswer {
		a.Body, a.Cut = a.Body[:MaxAnswer], true
	}
	if key := string(r.Credentials.Key); key != "" && a.Status != http.StatusOK {
		// A site may quote the parameters that it refuses, and errors are logged.
		a.Body = []byte(strings.ReplaceAll(string(a.Body), key, "(key)"))
	}
	return a, nil
}

func (c *Client) retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.ParseUint(text, 10, 32); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil && c.Now != nil {
		return max(0, t.Sub(c.Now()))
	}
	return 0
}
