package elastic

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"

	"github.com/curtsy/curtsy/internal/feed"
)

const (
	requestTime = 2 * time.Minute // of a request, so that a lost server is noticed
	mostAnswer  = 64 << 20        // bytes of an answer that are read
	mostReason  = 500             // bytes of a server's message that are kept
)

// connect makes the client. The transport of go-elasticsearch is for both servers, unlike
// go-elasticsearch itself: that refuses every server without the header X-Elastic-Product, and asks
// for a media type that OpenSearch does not have. opensearch-go's transport asks in the background
// for the health of a cluster, which an account for one index is not allowed to read.
func (s *Sink) connect(base *url.URL, user *url.Userinfo, p parameters, o Options) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if o.Dial != nil {
		transport.DialContext, transport.Proxy = o.Dial, nil
	}
	if p.ca != "" {
		pem, err := os.ReadFile(p.ca)
		if err != nil {
			return fmt.Errorf("ca: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ca: %s has no certificate in PEM", p.ca)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	options := []elastictransport.Option{
		elastictransport.WithURLs(base), elastictransport.WithTransport(transport), elastictransport.WithUserAgent("curtsy-feed"),
		elastictransport.WithDisableRetry(), // Write tries again, without what arrived
	}
	if p.gzip {
		options = append(options, elastictransport.WithCompression())
	}
	switch {
	case user != nil:
		password, ok := user.Password()
		if !ok {
			password = o.Password
		}
		options = append(options, elastictransport.WithBasicAuth(user.Username(), password))
	case o.APIKey != "":
		options = append(options, elastictransport.WithHeader(http.Header{"Authorization": {"ApiKey " + o.APIKey}}))
	}
	client, err := elastictransport.NewClient(options...)
	s.client, s.idle = client, transport.CloseIdleConnections
	return err
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request, which may take as long as requestTime. An error means that no complete answer
// came.
func (s *Sink) do(ctx context.Context, method, path, contentType string, body []byte) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return s.perform(ctx, method, path, contentType, body)
}

// perform is do without a limit of time.
func (s *Sink) perform(ctx context.Context, method, path, contentType string, body []byte) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body == nil {
		req.Body, req.GetBody = http.NoBody, nil
	} else {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := s.client.Perform(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.server, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer+1))
	if err == nil && len(b) > mostAnswer {
		err = errors.New("the answer is too long")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.server, err)
	}
	return &answer{res.StatusCode, res.Header, b}, nil
}

// json sends a request with a JSON body, which may be nil.
func (s *Sink) json(ctx context.Context, method, path string, body any) (*answer, error) {
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	return s.do(ctx, method, path, "application/json", b)
}

// cause is why a server refused a request or an item, as both servers write it.
type cause struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
	Cause  *cause `json:"caused_by"`
}

func (c *cause) String() string {
	text := c.Type + ": " + c.Reason
	for d := c.Cause; d != nil && len(text) < mostReason; d = d.Cause {
		text += "; " + d.Type + ": " + d.Reason
	}
	return cut(text)
}

func cut(s string) string {
	if len(s) > mostReason {
		s = s[:mostReason] + "…"
	}
	return s
}

// reason is what an answer gives as its reason. A proxy's answer is not JSON.
func (a *answer) reason() *cause {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	c := new(cause)
	if json.Unmarshal(a.body, &e) != nil || json.Unmarshal(e.Error, c) != nil || c.Type == "" {
		c = &cause{Type: http.StatusText(a.status), Reason: cut(string(a.body))}
	}
	return c
}

// retryAfter is how long the server asks to wait, 0 if it does not ask.
func (a *answer) retryAfter() time.Duration {
	n, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(n)*time.Second, longestWait)
}

// failed is the error for an answer that is not the expected one: passing for what a server answers
// when it is busy or starts, and permanent otherwise.
func (s *Sink) failed(what string, a *answer) error {
	err := fmt.Errorf("%s: %s: status %d, %s", s.server, what, a.status, a.reason())
	advice := ""
	switch {
	case a.status == http.StatusTooManyRequests || a.status >= 500:
		return err
	case a.status == http.StatusUnauthorized:
		advice = "check the user in the URL and CURTSY_FEED_PASSWORD, or the API key in CURTSY_FEED_TOKEN"
	case a.status == http.StatusForbidden:
		advice = "give the account the privileges create_index, view_index_metadata, manage, read and write on " + s.index + "*, or make its index writable again"
	case a.status == http.StatusNotFound:
		advice = "check the address, and whether the index " + s.index + " still exists"
	default:
		advice = "check the address and the mapping of " + s.index
	}
	return &feed.Permanent{Err: fmt.Errorf("%w: %s", err, advice)}
}
