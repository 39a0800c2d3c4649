package warc

import (
	"strings"
	"testing"
)

// ISO 28500 §6.3.2: a payload is the body without its transfer encoding, up to the end of the
// message.
func TestISO28500_6_3_2_Payload(t *testing.T) {
	for name, c := range map[string]struct {
		text, payload string
		left          int // bytes after the message
		cut           bool
	}{
		"length":       {text: answer, payload: "hello"},
		"and more":     {text: answer + "HTTP/1.1 200", payload: "hello", left: 12},
		"cut":          {text: answer[:len(answer)-1], payload: "hell", cut: true},
		"to the end":   {text: "HTTP/1.0 200 OK\r\n\r\nabc", payload: "abc"},
		"line feeds":   {text: "HTTP/1.0 200 OK\nContent-Length: 1\n\nabc", payload: "a", left: 2},
		"chunks":       {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n", payload: "abcd"},
		"a trailer":    {text: "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, Chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\nmore", payload: "a", left: 4},
		"chunks cut":   {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", payload: "ab", cut: true},
		"no last one":  {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", payload: "a", cut: true},
		"not modified": {text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", payload: ""},
	} {
		m, ok := Split([]byte(c.text))
		payload, used, whole := m.Payload()
		if !ok || string(payload) != c.payload || len(m.Body)-used != c.left || whole == c.cut {
			t.Errorf("%s: %v, %q, %d of %d, whole %v", name, ok, payload, used, len(m.Body), whole)
		}
	}
	for _, s := range []string{"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n", "\r\n"} {
		if m, ok := Split([]byte(s)); ok {
			t.Errorf("%q has a head: %q", s, m.Head)
		}
	}
	m, _ := Split([]byte(answer))
	if m.Status() != 200 || m.MediaType() != "text/html" || m.Get("content-type") != "text/html; charset=utf-8" {
		t.Errorf("%d %s", m.Status(), m.MediaType())
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte(answer))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, ok := Split(b)
		if !ok {
			return
		}
		payload, used, _ := m.Payload()
		if string(m.Head)+string(m.Body) != string(b) || len(payload) > len(m.Body) || used > len(m.Body) || m.Status() < 0 {
			t.Fatalf("%q: %q, %d of %q", b, payload, used, m.Body)
		}
	})
}

// Keys are those by which other tools look up URLs. The key of a text that is not an http URL has
// no spaces.
func TestKey(t *testing.T) {
	for raw, want := range map[string]string{
		"https://www2.example.org:443/A/b/?b=2&a=1": "org,example)/a/b?a=1&b=2",
		"urn:x:Y z": "urn:x:y%20z",
		"":          "",
	} {
		if got := Key(raw); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

func TestEntries(t *testing.T) {
	file := sample(t)
	var lines []string
	if err := Entries(strings.NewReader(string(file)), "a.warc.gz", func(e Entry) error {
		lines = append(lines, string(e.Append(nil)))
		return nil
	}); err != nil || len(lines) != 1 {
		t.Fatal(lines, err)
	}
	if !strings.HasPrefix(lines[0], `example,a)/b?c 20261124020000 {"url":"http://a.example/B?c","mime":"text/html","status":"200","digest":"sha256:2cf2`) ||
		!strings.HasSuffix(lines[0], `"filename":"a.warc.gz"}`+"\n") {
		t.Error(lines[0])
	}
	for _, bad := range []string{"", "a", "a 2026", "a 20261124020000 {", `a 20261124020000 {"offset":"-1","length":"1"}`} {
		if _, err := ParseEntry([]byte(bad)); err == nil {
			t.Errorf("%q is a line", bad)
		}
	}
}
