package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/feed"
)

// server answers requests in memory, without a network.
type server struct {
	t        *testing.T
	requests []*http.Request
	bodies   []string
	answer   func(w http.ResponseWriter, body string)
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(body))
	w := httptest.NewRecorder()
	s.answer(w, string(body))
	return w.Result(), nil
}

func open(t *testing.T, raw string, o Options, answer func(w http.ResponseWriter, body string)) (*Sink, *server) {
	t.Helper()
	srv := &server{t: t, answer: answer}
	var err error
	if o.URL, err = url.Parse(raw); err != nil {
		t.Fatal(err)
	}
	o.Client = &http.Client{Transport: srv}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, srv
}

func batch(n int) feed.Batch {
	b := feed.Batch{Crawl: "docs", Shard: 3, Generation: 7}
	for i := range n {
		c := feed.Change{ID: fmt.Sprint("id", i), Version: int64(10 + i)}
		c.Row.URL = fmt.Sprint("https://a.example/", i)
		b.Changes = append(b.Changes, c)
	}
	return b
}

func TestWrite(t *testing.T) {
	s, srv := open(t, "https://me@hook.example/in?x=1", Options{Password: "hunter2", Secret: "key"}, func(w http.ResponseWriter, _ string) {
		io.WriteString(w, `{"refused":[{"id":"id1","reason":"no"},{"id":"other"}]}`)
	})
	refused, err := s.Write(t.Context(), batch(2))
	if err != nil || len(refused) != 1 || refused[0].Change.ID != "id1" || refused[0].Reason != "no" {
		t.Errorf("%+v, %v", refused, err)
	}
	r := srv.requests[0]
	user, password, _ := r.BasicAuth()
	if r.URL.String() != "https://hook.example/in?x=1" || user != "me" || password != "hunter2" || r.Header.Get("Idempotency-Key") != `"docs-3-10-11-2"` {
		t.Errorf("%s %v", r.URL, r.Header)
	}
	var at int64
	if _, err := fmt.Sscanf(r.Header.Get("Curtsy-Signature"), "t=%d,", &at); err != nil || Sign("key", time.Unix(at, 0), []byte(srv.bodies[0])) != r.Header.Get("Curtsy-Signature") {
		t.Errorf("signature %q, %v", r.Header.Get("Curtsy-Signature"), err)
	}
	var got envelope
	if err := json.Unmarshal([]byte(srv.bodies[0]), &got); err != nil || got.Crawl != "docs" || got.Shard != 3 || got.Generation != 7 || len(got.Changes) != 2 || got.Sweep {
		t.Errorf("%s, %v", srv.bodies[0], err)
	}
	if err := s.Sweep(t.Context(), "docs", 3, 8); err != nil || srv.bodies[1] != `{"crawl":"docs","shard":3,"generation":8,"sweep":true}` {
		t.Errorf("%v, %s", err, srv.bodies[1])
	}
}

func TestNDJSON(t *testing.T) {
	s, srv := open(t, "http://hook.example/", Options{NDJSON: true, Token: "t0"}, func(http.ResponseWriter, string) {})
	if _, err := s.Write(t.Context(), batch(3)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(srv.bodies[0], "\n")
	h := srv.requests[0].Header
	if len(lines) != 4 || !strings.HasPrefix(lines[2], `{"id":"id2","version":12,"url"`) || h.Get("Curtsy-Generation") != "7" || h.Get("Authorization") != "Bearer t0" || h.Get("Curtsy-Signature") != "" {
		t.Errorf("%q, %v", lines, h)
	}
}

// A batch that is too large, or has a change that the server cannot process, is divided until only
// that change is refused.
func TestDivides(t *testing.T) {
	for _, code := range []int{http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity} {
		stored := ""
		s, _ := open(t, "http://hook.example/", Options{}, func(w http.ResponseWriter, body string) {
			if strings.Contains(body, `"id5"`) {
				w.WriteHeader(code)
				return
			}
			stored += body
		})
		refused, err := s.Write(t.Context(), batch(8))
		if err != nil || len(refused) != 1 || refused[0].Change.ID != "id5" || strings.Count(stored, `"id"`) != 7 {
			t.Errorf("%d: %+v, %v, %s", code, refused, err, stored)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, test := range []struct {
		code      int
		after     string
		permanent bool
		wait      time.Duration
	}{
		{500, "", false, 0}, {429, "7", false, 7 * time.Second}, {503, "999999999", false, 24 * time.Hour}, {503, "soon", false, 0}, {409, "", false, 0},
		{401, "", true, 0}, {404, "", true, 0}, {400, "", true, 0}, {302, "", true, 0},
	} {
		s, _ := open(t, "http://hook.example/?key=hunter2", Options{Secret: "hunter2"}, func(w http.ResponseWriter, _ string) {
			w.Header().Set("Retry-After", test.after)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(test.code)
		})
		_, err := s.Write(t.Context(), batch(1))
		permanent, later := (*feed.Permanent)(nil), (*feed.Later)(nil)
		if err == nil || errors.As(err, &permanent) != test.permanent || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%d: %v", test.code, err)
		}
		if errors.As(err, &later) && later.After != test.wait || test.wait > 0 && later == nil {
			t.Errorf("%d: %+v", test.code, later)
		}
	}
}

// FuzzAnswer: no response of a server breaks the sink, or refuses what was not sent.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"refused":[{"id":"id0","reason":"x"},{"id":"id0"}]}`), "5")
	f.Add([]byte(`{"refused":{}}`), "Fri, 01 Jan 2100 00:00:00 GMT")
	f.Fuzz(func(t *testing.T, text []byte, after string) {
		b := batch(2)
		if refused := refusedBy(text, b); len(refused) > 2 {
			t.Errorf("%d refused", len(refused))
		}
		if d := retryAfter(after, time.Unix(0, 0)); d < 0 || d > 24*time.Hour {
			t.Errorf("%v", d)
		}
	})
}
