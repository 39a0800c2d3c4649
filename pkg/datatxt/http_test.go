package datatxt

import (
	"net/http"
	"testing"
	"time"
)

func TestDatatxt_5_1_Usable(t *testing.T) {
	for _, c := range []struct {
		contentType, body string
		want              bool
	}{
		{"text/plain", "- path: a", true},
		{"Text/Plain; charset=utf-8", "- path: a", true},
		{"", "- path: a", true},
		{"application/octet-stream", "- path: a", true},
		{"text/yaml", "- path: a", true},
		{"application/yaml", "- path: a", true},
		{"application/x-yaml", "- path: a", true},
		{"text/x-yaml", "- path: a", true},
		{"text/html", "- path: a", false},
		{"TEXT/HTML;charset=utf-8", "- path: a", false},
		{"text/plain", "<!doctype html>", false},
		{"text/plain", " \r\n\t<html>", false},
		{"", "\uFEFF\n<html>", false},
		{"text/plain", "\xFF\xFE<\x00h\x00", false},
		{"text/plain", "\xFE\xFF\x00<\x00h", false},
		{"text/plain", "# <html>", true},
		{"text/plain", "", true},
		{"application/json", "{}", false},
		{"image/png", "", false},
	} {
		if got, reason := Usable(c.contentType, []byte(c.body)); got != c.want || (reason == "") != got {
			t.Errorf("Usable(%q, %q) = %v, %q", c.contentType, c.body, got, reason)
		}
	}
}

func TestDatatxt_5_1_StateOf(t *testing.T) {
	for status, want := range map[int]State{
		200: Read, 204: Read, 206: Read, 299: Read, 301: Redirect, 302: Redirect, 307: Redirect, 308: Redirect, 304: Same,
		404: Absent, 410: Absent, 400: Absent, 401: Absent, 403: Absent, 402: Absent, 428: Absent, 430: Absent, 499: Absent, 429: Keep,
		500: Keep, 503: Keep, 599: Keep, 0: Keep, 100: Keep, 600: Keep,
	} {
		if got := StateOf(status); got != want {
			t.Errorf("StateOf(%d) = %v, want %v", status, got, want)
		}
	}
}

func TestDatatxt_5_1_Lifetime(t *testing.T) {
	now := time.Date(2025, 12, 3, 13, 0, 0, 0, time.UTC)
	in := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	const hour, day = time.Hour, 24 * time.Hour
	for _, c := range []struct {
		control, expires []string
		want             time.Duration
	}{
		{nil, nil, 7 * day},
		{[]string{"max-age=7200"}, nil, 2 * hour},
		{[]string{"public, Max-Age = \"7200\""}, nil, 2 * hour},
		{[]string{"max-age=7200"}, []string{in(5 * hour)}, 2 * hour},
		{[]string{"public"}, []string{in(5 * hour)}, 5 * hour},
		{[]string{"public"}, nil, 7 * day},
		{nil, []string{in(5 * hour)}, 5 * hour},
		{[]string{"max-age=3600"}, nil, hour},
		{[]string{"max-age=3599"}, nil, hour},
		{[]string{"max-age=0"}, nil, hour},
		{[]string{"max-age=2592000"}, nil, 30 * day},
		{[]string{"max-age=2592001"}, nil, 30 * day},
		{[]string{"max-age=99999999999999999999999"}, nil, 30 * day},
		{[]string{"max-age=-1"}, nil, hour},
		{[]string{"max-age=soon"}, nil, hour},
		{[]string{"max-age"}, nil, hour},
		{[]string{"max-age=90000", "max-age=7200"}, nil, 2 * hour},
		{[]string{"no-cache"}, nil, hour},
		{[]string{"no-store"}, []string{in(5 * hour)}, hour},
		{[]string{"max-age=7200, no-cache"}, nil, hour},
		{nil, []string{in(40 * day)}, 30 * day},
		{nil, []string{in(30 * day)}, 30 * day},
		{nil, []string{in(time.Minute)}, hour},
		{nil, []string{in(-time.Minute)}, hour},
		{nil, []string{"0"}, hour},
		{nil, []string{"-1"}, hour},
		{nil, []string{"soon"}, hour},
		{nil, []string{""}, hour},
	} {
		h := http.Header{}
		for _, v := range c.control {
			h.Add("Cache-Control", v)
		}
		for _, v := range c.expires {
			h.Add("Expires", v)
		}
		if got := Lifetime(h, now); got != c.want {
			t.Errorf("Cache-Control %q, Expires %q: %v, want %v", c.control, c.expires, got, c.want)
		}
	}
}

// Formats §5.1: an expired copy that cannot be renewed is kept for thirty days.
func TestDatatxt_5_1_KeepExpired(t *testing.T) {
	if KeepExpired != 30*24*time.Hour {
		t.Errorf("%v", KeepExpired)
	}
	for _, status := range []int{500, 503, 0} {
		if StateOf(status) != Keep {
			t.Errorf("%d drops the copy", status)
		}
	}
}

// Formats §5.4, the row on origin, line, fetched, expires.
func TestDatatxt_5_4_Stamp(t *testing.T) {
	f := parse(t, "- path: a\n- path: b")
	now := time.Unix(1e9, 0)
	f.Stamp(now, time.Hour)
	for _, d := range f.Datasets {
		if !d.Fetched.Equal(now) || !d.Expires.Equal(now.Add(time.Hour)) {
			t.Errorf("%s: fetched %v, expires %v", d.Name, d.Fetched, d.Expires)
		}
	}
}
