package rup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/simnet"
)

// Client and server over HTTP, with every action.
func TestRUP_6_ClientAgainstServer(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var seen []string
	web, over := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.String()+" "+r.UserAgent())
		if r.URL.Path == InfoPath {
			s.ServeInfo(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
	res, err := (&http.Client{Transport: over}).Get(web + InfoPath)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	info, err := ParseInfo(body, mustURL(t, web+InfoPath))
	if err != nil || info.CanRegister() != nil {
		t.Fatal(info, err)
	}
	ctx := t.Context()
	c := &Client{CGI: info.CGI + "?site=1", UserAgent: "curtsy/1.0 (+x)", Transport: over}
	key, err := c.Register(ctx, Preferences{Email: "r@bot.example", Latency: Latency{2, Day}, Exclude: []string{`\.gif$`}})
	if err != nil || key == "" {
		t.Fatal(err)
	}
	who := Credentials{"r@bot.example", key}
	if _, err := c.Register(ctx, Preferences{Email: "r@bot.example"}); status(err) != 400 || Retryable(err) {
		t.Error(err)
	}
	if n, err := c.Sequence(ctx, who); err != nil || n != 0 {
		t.Error(n, err)
	}
	if err := c.Modify(ctx, who, Preferences{Email: "s@bot.example", Exclude: []string{}, IncludeOnly: []string{"^/docs/"}}); err != nil {
		t.Error(err)
	}
	who.Email = "s@bot.example"
	reg := s.stored("s@bot.example")
	if reg.Latency != (Latency{2, Day}) || len(reg.Exclude) != 0 || !slices.Equal(reg.IncludeOnly, []string{"^/docs/"}) {
		t.Errorf("%+v", reg)
	}
	reg.Sequence = 3
	s.store.Update(ctx, func(tx Registrations) error { return tx.Put(reg) })
	if r, err := c.Index(ctx, Span{2, Day}, who); err != nil || r.Sequence != 3 || !slices.Equal(urls(r), []string{"C /docs/a.html"}) {
		t.Error(r, err)
	}
	if r, err := c.Index(ctx, Span{1, Day}, Credentials{}); err != nil || r.Sequence != 0 || len(r.Entries) != 2 {
		t.Error(r, err)
	}
	if _, err := c.Index(ctx, Span{31, Day}, who); status(err) != 400 || !strings.Contains(err.Error(), "MaxQuerySpan") {
		t.Error(err)
	}
	if err := c.Modify(ctx, who, Preferences{Latency: Latency{1, Month}}); status(err) != 400 {
		t.Error(err)
	}
	if err := c.Unregister(ctx, who); err != nil {
		t.Error(err)
	}
	if _, err := c.Sequence(ctx, who); status(err) != 400 {
		t.Error(err)
	}
	if err := c.Unregister(ctx, who); status(err) != 400 {
		t.Error(err)
	}
	for _, line := range seen[1:] { // only POST, and no key in a URL
		if line != "POST /rup?site=1 curtsy/1.0 (+x)" {
			t.Error(line)
		}
	}
}

func status(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// answering is a Transport with the same answer to everything.
type answering struct {
	status int
	header http.Header
	body   string
	asked  int
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked++
	if a.header == nil {
		a.header = http.Header{}
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

func TestRUP_6_2_ClientErrors(t *testing.T) {
	t.Parallel()
	ctx, who := t.Context(), Credentials{"r@bot.example", "sesame"}
	all := func(c *Client) map[string]error {
		return map[string]error{
			"register": second(c.Register(ctx, Preferences{Email: "r@bot.example"})), "unregister": c.Unregister(ctx, who), "modify": c.Modify(ctx, who, Preferences{}),
			"sequence": second(c.Sequence(ctx, who)), "index": second(c.Index(ctx, Span{1, Day}, who)),
		}
	}
	for _, code := range []int{302, 307, 400, 403, 404, 405, 410, 429, 500, 501, 502, 503} {
		web := &answering{status: code, header: http.Header{"Location": {"http://other.example/"}, "Retry-After": {"120"}}, body: "<h1>No</h1>RegistrationKey: sesame"}
		for name, err := range all(&Client{CGI: "http://www.site.example/rup", Transport: web}) {
			var e *Error
			if !errors.As(err, &e) || e.Status != code || e.RetryAfter != 2*time.Minute || !strings.HasPrefix(e.Reason, "No") {
				t.Errorf("%s, %d: %v", name, code, err)
			}
			if retry := code >= 500 && code != 501; Retryable(err) != retry {
				t.Errorf("%s, %d: retryable %v", name, code, !retry)
			}
			if name != "register" && strings.Contains(err.Error(), "sesame") {
				t.Errorf("%s, %d: %v quotes the key", name, code, err)
			}
		}
		if web.asked != 5 {
			t.Errorf("%d: %d requests for five; a redirect was followed", code, web.asked)
		}
	}
	for name, err := range all(&Client{CGI: "http://www.site.example/rup", Transport: &answering{status: 200, body: "<p>Hello"}}) {
		if any := name == "unregister" || name == "modify"; any && err != nil || !any && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s, without Retry-After: %v", name, err)
		}
	}
	for _, cgi := range []string{"http://127.0.0.1:1/rup", "http://[", "ftp://x/"} {
		for name, err := range all(&Client{CGI: cgi}) {
			if err == nil || strings.Contains(err.Error(), "sesame") {
				t.Errorf("%s at %s: %v", name, cgi, err)
			}
		}
	}
}

func TestRUP_6_2_RetryAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "30": 30 * time.Second, "-1": 0, "soon": 0, "99999999999999999999": (1<<32 - 1) * time.Second,
		day0.Add(time.Hour).Format(http.TimeFormat): time.Hour, day0.Add(-time.Hour).Format(http.TimeFormat): 0,
	} {
		c := &Client{Now: func() time.Time { return day0 }}
		if got := c.retryAfter(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := retryAfter(fmt.Errorf("x: %w", &Error{Status: 503, RetryAfter: 1 << 62})); got != 7*24*time.Hour {
		t.Error(got)
	}
}

// zeros is an endless reader.
type zeros struct{ read int }

func (z *zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '\n'
	}
	z.read += len(p)
	return len(p), nil
}

type endless struct{ zeros }

func (e *endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(io.MultiReader(strings.NewReader("<pre>"+head+"New: a\n"), &e.zeros))}, nil
}

func TestRUP_6_2_AnswersAreBounded(t *testing.T) {
	t.Parallel()
	web := new(endless)
	r, err := (&Client{CGI: "http://www.site.example/rup", Transport: web}).Index(t.Context(), Span{1, Day}, Credentials{})
	if err != nil || !r.Truncated || len(r.Entries) != 1 || web.read > 2*MaxAnswer {
		t.Errorf("%v, %v, %d bytes read", r, err, web.read)
	}
	exact := &answering{status: 200, body: "<p>SequenceNumber=3</p>" + strings.Repeat("\n", MaxAnswer-len("<p>SequenceNumber=3</p>"))}
	a, err := (&Client{CGI: "http://www.site.example/rup", Transport: exact}).Do(t.Context(), Request{Action: GetSequenceNumber})
	if err != nil || a.Cut || len(a.Body) != MaxAnswer {
		t.Errorf("at the limit: %d bytes, cut %v, %v", len(a.Body), a.Cut, err)
	}
}

// serve serves on a network in memory, until the test ends.
func serve(t *testing.T, h http.Handler) (url string, over http.RoundTripper) {
	t.Helper()
	n := simnet.New(simnet.Options{})
	ln, err := n.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &httptest.Server{Listener: ln, Config: &http.Server{Handler: h}}
	web.Start()
	tr := &http.Transport{DialContext: n.Dial}
	t.Cleanup(func() { tr.CloseIdleConnections(); web.Close() })
	return web.URL, tr
}

// A request ends with its context.
func TestClientStops(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		web, over := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or the server would not notice the end
			<-r.Context().Done()
		}))
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := (&Client{CGI: web, Transport: over}).Sequence(ctx, Credentials{"r@bot.example", "sesame"})
		if !errors.Is(err, context.DeadlineExceeded) || !Retryable(err) || time.Since(began) != 20*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestMemoryStore(t *testing.T) {
	t.Parallel()
	m, ctx := new(MemoryStore), t.Context()
	undo := errors.New("undo")
	put := func(email string, end error) error {
		return m.Update(ctx, func(tx Registrations) error {
			if err := tx.Put(Registration{Email: email, KeyHash: []byte{1}}); err != nil {
				return err
			}
			return end
		})
	}
	if err := put("A@b.example", nil); err != nil {
		t.Fatal(err)
	}
	if err := put("c@b.example", undo); err != undo {
		t.Error(err)
	}
	err := m.View(ctx, func(tx Registrations) error {
		r, ok, _ := tx.Get("a@b.example")
		all, _ := tx.Count("")
		here, _ := tx.Count("b.example")
		none, _ := tx.Count("example")
		if !ok || !bytes.Equal(r.KeyHash, []byte{1}) || all != 1 || here != 1 || none != 0 {
			t.Errorf("%+v, %v, %d, %d, %d", r, ok, all, here, none)
		}
		return undo
	})
	if err != undo {
		t.Error(err)
	}
}
