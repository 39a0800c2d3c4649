package rup

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const head = "SequenceNumber: 12\nURLBase: http://www.site.example/\n\n"

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

func parseReport(t testing.TB, text string) *Report {
	t.Helper()
	r, err := ParseReport([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return r
}

// urls lists the entries of a report: N for new, C for changed, D for deleted.
func urls(r *Report) (list []string) {
	for _, e := range r.Entries {
		list = append(list, string(e.Kind[0])+" "+strings.TrimPrefix(e.URL, "http://www.site.example"))
	}
	return list
}

func TestRUP_6_4_Example(t *testing.T) {
	t.Parallel()
	got := parseReport(t, head+"New[1998-01-15]: docs/a.html, docs/b.html\nChange[1998-01-16]: index.html\nDelete[1998-01-16]: old.html\n")
	want := &Report{Sequence: 12, Base: "http://www.site.example/", Entries: []Entry{
		{"http://www.site.example/docs/a.html", New, date(1998, 1, 15), 4},
		{"http://www.site.example/docs/b.html", New, date(1998, 1, 15), 4},
		{"http://www.site.example/index.html", Change, date(1998, 1, 16), 5},
		{"http://www.site.example/old.html", Delete, date(1998, 1, 16), 6},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestRUP_6_4_Head(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"SequenceNumber: 12\nURLBase: http://www.site.example/\n",
		"URLBase: http://www.site.example\r\nSequenceNumber: 012\r\n\r\n", // either order
		"sequencenumber=12\nURLBASE = http://www.site.example/\n\n",       // = for :
		// unknown lines are skipped
		"\n \nSequenceNumber: 12\nX: y\nURLBase: HTTP://WWW.Site.Example:80\n\n",
		// the first counts
		"SequenceNumber: 12\nSequenceNumber: 13\nURLBase: http://www.site.example",
		"SequenceNumber: 12\nURLBase: http://www.site.example\nURLBase: http://other.example\n\n",
	} {
		r, err := ParseReport([]byte(text))
		if err != nil || r.Sequence != 12 || r.Base != "http://www.site.example/" || len(r.Entries) != 0 {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
	for _, text := range []string{
		"", "\n\n", "hello\n", "SequenceNumber: 12\n", "URLBase: http://www.site.example/\n\n",
		"SequenceNumber: 12\n\nURLBase: http://www.site.example/\n", // the blank line ends the head
		"hello\n\n" + head,
		"SequenceNumber: 12\nNew[1998-01-15]: a\nURLBase: http://www.site.example/\n\n",
		"SequenceNumber:\nURLBase: http://www.site.example/\n\n", "SequenceNumber: -1\nURLBase: http://www.site.example/\n\n",
		"SequenceNumber: +1\nURLBase: http://www.site.example/\n\n", "SequenceNumber: 1 2\nURLBase: http://www.site.example/\n\n",
		"SequenceNumber: 1x\nURLBase: http://www.site.example/\n\n", "SequenceNumber: 9223372036854775808\nURLBase: http://www.site.example/\n\n",
		"SequenceNumber: 12\nURLBase:\n\n", "SequenceNumber: 12\nURLBase: www.site.example\n\n", "SequenceNumber: 12\nURLBase: /\n\n",
		"SequenceNumber: 12\nURLBase: ftp://www.site.example/\n\n", "SequenceNumber: 12\nURLBase: http:///\n\n",
		"SequenceNumber: 12\nURLBase: http:www.site.example\n\n", "SequenceNumber: 12\nURLBase: http://user@www.site.example/\n\n",
		"SequenceNumber: 12\nURLBase: http://b\u00fccher.example/\n\n", "SequenceNumber: 12\nURLBase: http://www.site.example:x/\n\n",
		"SequenceNumber: 12\nURLBase: http://www.site.example/" + strings.Repeat("x", maxURL) + "\n\n",
	} {
		if r, err := ParseReport([]byte(text)); !errors.Is(err, ErrHead) || r != nil {
			t.Errorf("%q: %+v, %v; want the whole report refused", text, r, err)
		}
	}
	// If the blank line itself is missing, nothing is lost.
	if r := parseReport(t, strings.TrimSuffix(head, "\n")+"New: a\nDelete: b\n"); !slices.Equal(urls(r), []string{"N /a", "D /b"}) || r.Skipped != 1 {
		t.Errorf("without a blank line: %+v", r)
	}
}

func TestRUP_6_4_BodyLines(t *testing.T) {
	t.Parallel()
	r := parseReport(t, head+"DELETE[1998-01-16]: d\n\n\tnew [ 1998-01-15 ] : a\nChange: c\nNews: x\nNew x\nNew[: x\nNew[1998-01-15] x\n"+
		"Change[1998-01-15]= x\nMoved[1998-01-15]: x\nNew[1998-01-15]:\n-- \nBuy: this\n\xff\xfe\nNew[2020-01-01]: z")
	if want := []string{"D /d", "N /a", "C /c", "N /z"}; !slices.Equal(urls(r), want) {
		t.Errorf("%q, want %q", urls(r), want)
	}
	var odd []int
	for _, d := range r.Diagnostics {
		odd = append(odd, d.Line)
	}
	if want := []int{8, 9, 10, 11, 12, 13, 15, 16, 17}; !slices.Equal(odd, want) || r.Skipped != len(want) {
		t.Errorf("odd lines %v, want %v: %+v", odd, want, r.Diagnostics)
	}
}

func TestRUP_6_4_Dates(t *testing.T) {
	t.Parallel()
	at := time.Date(1998, 1, 15, 13, 9, 53, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"1998-01-15": date(1998, 1, 15), "1998-01-15T13:09:53Z": at, "1998-01-15T15:09:53.5+02:00": at.Add(500 * time.Millisecond),
		"Thu, 15 Jan 1998 13:09:53 GMT": at, "Thu, 15 Jan 1998 13:09:53 +0000": at, "Thu, 15 Jan 1998 08:09:53 EST": at, "15 Jan 1998 06:09:53 PDT": at,
		"Thu, 15 Jan 98 13:09:53 GMT": at, "15 Jan 98 13:09 UT": at.Add(-53 * time.Second), "15 Jan 98 13:09 +0000": at.Add(-53 * time.Second),
		"Thursday, 15-Jan-98 13:09:53 GMT": at, "Thu Jan 15 13:09:53 1998": at,
		"": {}, "yesterday": {}, "1998": {}, "15.1.1998": {}, "1998-02-30": {}, "Thu, 15 Jan 1998 13:09:53 AEST": {}, strings.Repeat("9", 65): {},
	} {
		r := parseReport(t, head+"New["+text+"]: a\n")
		if len(r.Entries) != 1 || !r.Entries[0].Date.Equal(want) {
			t.Errorf("[%s]: %+v, want %v", text, r.Entries, want)
		}
		if unreadable := want.IsZero() && text != ""; (r.Skipped == 1) != unreadable {
			t.Errorf("[%s]: %+v", text, r.Diagnostics)
		}
	}
}

func TestRUP_6_4_Lists(t *testing.T) {
	t.Parallel()
	r := parseReport(t, head+"New[1998-01-15]: a,b.html, c d.html,\te,  , f,\n")
	if want := []string{"N /a,b.html", "N /c%20d.html", "N /e", "N /f,"}; !slices.Equal(urls(r), want) {
		t.Errorf("%q, want %q", urls(r), want)
	}
}

func TestRUP_6_4_Resolution(t *testing.T) {
	t.Parallel()
	const base = "http://www.site.example/dir"
	for path, want := range map[string]string{
		"a.html": "/dir/a.html", "/dir/a": "/dir/a", "./a": "/dir/a", "b/../a": "/dir/a", "a?q=1#f": "/dir/a?q=1", "?q": "/dir/?q", "a/": "/dir/a/",
		"/x/../dir/a": "/dir/a", "../dir/a": "/dir/a", "http://www.site.example/dir/a": "/dir/a", "HTTP://WWW.SITE.EXAMPLE:80/dir/a": "/dir/a",
		"//www.site.example/dir/a": "/dir/a", "%7Ea%2fb%c3%BC": "/dir/~a%2Fb%C3%BC", "\u00fc": "/dir/%C3%BC", "a%zz\\b": "/dir/a%25zz%5Cb", "a//b": "/dir/a//b",
		"/d%69r/a": "/dir/a", "./x:y": "/dir/x:y", "..a": "/dir/..a", "a\x00b": "/dir/a%00b",
	} {
		r := parseReport(t, "SequenceNumber: 1\nURLBase: "+base+"\n\nNew: "+path+"\n")
		if len(r.Entries) != 1 || r.Entries[0].URL != "http://www.site.example"+want {
			t.Errorf("%q: %+v %+v, want %s", path, r.Entries, r.Refused, want)
		}
	}
	for _, path := range []string{
		"/", "/a", "/dirty/a", "/dir", "../a", "..", "../", "b/../../a", "%2e%2e/a", ".%2E/a", "b/%2e%2e/%2E./a", "/DIR/a",
		"http://other.example/dir/a", "https://www.site.example/dir/a", "http://www.site.example:81/dir/a", "//other.example/dir/a",
		"http://www.site.example@other.example/dir/a", "http://www.site.example/", "http:/dir/a", "http:a", "x:y", "mailto:a@b.example", "javascript:alert(1)",
		"http://www.site.example\\@other.example/dir/a", "http:///dir/a", strings.Repeat("x", maxURL),
	} {
		r := parseReport(t, "SequenceNumber: 1\nURLBase: "+base+"\n\nNew: "+path+"\nDelete: good\n")
		if len(r.Refused) != 1 || len(r.Entries) != 1 || r.Skipped != 1 {
			t.Fatalf("%q: %+v", path, r)
		}
		if f := r.Refused[0]; f.Kind != New || f.Line != 4 || f.Reason == "" || f.Path == "" {
			t.Errorf("%q: %+v", path, f)
		}
	}
}

func TestRUP_6_4_URLBase(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"http://www.site.example": "http://www.site.example/", "https://www.site.example:443/a": "https://www.site.example/a/",
		"http://www.site.example:8080/a/../b/": "http://www.site.example:8080/b/", "http://www.site.example/~di?x#y": "http://www.site.example/~di/",
		"http://www.site.example?x": "http://www.site.example/", "http://[2001:DB8::1]:80/%7e": "http://[2001:db8::1]/~/",
	} {
		if r := parseReport(t, "SequenceNumber: 1\nURLBase: "+raw+"\n\n"); r.Base != want {
			t.Errorf("%s: %s, want %s", raw, r.Base, want)
		}
	}
}

func TestRUP_6_4_LatestWins(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"New[1998-01-15]: a\nDelete[1998-01-16]: a\n": "D 5", "Delete[1998-01-16]: a\nNew[1998-01-15]: a\n": "D 4",
		"New[1998-01-15]: a\nDelete[1998-01-15]: a\n": "D 5", "New: a\nDelete: ./a\n": "D 5", "New[1998-01-15]: a\nDelete: a\n": "N 4",
		"New: a\nDelete[1998-01-15]: a\n": "D 5", "Change[1998-01-15]: a\nChange[1998-01-15T00:00:01Z]: %61\nChange[1998-01-15]: a\n": "C 5",
	} {
		r := parseReport(t, head+text)
		if len(r.Entries) != 1 || fmt.Sprintf("%c %d", r.Entries[0].Kind[0], r.Entries[0].Line) != want {
			t.Errorf("%q: %+v, want %s", text, r.Entries, want)
		}
	}
}

func TestRUP_6_5_OnlyTheSitesOwnReport(t *testing.T) {
	t.Parallel()
	for site, ok := range map[string]bool{
		"http://www.site.example": true, "http://WWW.Site.Example:80/x": true, "https://www.site.example/": false, "http://site.example/": false,
		"http://www.site.example:81/": false, "http://www.site.example.evil.example/": false,
	} {
		if err := parseReport(t, head).CheckSite(mustURL(t, site)); (err == nil) != ok || !ok && !errors.Is(err, ErrSite) {
			t.Errorf("%s: %v, want %v", site, err, ok)
		}
	}
	u := &url.URL{}
	if err := parseReport(t, head).CheckSite(u); err == nil {
		t.Error("no site at all is the right one")
	}
}

func TestRUP_6_4_LimitPaths(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(head + "New[1998-01-15]: ")
	for i := range MaxPaths {
		fmt.Fprintf(&b, "%d, ", i)
	}
	if r := parseReport(t, b.String()); len(r.Entries) != MaxPaths || r.Truncated || r.Skipped != 0 {
		t.Errorf("at the limit: %d entries, %v, %+v", len(r.Entries), r.Truncated, r.Diagnostics)
	}
	if r := parseReport(t, b.String()+"\nDelete: x\nDelete: y\nnonsense"); len(r.Entries) != MaxPaths || !r.Truncated || r.Skipped != 1 {
		t.Errorf("past the limit: %d entries, %v, %+v", len(r.Entries), r.Truncated, r.Diagnostics)
	}
	// Refused paths count, because they cause work too.
	r := parseReport(t, head+"New: "+strings.Repeat("http://x.example/, ", MaxPaths)+"a\n")
	if len(r.Entries) != 0 || !r.Truncated || len(r.Refused) != maxRefused || r.Skipped != MaxPaths+1 {
		t.Errorf("refused: %d, %d refused of %d, %v", len(r.Entries), len(r.Refused), r.Skipped, r.Truncated)
	}
}

func TestRUP_6_4_LimitBytes(t *testing.T) {
	t.Parallel()
	const last = "New[1998-01-15]: last\n"
	text := head + strings.Repeat(strings.Repeat("#", 99)+"\n", MaxReport/100)
	text = text[:MaxReport-len(last)-1] + "\n"
	if r := parseReport(t, text+last); len(r.Entries) != 1 || r.Truncated {
		t.Errorf("at the limit: %+v, %v", r.Entries, r.Truncated)
	}
	if r := parseReport(t, text+"New[1998-01-15]: longer\n"); len(r.Entries) != 0 || !r.Truncated {
		t.Errorf("past the limit: %+v, %v", r.Entries, r.Truncated)
	}
}

// With a long base, short paths become long URLs.
func TestRUP_6_4_LimitExpansion(t *testing.T) {
	t.Parallel()
	base := "http://www.site.example/" + strings.Repeat("x", maxURL-200) + "/"
	r := parseReport(t, "SequenceNumber: 1\nURLBase: "+base+"\n\nNew: "+strings.Repeat("a, ", MaxPaths)+"\n")
	if !r.Truncated {
		t.Errorf("%d entries of %d bytes each", len(r.Entries), len(base))
	}
}

func FuzzReport(f *testing.F) {
	for _, s := range []string{
		head + "New[1998-01-15]: docs/a.html, docs/b.html\nChange[Thu, 15 Jan 1998 13:09:53 GMT]: /a,b?c#d\nDelete: old.html\n",
		"URLBase=https://h:1/a/../b\r\nSequenceNumber=0\r\nNew[]: ../b/%2e%2E/x, //h:1/b/y, https://h:1/b/z, x:y\n", "\xff\xfe\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseReport(text)
		if err != nil {
			if r != nil || !errors.Is(err, ErrHead) {
				t.Fatalf("%+v, %v", r, err)
			}
			return
		}
		seen := map[string]bool{}
		for _, e := range r.Entries {
			u, err := url.Parse(e.URL)
			if err != nil || !strings.HasPrefix(e.URL, r.Base) || seen[e.URL] || e.Line < 1 || strings.ContainsAny(e.URL, " \t\r\n#\\") ||
				strings.Contains(u.Path+"/", "/../") || order(e.Kind) < 0 {
				// An encoded slash hides dots from a program that fetches the URL, and u.Path shows
				// them.
				if u == nil || !strings.Contains(e.URL, "%2F") {
					t.Fatalf("%+v of %s, %v", e, r.Base, err)
				}
			}
			seen[e.URL] = true
		}
		out, left := r.Text()
		for _, l := range left {
			if l.Reason != "it is too long for a line" {
				t.Fatalf("left %+v", l)
			}
		}
		back, err := ParseReport(out)
		if err != nil || len(back.Refused) != 0 || back.Skipped != 0 || back.Sequence != r.Sequence || back.Base != r.Base {
			t.Fatalf("%q is read back as %+v, %v", out, back, err)
		}
		want := map[string]bool{}
		for u := range seen { // the text that we write has no raw comma
			want[r.Base+strings.ReplaceAll(strings.TrimPrefix(u, r.Base), ",", "%2C")] = true
		}
		if len(left) == 0 && len(back.Entries) != len(want) {
			t.Fatalf("%d entries come back as %d: %q", len(want), len(back.Entries), out)
		}
		for _, e := range back.Entries {
			if !want[e.URL] {
				t.Fatalf("%s was not there: %q", e.URL, out)
			}
		}
	})
}
