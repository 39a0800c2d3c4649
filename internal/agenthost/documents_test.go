package agenthost

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/pkg/canon"
)

const robotsTxt = "User-agent: ExampleBot\nDisallow: /docs/closed\nDisallow: /docs/v2/*.pdf\n\nUser-agent: *\nDisallow: /\n"

// newRoot makes a document root beside a secret.
func newRoot(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"secret.html":                     "secret",
		"root/robots.txt":                 robotsTxt,
		"root/index.html":                 "front page",
		"root/other/a.html":               "another subtree",
		"root/docs/index.html":            "index",
		"root/docs/a b.html":              "a b",
		"root/docs/a.html":                "a",
		"root/docs/a/b.txt":               "a/b",
		"root/docs/a-b/c.HTML":            "c",
		"root/docs/é%2f.html":             "escapes",
		"root/docs/p.php":                 "<?php password",
		"root/docs/noextension":           "none",
		"root/docs/.hidden.html":          "hidden",
		"root/docs/.git/config.txt":       "hidden",
		"root/docs/.well-known/a.txt":     "well known",
		"root/docs/closed/a.html":         "closed",
		"root/docs/v2/a.pdf":              "closed",
		"root/docs/v2/a.txt":              "open",
		"root/docs/back\\slash.html":      "backslash",
		"root/docs/large.txt":             strings.Repeat("x", 1001),
		"root/docs/deep/e/e/p/index.html": "deep",
	} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"docs/out.html": "../../secret.html", "docs/absolute.html": filepath.Join(dir, "secret.html"), "docs/inside.html": "a.html",
		"docs/up": "..", "docs/outside": "../..", "docs/loop": "loop", "linked": "docs",
	} {
		if err := os.Symlink(target, filepath.Join(dir, "root", link)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "root")
}

func newPlan(t testing.TB, root string) *plan {
	t.Helper()
	p, err := options(t, root).check()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func openDocs(t testing.TB, p *plan, subtree string) *documents {
	t.Helper()
	d, err := openDocuments(t.Context(), p, subtree, "ExampleBot")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	return d
}

// listed are the documents below /docs/, in order.
var listed = []string{
	"/docs/", "/docs/.well-known/a.txt", "/docs/a%20b.html", "/docs/a-b/c.HTML", "/docs/a.html", "/docs/a/b.txt",
	"/docs/deep/e/e/p/", "/docs/large.txt", "/docs/v2/a.txt", "/docs/%C3%A9%252f.html",
}

func TestList(t *testing.T) {
	want := slices.Sorted(slices.Values(listed))
	p := newPlan(t, newRoot(t))
	for most := 30; most < 300; most += 30 {
		d := openDocs(t, p, "/docs/")
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			list, err := d.List(t.Context(), after, most)
			if err != nil || len(list) > most {
				t.Fatalf("List(%q) = %d octets, %v", after, len(list), err)
			}
			if len(list) == 0 {
				break
			}
			got = append(got, strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00")...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("in pieces of %d octets: %q, want %q", most, got, want)
		}
	}
	// From anywhere, also from a path that does not exist.
	for _, after := range append([]string{"", "/", "/docs", "/docs/a", "/docs/a/", "/docs/a/b", "/docs/zzz", "/z", "nonsense", "/docs/deep/e/z"}, want...) {
		d := openDocs(t, p, "/docs/")
		list, err := d.List(t.Context(), after, mobile.MaxPart)
		rest := slices.DeleteFunc(slices.Clone(want), func(p string) bool { return p <= after })
		if text := strings.Join(append(rest, ""), "\x00"); err != nil || string(list) != text {
			t.Errorf("after %q: %q, %v, want %q", after, list, err, rest)
		}
	}
	d := openDocs(t, p, "/docs/")
	if _, err := d.List(t.Context(), "", 5); !errors.Is(err, mobile.SmallBuffer) {
		t.Errorf("a small buffer: %v", err)
	}
	if list, err := openDocs(t, p, "/docs/a/").List(t.Context(), "", 100); err != nil || string(list) != "/docs/a/b.txt\x00" {
		t.Errorf("a deeper subtree: %q, %v", list, err)
	}
}

func TestOpen(t *testing.T) {
	p := newPlan(t, newRoot(t))
	d := openDocs(t, p, "/docs/")
	read := func(path string) (head, text string, err error) {
		h, err := d.Open(t.Context(), path)
		if err != nil {
			return "", "", err
		}
		buf := make([]byte, 7)
		for {
			n, err := d.Read(t.Context(), buf)
			if err != nil || n == 0 {
				return string(h), text, err
			}
			text += string(buf[:n])
		}
	}
	for _, path := range listed {
		if _, _, err := read(path); (err == nil) != (path != "/docs/large.txt") {
			t.Errorf("%s is listed: %v", path, err)
		}
	}
	head, text, err := read("/docs/a%20b.html")
	if err != nil || text != "a b" || !strings.HasPrefix(head, "Status: 200\nContent-Type: text/html\nContent-Length: 3\nLast-Modified: ") {
		t.Errorf("%q %q %v", head, text, err)
	}
	for path, want := range map[string]string{
		"/docs/index.html": "index", "/docs/./a.html": "a", "/docs/a/../a.html": "a", "/docs/%61.html": "a", "/docs/a b.html": "a b",
		"/docs\\a.html": "a", "/docs/a/%2e%2e/a.html": "a", "/other/../docs/a.html": "a",
	} {
		if _, text, err := read(path); err != nil || text != want {
			t.Errorf("%s: %q, %v, want %q", path, text, err, want)
		}
	}
	for _, path := range []string{
		// out of the subtree, in many spellings
		"/other/a.html", "/docs/../other/a.html", "/docs/%2e%2e/other/a.html", "/docs/%2E./other/a.html", "/docs/.%2e/other/a.html", "/docs/..\\other\\a.html",
		"/docs/%2e%2e\\other/a.html", "/docs/.\t./other/a.html", "/docs/a/../../other/a.html", "/../../../secret.html", "/docs/../../secret.html", "/index.html", "/docs", "/",
		"//docs/a.html", "/docs/closed/a.html", "/docs/closed", "/docs/v2/a.pdf",
	} {
		if _, _, err := read(path); !errors.Is(err, mobile.Forbidden) {
			t.Errorf("%q: %v, want forbidden", path, err)
		}
	}
	for _, path := range []string{
		"", "docs/a.html", "..", "C:\\", "https://www.example.org/docs/a.html", // no paths
		"/docs/..%2fother%2fa.html", "/docs/%2e%2e%2fother/a.html", "/docs/..%5cother/a.html", "/docs/%2fetc/passwd.txt", "/docs//a.html", "/docs/a.html/", "/docs/a.html%00",
		"/docs/a.html\x00", "/docs/%252e%252e/other/a.html", "/docs/a.html?x", "/docs/a.html#x", "/docs/back%5Cslash.html", "/docs/back\\slash.html", "/docs/%c0%ae%c0%ae/a.html",
		// links
		"/docs/out.html", "/docs/absolute.html", "/docs/inside.html", "/docs/up/other/a.html", "/docs/up/docs/a.html", "/docs/outside/secret.html", "/docs/loop", "/docs/loop/a.html",
		// no documents
		"/docs/p.php", "/docs/noextension", "/docs/.hidden.html", "/docs/.git/config.txt", "/docs/%2egit/config.txt", "/docs/a", "/docs/deep/", "/docs/none.html", "/docs/v2/",
	} {
		if _, _, err := read(path); !errors.Is(err, mobile.NotFound) {
			t.Errorf("%q: %v, want not found", path, err)
		}
	}
	if _, _, err := read("/docs/large.txt"); !errors.Is(err, mobile.TooLarge) {
		t.Errorf("a large document: %v", err)
	}
	if _, err := d.Read(t.Context(), make([]byte, 1)); !errors.Is(err, mobile.NotOpen) {
		t.Errorf("after a failure the last document is still open: %v", err)
	}
	for _, subtree := range []string{"/linked/", "/docs/up/", "/none/", "/docs/a.html/", "/docs/.git/"} {
		if _, err := openDocuments(t.Context(), p, subtree, "ExampleBot"); err == nil {
			t.Errorf("the subtree %s can be opened", subtree)
		}
	}
}

// The rules of robots.txt are those of the token of the ticket, and a robots.txt that cannot be
// read closes everything.
func TestRobotsTxtHolds(t *testing.T) {
	root := newRoot(t)
	p := newPlan(t, root)
	for _, c := range []struct {
		prepare func() error
		token   string
		ok      bool
	}{
		{nil, "ExampleBot", true},
		{nil, "OtherBot", false},
		{func() error { return os.Remove(p.RobotsFile) }, "OtherBot", true},
		{func() error { return os.Mkdir(p.RobotsFile, 0o755) }, "ExampleBot", false},
	} {
		if c.prepare != nil {
			if err := c.prepare(); err != nil {
				t.Fatal(err)
			}
		}
		d, err := openDocuments(t.Context(), p, "/docs/", c.token)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Open(t.Context(), "/docs/a.html")
		list, listErr := d.List(t.Context(), "", 1000)
		if (err == nil) != c.ok || (len(list) > 0) != c.ok || listErr != nil {
			t.Errorf("%s: %v, %q, %v", c.token, err, list, listErr)
		}
		d.close()
	}
}

// A base with a path is the URL of the root, and the robots.txt is elsewhere.
func TestBaseWithPath(t *testing.T) {
	o := options(t, newRoot(t))
	o.Base = "https://www.example.org/sub/"
	if _, err := o.check(); err == nil || !strings.Contains(err.Error(), "robots-file") {
		t.Errorf("without a robots.txt: %v", err)
	}
	o.RobotsFile = filepath.Join(t.TempDir(), "none")
	p, err := o.check()
	if err != nil {
		t.Fatal(err)
	}
	list, err := openDocs(t, p, "/sub/docs/a/").List(t.Context(), "", 100)
	if err != nil || string(list) != "/sub/docs/a/b.txt\x00" {
		t.Errorf("%q, %v", list, err)
	}
	if _, err := openDocuments(t.Context(), p, "/docs/", "ExampleBot"); err == nil {
		t.Error("a subtree outside of the base can be opened")
	}
}

func TestEscapeIsCanonical(t *testing.T) {
	for c := range 256 {
		if c == 0 || c == '/' || c == '\\' {
			continue
		}
		name := "a" + string([]byte{byte(c)}) + "b"
		path := "/" + escape(name)
		if u, err := canon.Parse("https://host.invalid" + path); err != nil || u.PathQuery() != path {
			t.Errorf("%q is escaped as %s, canonical is %s", name, path, u.PathQuery())
		}
		if names, ok := fileNames(escape(name)); !ok || names[0] != name {
			t.Errorf("%q is decoded as %q", name, names)
		}
	}
}

// FuzzOpen: whatever a robot asks for, only documents of its subtree come back.
func FuzzOpen(f *testing.F) {
	for _, path := range []string{"/docs/a.html", "/docs/%2e%2e/other/a.html", "/docs/..%2fother/a.html", "/docs/up/other/a.html", "/docs/out.html", "//x", "/docs/\\..\\a"} {
		f.Add(path)
	}
	p := newPlan(f, newRoot(f))
	d := openDocs(f, p, "/docs/")
	allowed := map[string]bool{"index": true, "a b": true, "a": true, "a/b": true, "c": true, "escapes": true, "well known": true, "open": true, "deep": true}
	f.Fuzz(func(t *testing.T, path string) {
		if _, err := d.Open(t.Context(), path); err != nil {
			if code := mobile.Code(0); !errors.As(err, &code) {
				t.Fatalf("%q: %v", path, err)
			}
			return
		}
		var b bytes.Buffer
		buf := make([]byte, 100)
		for n := 1; n > 0; {
			var err error
			if n, err = d.Read(t.Context(), buf); err != nil {
				t.Fatal(err)
			}
			b.Write(buf[:n])
		}
		if !allowed[b.String()] {
			t.Errorf("%q: %q", path, b.String())
		}
	})
}
