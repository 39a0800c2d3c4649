package resources

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/render"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func header(lines ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(lines); i += 2 {
		h.Add(lines[i], lines[i+1])
	}
	return h
}

// How long an answer is used without asking, by what its header says (RFC 9111 §4.2 and §5.2.2).
func TestFreshness(t *testing.T) {
	week := 7 * 24 * time.Hour
	for _, tt := range []struct {
		kind   render.Kind
		status int
		h      http.Header
		want   time.Duration
		stored bool
	}{
		{render.Script, 200, header(), time.Hour, true},
		{render.Data, 200, header(), 10 * time.Minute, true},
		{render.Script, 200, header("Cache-Control", "max-age=60"), time.Minute, true},
		{render.Script, 200, header("Cache-Control", `public, Max-Age="60"`), time.Minute, true},
		{render.Script, 200, header("Cache-Control", "max-age=60", "Age", "20"), 40 * time.Second, true},
		{render.Script, 200, header("Cache-Control", "max-age=60", "Age", "70"), 0, true},
		{render.Script, 200, header("Cache-Control", "max-age=31536000, immutable"), week, true},
		{render.Script, 200, header("Cache-Control", "max-age=99999999999999999999"), time.Hour, true},
		{render.Script, 200, header("Cache-Control", "max-age=-1"), time.Hour, true},
		{render.Script, 200, header("Cache-Control", "max-age=60", "Cache-Control", "no-cache"), 0, true},
		{render.Script, 200, header("Cache-Control", "no-store"), 0, false},
		{render.Script, 200, header("Cache-Control", "private, NO-STORE, max-age=60"), 0, false},
		{render.Script, 200, header("Expires", now.Add(time.Minute).Format(http.TimeFormat)), time.Minute, true},
		{render.Script, 200, header("Expires", now.Add(time.Minute).Format(http.TimeFormat), "Date", now.Add(-time.Minute).Format(http.TimeFormat)), 2 * time.Minute, true},
		{render.Script, 200, header("Expires", "0"), 0, true},
		{render.Script, 200, header("Expires", now.Add(-time.Minute).Format(http.TimeFormat)), 0, true},
		{render.Script, 200, header("Expires", now.Add(90*24*time.Hour).Format(http.TimeFormat)), week, true},
		{render.Script, 200, header("Vary", "Accept-Encoding"), time.Hour, true},
		{render.Script, 200, header("Vary", "*"), 0, false},
		{render.Script, 404, header(), time.Hour, true},
		{render.Script, 301, header("Location", "/x"), time.Hour, true},
		{render.Script, 302, header("Location", "/x"), 0, false},
		{render.Script, 302, header("Location", "/x", "Cache-Control", "max-age=60"), time.Minute, true},
		{render.Script, 500, header("Cache-Control", "max-age=60"), 0, false},
		{render.Script, 206, header("Cache-Control", "max-age=60"), 0, false},
		{render.Script, 401, header(), 0, false},
	} {
		got, stored := freshness(tt.kind, &render.Response{Status: tt.status, Header: tt.h}, now)
		if got != tt.want || stored != tt.stored {
			t.Errorf("%s, %d, %v: %v, %v, not %v, %v", tt.kind, tt.status, tt.h, got, stored, tt.want, tt.stored)
		}
	}
}

func FuzzFreshness(f *testing.F) {
	f.Add("max-age=60, no-cache", "0", "12")
	f.Fuzz(func(t *testing.T, control, expires, age string) {
		r := render.Response{Status: 200, Header: http.Header{"Cache-Control": {control}, "Expires": {expires}, "Age": {age}}}
		if d, _ := freshness(render.Script, &r, now); d < 0 || d > mostFresh {
			t.Errorf("%q, %q, %q: %v", control, expires, age, d)
		}
	})
}

func TestCache(t *testing.T) {
	c := New(1 << 20)
	k := Key{URL: "http://a.test/app.js", Accept: "*/*"}
	if _, _, _, ok := c.Get(k, now); ok {
		t.Error("an empty cache has it")
	}
	r := render.Response{Status: 200, Header: header("Etag", `"1"`, "Cache-Control", "max-age=60", "Content-Type", "text/javascript"), Body: []byte("x")}
	c.Put(k, render.Script, r, now)
	if got, fresh, _, ok := c.Get(k, now.Add(59*time.Second)); !ok || !fresh || string(got.Body) != "x" {
		t.Errorf("%+v, fresh %v, stored %v", got, fresh, ok)
	}
	for _, other := range []Key{{URL: k.URL}, {URL: k.URL, Accept: k.Accept, Origin: "http://b.test"}, {URL: k.URL + "?", Accept: k.Accept}} {
		if _, _, _, ok := c.Get(other, now); ok {
			t.Errorf("%+v has the answer of %+v", other, k)
		}
	}
	got, fresh, conditions, ok := c.Get(k, now.Add(60*time.Second))
	if !ok || fresh || conditions.Get("If-None-Match") != `"1"` {
		t.Errorf("fresh %v, stored %v, conditions %v", fresh, ok, conditions)
	}
	// A 304 makes it fresh again, and changes what it may change.
	later := now.Add(time.Hour)
	got = c.Renew(k, render.Script, got, header("Cache-Control", "max-age=120", "Content-Type", "text/plain"), later)
	if got.Header.Get("Content-Type") != "text/javascript" || got.Header.Get("Cache-Control") != "max-age=120" || string(got.Body) != "x" {
		t.Errorf("renewed: %+v", got)
	}
	if _, fresh, _, ok := c.Get(k, later.Add(2*time.Minute-1)); !ok || !fresh {
		t.Errorf("after it was renewed: fresh %v, stored %v", fresh, ok)
	}
	// An answer that must not be stored replaces one that is.
	c.Put(k, render.Script, render.Response{Status: 200, Header: header("Cache-Control", "no-store")}, later)
	if _, _, _, ok := c.Get(k, later); ok || c.bytes != 0 {
		t.Errorf("it is stored: %v; %d bytes", ok, c.bytes)
	}
}

// A cache has a size. What was not used for the longest time goes first.
func TestCacheIsBounded(t *testing.T) {
	body := make([]byte, 100<<10)
	c := New(1 << 20)
	key := func(i int) Key { return Key{URL: fmt.Sprint(i)} }
	for i := range 50 {
		c.Put(key(i), render.Script, render.Response{Status: 200, Body: body}, now)
		if _, _, _, ok := c.Get(key(0), now); !ok {
			t.Fatalf("the answer that is used all the time is gone after %d", i)
		}
		if c.bytes > c.most || c.order.Len() != len(c.entries) {
			t.Fatalf("%d bytes, %d and %d entries", c.bytes, c.order.Len(), len(c.entries))
		}
	}
	if _, _, _, ok := c.Get(key(1), now); ok || len(c.entries) < 9 {
		t.Errorf("the oldest is still there: %v; %d entries", ok, len(c.entries))
	}
	// One answer takes at most a quarter.
	large := Key{URL: "large"}
	for _, tt := range []struct {
		bytes int64
		want  bool
	}{{1<<18 - entryBytes - 5, true}, {1<<18 - entryBytes - 4, false}} {
		c.Put(large, render.Script, render.Response{Status: 200, Body: make([]byte, tt.bytes)}, now)
		if _, _, _, ok := c.Get(large, now); ok != tt.want {
			t.Errorf("an answer of %d bytes is stored: %v", tt.bytes, ok)
		}
	}
}
