package agenthost

import (
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/robots"
)

func TestParseHeader(t *testing.T) {
	for entry, want := range map[string]Header{
		"/private/ X-Robots-Tag: noindex":           {"/private/", "X-Robots-Tag", "noindex"},
		" /*.pdf$  x-robots-tag :noindex, nofollow": {"/*.pdf$", "X-Robots-Tag", "noindex, nofollow"},
		"/ Link: <https://a.example/>; rel=license": {"/", "Link", "<https://a.example/>; rel=license"},
	} {
		if h, err := ParseHeader(entry); err != nil || h != want {
			t.Errorf("%q: %+v, %v", entry, h, err)
		}
	}
	fits := "/ X-A: " + strings.Repeat("a", maxHeader-7)
	if _, err := ParseHeader(fits); err != nil {
		t.Error(err)
	}
	for _, entry := range []string{
		"", "/", "/ ", "X-Robots-Tag: noindex", "private/ X-Robots-Tag: noindex", "/a X-Robots-Tag", "/a X-Robots-Tag:", "/a X Robots Tag: noindex", "/a : noindex", "/a X-A: b\nX-B: c", "/a#b X-A: b",
		"/a Status: 404", "/a content-type: text/html", "/a Content-Length: 1", "/a Last-Modified: x", fits + "a",
	} {
		if h, err := ParseHeader(entry); err == nil {
			t.Errorf("%q is %+v", entry, h)
		}
	}
}

// TestHeaders: the lines of the settings stand in the heads of the documents for whose paths they
// are, as if the web server had sent them.
func TestHeaders(t *testing.T) {
	o := options(t, newRoot(t))
	for _, entry := range []string{"/docs/a X-Robots-Tag: noindex", "/*.txt$ X-Robots-Tag: nofollow", "/docs/$ Link: </l>; rel=license", "/docs/a%20b.html Content-Language: en", "/other X-A: b"} {
		h, err := ParseHeader(entry)
		if err != nil {
			t.Fatal(err)
		}
		o.Headers = append(o.Headers, h)
	}
	p, err := o.check()
	if err != nil {
		t.Fatal(err)
	}
	d := openDocs(t, p, "/docs/")
	for path, want := range map[string]string{
		"/docs/": "Link: </l>; rel=license\n", "/docs/index.html": "", "/docs/a.html": "X-Robots-Tag: noindex\n", "/docs/a/b.txt": "X-Robots-Tag: noindex\nX-Robots-Tag: nofollow\n",
		"/docs/a b.html": "X-Robots-Tag: noindex\nContent-Language: en\n", "/docs/v2/a.txt": "X-Robots-Tag: nofollow\n",
	} {
		head, err := d.Open(t.Context(), path)
		_, added, _ := strings.Cut(string(head), "Last-Modified: ")
		if _, added, _ = strings.Cut(added, "\n"); err != nil || added != want {
			t.Errorf("%s: %q, %v, want %q", path, head, err, want)
		}
	}
	one := Header{"/", "X-A", strings.Repeat("a", 1<<10-6)} // a line of 1 KiB
	o.Headers = slices.Repeat([]Header{one}, maxHeaders>>10)
	if _, err := o.check(); err != nil {
		t.Errorf("%d octets: %v", maxHeaders, err)
	}
	o.Headers = append(o.Headers, Header{"/", "X-A", "a"})
	if _, err := o.check(); err == nil {
		t.Error("more octets than a head may have")
	}
}

// FuzzParseHeader: what is accepted is one line, and has one spelling.
func FuzzParseHeader(f *testing.F) {
	f.Add("/private/ X-Robots-Tag: noindex")
	f.Add("/*.pdf$ x: y")
	f.Fuzz(func(t *testing.T, entry string) {
		h, err := ParseHeader(entry)
		if err != nil {
			return
		}
		if strings.ContainsAny(h.line(), "\r\n\x00") {
			t.Errorf("%q", h.line())
		}
		if again, err := ParseHeader(h.String()); err != nil || again != h {
			t.Errorf("%q: %+v, then %+v, %v", entry, h, again, err)
		}
		if hs, err := newHeaders([]Header{h}, robots.Origin{Scheme: "https", Host: "www.example.org", Port: 443}); err != nil || len(hs) != 1 {
			t.Errorf("%v", err)
		}
	})
}
