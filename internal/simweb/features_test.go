package simweb

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/html/charset"
)

func gunzip(t *testing.T, s string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestUnknownFeatureIsAMistake(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(one(Behavior{Features: []Feature{"no-such"}}))
}

func TestMarkupPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := start(t, one(Behavior{Features: []Feature{FeatureMarkup, FeatureNofollow}}))
		for path, wants := range map[string][]string{
			"/frames.html":     {`<frameset`, `<frame src="/frames/left.html">`, `<frame src='frames/right.html'>`},
			"/area.html":       {`<area shape="circle" coords="9,9,9" href="/area/circle.html">`, `HREF=/area/default.html>`},
			"/iframe.html":     {`<iframe src="/iframe/inner.html">`},
			"/base.html":       {`<base href="/based/deep/">`, `<a href="../up.html">`},
			"/refresh.html":    {`<meta http-equiv="Refresh" content="5; URL=/refreshed.html">`},
			"/spelling.html":   {`HTTP://H0000.SIM.TEST/spelled/upper.html`, `&#x2F;spelled`, `?a=1&amp;b=2`, `#there`, `mailto:`, `javascript:`, `<!-- <a href`},
			"/spelled?a=1&b=2": {"<h1>"}, "/spelled/gr%C3%B6%C3%9Fe.html": {"<h1>"}, "/spelled/two%20words.html": {"<h1>"},
			"/nofollow/link.html":   {`rel="nofollow"`, `rel="noopener NoFollow ugc"`, `href="/nofollow/seen.html">`},
			"/nofollow/meta.html":   {`<meta name="robots" content="nofollow">`, "hidden-by-meta"},
			"/nofollow/none.html":   {`CONTENT="None"`, "hidden-by-none"},
			"/nofollow/header.html": {"hidden-by-header"},
		} {
			res, body := mustGet(t, c, home+path)
			for _, want := range wants {
				if res.StatusCode != 200 || !strings.Contains(body, want) {
					t.Errorf("%s: status %d, no %q", path, res.StatusCode, want)
				}
			}
		}
	})
}

func TestHiddenPagesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{Features: []Feature{FeatureNofollow}}))
		mustGet(t, c, home+"/nofollow/seen.html")
		mustGet(t, c, home+"/nofollow/hidden-1.html")
		mustGet(t, c, home+"/nofollow/hidden-by-header.html")
		log := srv.Log()
		if log[0].Hidden || !log[1].Hidden || !log[2].Hidden {
			t.Errorf("hidden: %v %v %v, want false true true", log[0].Hidden, log[1].Hidden, log[2].Hidden)
		}
		for u := range srv.Expect("curtsy") {
			if strings.Contains(u, "hidden") {
				t.Errorf("%s is expected to be known", u)
			}
		}
	})
}

func TestTagPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{Features: []Feature{FeatureTags}}))
		for name, want := range map[string]string{
			"header-noindex.html": "X-Robots-Tag: noindex", "robots-tag.html": "Robots-Tag: *=noindex", "two-headers.html": "X-Robots-Tag: noarchive",
			"opt-out.html": "Robots-Tag: *=noindex; curtsy=;", "agent-header.html": "Robots-Tag: curtsy=noindex", "noindex.txt": "X-Robots-Tag: noindex",
			"other-agent.html": "X-Robots-Tag: otherbot: noindex", "header-nosnippet.html": "Robots-Tag: nosnippet",
		} {
			res, _ := mustGet(t, c, home+"/tags/"+name)
			field, value, _ := strings.Cut(want, ": ")
			if got := res.Header.Get(field); got != value {
				t.Errorf("%s: %s is %q, want %q", name, field, got, value)
			}
		}
		_, body := mustGet(t, c, home+"/tags/body-meta.html")
		if head, after, ok := strings.Cut(body, "<body>"); !ok || strings.Contains(head, "noindex") || !strings.Contains(after, "noindex") {
			t.Errorf("body-meta.html has its tag in the wrong place:\n%s", body)
		}
		for token, want := range map[string]Class{"curtsy": Refused, "stranger": Stored} {
			for _, name := range []string{"agent-header", "agent-colon", "agent-meta"} {
				if got := srv.Expect(token)[home+"/tags/"+name+".html"].Class; got != want {
					t.Errorf("%s for %s is expected to be %s, want %s", name, token, got, want)
				}
			}
		}
		want := srv.Expect("curtsy")
		if !want[home+"/tags/meta-nosnippet.html"].NoSnippet || !want[home+"/tags/noarchive.html"].NoArchive {
			t.Error("nosnippet and noarchive are not expected where they stand")
		}
	})
}

func TestStatusPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := start(t, one(Behavior{
			Features: []Feature{FeatureStatuses, FeatureServerErrors, FeatureFlapping, FeatureRetryAfter}, Fails: 2, RetryAfter: 2 * time.Second,
		}))
		for path, want := range map[string]string{
			"/status/404.html": "404 404 404", "/status/410.html": "410 410 410", "/status/403.html": "403 403 403", "/status/500.html": "500 500 500",
			"/flapping/500.html": "500 500 200", "/flapping/502.html": "502 502 200", "/flapping/closed.html": "0 0 200",
			"/busy/429.html": "429 429 200", "/busy/503.html": "503 503 200", "/busy/503-date.html": "503 503 200",
		} {
			var got []string
			for range 3 {
				asked := time.Now()
				res, _, err := get(t, c, home+path)
				if err != nil {
					got = append(got, "0")
					continue
				}
				got = append(got, fmt.Sprint(res.StatusCode))
				if !strings.HasPrefix(path, "/busy/") || res.StatusCode == 200 {
					continue
				}
				after := res.Header.Get("Retry-After")
				if date, err := http.ParseTime(after); err == nil {
					if date.Sub(asked) < time.Second || time.Until(date) > 3*time.Second {
						t.Errorf("%s: Retry-After is %v after it was asked for, want 2 to 3 s", path, date.Sub(asked))
					}
				} else if after != "2" {
					t.Errorf("%s: Retry-After is %q, want 2", path, after)
				}
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("%s: %s, want %s", path, s, want)
			}
		}
	})
}

// A host may have only some of the pages that are busy, so that it does not slow a demonstration.
func TestBusyPages(t *testing.T) {
	for busy, want := range map[int]string{0: "429 503 503-date", 1: "429", 2: "429 503", 4: "429 503 503-date"} {
		web := New(one(Behavior{Features: []Feature{FeatureRetryAfter}, Busy: busy}))
		var got []string
		for _, name := range []string{"429", "503", "503-date"} {
			if _, there := web.Expect("curtsy")[home+"/busy/"+name+".html"]; there {
				got = append(got, name)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%d: %s, want %s", busy, s, want)
		}
	}
}

func TestFlapRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, Config{Hosts: 1, PagesPerHost: 60, Behaviors: map[int]Behavior{0: {FlapRate: 0.5}}})
		failed := 0
		for i := range 60 {
			u := home + srv.sites[0].path(i)
			if res, _ := mustGet(t, c, u); res.StatusCode == 500 {
				failed++
				res, _ = mustGet(t, c, u)
				if res.StatusCode != 200 {
					t.Errorf("%s: status %d the second time", u, res.StatusCode)
				}
			}
		}
		if failed < 15 || failed > 45 {
			t.Errorf("%d of 60 pages failed at first, want about half", failed)
		}
	})
}

func TestRedirectPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := start(t, Config{Hosts: 2, Behaviors: map[int]Behavior{0: {Robots: RobotsSubtree, Features: []Feature{FeatureRedirects}}}})
		for name, want := range map[string]string{
			"301": "301 " + home + "/redirected/301.html", "302": "302 " + home + "/redirected/302.html", "303": "303 " + home + "/redirected/303.html",
			"307": "307 " + home + "/redirected/307.html", "308": "308 " + home + "/redirected/308.html",
			"root-relative": "302 /redirected/root.html", "relative": "302 ../redirected/relative.html", "fragment": "301 /redirected/fragment.html#part",
			"chain-1": "301 chain-2.html", "chain-3": "307 /redirected/chain.html", "self": "302 /redirect/self.html",
			"loop-a": "302 /redirect/loop-b.html", "loop-b": "302 /redirect/loop-a.html", "long-1": "302 /redirect/long-2.html", "long-15": "302 /redirect/long-16.html",
			"other-host": "301 http://h0001.sim.test/", "forbidden": "302 /private/secret-1.html", "outside": "302 http://elsewhere.example/",
			"metadata": "302 http://169.254.169.254/latest/meta-data/", "loopback": "302 http://127.0.0.1/", "localhost": "302 http://localhost/",
			"nowhere": "302 ", "mail": "302 mailto:webmaster@h0000.sim.test",
		} {
			res, _ := mustGet(t, c, home+"/redirect/"+name+".html")
			if got := fmt.Sprint(res.StatusCode, " ", res.Header.Get("Location")); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	})
}

func TestEncodedPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := start(t, one(Behavior{Features: []Feature{FeatureEncodings}}))
		decode := map[string]func(io.Reader) (io.Reader, error){
			"gzip":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
			"br":      func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
			"zstd":    func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
			"deflate": func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
		}
		for name, dec := range decode {
			res, body := mustGet(t, c, home+"/encoded/"+name+".html", "Accept-Encoding", "x, "+name)
			r, err := dec(strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if err != nil || res.Header.Get("Content-Encoding") != name || !bytes.Contains(text, []byte("un"+name+"ed")) {
				t.Errorf("%s: error %v, Content-Encoding %q, text %.80q", name, err, res.Header.Get("Content-Encoding"), text)
			}
			res, body = mustGet(t, c, home+"/encoded/"+name+".html", "Accept-Encoding", "identity")
			if res.Header.Get("Content-Encoding") != "" || body != string(text) {
				t.Errorf("%s: not the same text for clients without it", name)
			}
		}
		if _, _, err := get(t, c, home+"/encoded/lie.html"); err == nil {
			t.Error("lie.html can be decoded")
		}
		if res, _ := mustGet(t, c, home+"/encoded/unknown.html"); res.Header.Get("Content-Encoding") != "rot13" {
			t.Errorf("unknown.html: Content-Encoding is %q", res.Header.Get("Content-Encoding"))
		}
		if res, body := mustGet(t, c, home+"/encoded/chunked.html"); res.ContentLength != -1 || !strings.Contains(body, "piecemeal") || res.Trailer.Get("X-Trailer") != "done" {
			t.Errorf("chunked.html: length %d, body %q, trailer %v", res.ContentLength, body, res.Trailer)
		}
		if res, body := mustGet(t, c, home+"/encoded/http-1.0.html"); res.Proto != "HTTP/1.0" || !strings.Contains(body, "oldfashioned") {
			t.Errorf("http-1.0.html: %s, body %q", res.Proto, body)
		}
	})
}

// Pages that are listed for a word contain it, after decoding the charset and the encoding.
func TestContainedWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{Features: []Feature{FeatureCharsets, FeatureTypes, FeatureEncodings}}))
		n := 0
		for u, e := range srv.Expect("curtsy") {
			if e.Contains == "" {
				continue
			}
			n++
			res, body := mustGet(t, c, u)
			r, err := charset.NewReader(strings.NewReader(body), res.Header.Get("Content-Type"))
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(r); err != nil || !strings.Contains(string(text), e.Contains) {
				t.Errorf("%s: no %q in %.200q, error %v", u, e.Contains, text, err)
			}
		}
		if n != 18 {
			t.Errorf("%d pages promise a word, want 18", n)
		}
	})
}

func TestTypedFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := start(t, one(Behavior{Features: []Feature{FeatureTypes}}))
		for name, want := range map[string]string{
			"report.pdf": "application/pdf %PDF-", "picture.png": "image/png \x89PNG", "archive.zip": "application/zip PK\x03\x04", "octets.bin": "application/octet-stream ",
			"plain.txt": "text/plain Nothing", "page.xhtml": "application/xhtml+xml <?xml", "untyped": " <!DOCTYPE", "untyped-image": " GIF89a", "answer.json": "application/json {",
		} {
			res, body := mustGet(t, c, home+"/types/"+name)
			ctype, begins, _ := strings.Cut(want, " ")
			if got := res.Header.Get("Content-Type"); got != ctype || !strings.HasPrefix(body, begins) || int64(len(body)) != res.ContentLength {
				t.Errorf("%s: type %q, body %.10q of %d bytes, want %q", name, got, body, len(body), want)
			}
		}
	})
}
