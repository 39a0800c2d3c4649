// Package webhook is a sink of package feed: an HTTP server that receives batches by POST.
//
// A batch is one request, in JSON:
//
//	{"crawl":"docs","shard":0,"generation":7,"changes":[{"id":"…","version":8,"url":"…",…}, …]}
//
// A change is a page as `curtsy export pages` writes it, after its id and version; with "removed"
// the page is to be deleted. With ?format=ndjson, each line of the body is a change, and the rest
// is in the headers Curtsy-Crawl, Curtsy-Shard and Curtsy-Generation. A request with "sweep":true
// and no changes asks to delete what the shard has of earlier generations.
//
// A 2xx response says that everything is stored. Its body may list what is refused for good:
//
//	{"refused":[{"id":"…","reason":"…"}]}
//
// A request may come twice, with the same Idempotency-Key or in other batches. A page whose version
// is not higher than the stored one changes nothing. With a secret, Curtsy-Signature is
// t=TIME,v1=HEX: the HMAC-SHA256 of the time, a full stop and the body.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/siterules"
)

// Options are the settings of a sink.
type Options struct {
	URL      *url.URL // without a password
	NDJSON   bool
	Password string       // for the user of the URL
	Token    string       // sent as a bearer token
	Secret   string       // signs the requests
	Client   *http.Client // nil: one with a timeout of a minute
}

// Sink sends batches to a server.
type Sink struct {
	o      Options
	url    string // without a user
	client http.Client
}

// maxAnswer is how much of a response is read, in bytes.
const maxAnswer = 1 << 20

// Open makes a sink. It connects to nothing.
func Open(o Options) (*Sink, error) {
	if o.URL.Host == "" {
		return nil, errors.New("the URL has no host")
	}
	s := &Sink{o: o, client: http.Client{Timeout: time.Minute}}
	if o.Client != nil {
		s.client = *o.Client
	}
	// A redirected POST would become a GET.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	plain := *o.URL
	plain.User, plain.Fragment = nil, ""
	s.url = plain.String()
	return s, nil
}

// Prepare does nothing.
func (s *Sink) Prepare(context.Context, []siterules.FieldInfo) error { return nil }

// Close closes idle connections.
func (s *Sink) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// envelope is a request in JSON.
type envelope struct {
	Crawl      string            `json:"crawl"`
	Shard      int               `json:"shard"`
	Generation int64             `json:"generation"`
	Sweep      bool              `json:"sweep,omitempty"`
	Changes    []json.RawMessage `json:"changes,omitempty"`
}

// Write sends a batch, in smaller parts if the server demands it.
func (s *Sink) Write(ctx context.Context, b feed.Batch) ([]feed.Refused, error) {
	body, err := s.body(b)
	if err != nil {
		return nil, err
	}
	one := len(b.Changes) == 1
	status, refused, err := s.post(ctx, b, body)
	switch {
	case status == http.StatusRequestEntityTooLarge && one:
		return []feed.Refused{{Change: &b.Changes[0], Reason: fmt.Sprintf("413: %d bytes are too large for the server", len(body))}}, nil
	case status == http.StatusUnprocessableEntity && one:
		return []feed.Refused{{Change: &b.Changes[0], Reason: err.Error()}}, nil
	case (status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity) && len(b.Changes) > 1:
		half := len(b.Changes) / 2
		first, second := b, b
		first.Changes, second.Changes = b.Changes[:half], b.Changes[half:]
		refused, err := s.Write(ctx, first)
		if err != nil {
			return nil, err
		}
		more, err := s.Write(ctx, second)
		return append(refused, more...), err
	}
	return refused, err
}

// Sweep sends a request with "sweep".
func (s *Sink) Sweep(ctx context.Context, crawlName string, shard int, generation int64) error {
	body, err := json.Marshal(envelope{Crawl: crawlName, Shard: shard, Generation: generation, Sweep: true})
	if err != nil {
		return err
	}
	_, _, err = s.post(ctx, feed.Batch{Crawl: crawlName, Shard: shard, Generation: generation}, body)
	return err
}

// body is a batch as it is sent.
func (s *Sink) body(b feed.Batch) ([]byte, error) {
	e := envelope{Crawl: b.Crawl, Shard: b.Shard, Generation: b.Generation}
	var lines bytes.Buffer
	for i := range b.Changes {
		line, err := b.Changes[i].Line()
		if err != nil {
			return nil, err
		}
		if s.o.NDJSON {
			lines.Write(line)
			lines.WriteByte('\n')
		} else {
			e.Changes = append(e.Changes, line)
		}
	}
	if s.o.NDJSON {
		return lines.Bytes(), nil
	}
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return lines.Bytes(), err
}

// post sends a request. status is 0 if there is no response.
func (s *Sink) post(ctx context.Context, b feed.Batch, body []byte) (status int, refused []feed.Refused, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, &feed.Permanent{Err: errors.New("the URL of the webhook is not valid")}
	}
	s.head(r, b, body)
	resp, err := s.client.Do(r)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // the URL may contain a secret
		}
		return 0, nil, fmt.Errorf("webhook %s: %w", s.o.URL.Host, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, fmt.Errorf("webhook %s: %w", s.o.URL.Host, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp.StatusCode, refusedBy(text, b), nil
	}
	return resp.StatusCode, nil, s.failed(resp, text)
}

// head sets the headers of a request.
func (s *Sink) head(r *http.Request, b feed.Batch, body []byte) {
	h := r.Header
	h.Set("User-Agent", "curtsy-feed")
	h.Set("Content-Type", "application/json")
	h.Set("Curtsy-Crawl", b.Crawl)
	h.Set("Curtsy-Shard", strconv.Itoa(b.Shard))
	h.Set("Curtsy-Generation", strconv.FormatInt(b.Generation, 10))
	key := fmt.Sprintf("%s-%d-%d-sweep", b.Crawl, b.Shard, b.Generation)
	if n := len(b.Changes); n > 0 {
		key = fmt.Sprintf("%s-%d-%d-%d-%d", b.Crawl, b.Shard, b.Changes[0].Version, b.Changes[n-1].Version, n)
		if s.o.NDJSON {
			h.Set("Content-Type", "application/x-ndjson")
		}
	}
	h.Set("Idempotency-Key", strconv.Quote(key))
	sum := sha256.Sum256(body)
	h.Set("Content-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":")
	if s.o.Secret != "" {
		h.Set("Curtsy-Signature", Sign(s.o.Secret, time.Now(), body))
	}
	switch user := s.o.URL.User.Username(); {
	case user != "":
		r.SetBasicAuth(user, s.o.Password)
	case s.o.Token != "":
		h.Set("Authorization", "Bearer "+s.o.Token)
	}
}

// Sign is the value of Curtsy-Signature for a body.
func Sign(secret string, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// refusedBy reads which changes of a batch a server has refused. A body that is no such list says
// nothing.
func refusedBy(text []byte, b feed.Batch) (refused []feed.Refused) {
	var answer struct {
		Refused []struct {
			ID     string
			Reason string
		}
	}
	if json.Unmarshal(text, &answer) != nil || len(answer.Refused) == 0 {
		return nil
	}
	why := map[string]string{}
	for _, r := range answer.Refused {
		why[r.ID] = cmp.Or(r.Reason[:min(len(r.Reason), maxReason)], "refused")
	}
	for i := range b.Changes {
		if reason, is := why[b.Changes[i].ID]; is {
			refused = append(refused, feed.Refused{Change: &b.Changes[i], Reason: reason})
		}
	}
	return refused
}

// maxReason is how much of a reason is kept, in bytes.
const maxReason = 500

// failed makes the error of a response that is not 2xx.
func (s *Sink) failed(resp *http.Response, text []byte) error {
	text = bytes.TrimSpace(text)
	err := fmt.Errorf("webhook %s: %s: %q", s.o.URL.Host, resp.Status, text[:min(len(text), maxReason)])
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		return &feed.Later{Err: err, After: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	case code/100 == 3:
		return &feed.Permanent{Err: fmt.Errorf("%w: redirects are not followed; use the final URL", err)}
	case code/100 == 4 && code != http.StatusRequestTimeout && code != http.StatusTooEarly && code != http.StatusConflict:
		return &feed.Permanent{Err: fmt.Errorf("%w: check the URL and CURTSY_FEED_TOKEN, CURTSY_FEED_PASSWORD and CURTSY_FEED_SECRET", err)}
	}
	return err
}

// retryAfter reads a Retry-After. It is 0 if there is none.
func retryAfter(value string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(value); err == nil && n >= 0 {
		return time.Duration(min(n, 86400)) * time.Second
	}
	if t, err := http.ParseTime(value); err == nil && t.After(now) {
		return min(t.Sub(now), 24*time.Hour)
	}
	return 0
}
