package fetcher

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// captured returns what was captured of a URL, with its answer put together.
func (d *desk) captured(u canon.URL) (answer string, p crawl.Page) {
	d.t.Helper()
	for end := time.Now().Add(ample); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		d.mu.Lock()
		for _, p = range d.pages {
			if p.URL == u && p.Capture != nil {
				d.mu.Unlock()
				c := p.Capture
				if c.OfPage {
					return string(c.Response) + string(unpack(d.t, p)), p
				}
				return string(unpack(d.t, crawl.Page{Body: c.Response, Encoding: c.Encoding})), p
			}
		}
		d.mu.Unlock()
	}
	d.t.Fatalf("no capture of %s", u)
	return "", p
}

// ISO 28500 §6.3.2 and §6.5.2: for an archive a request and its answer are recorded as they went
// over the wire, whatever encodings the answer has. Without an archive nothing is recorded.
func TestISO28500_6_3_Captures(t *testing.T) {
	virtual(t, func(t *testing.T) {
		page := `<title>t</title><a href="/linked">x</a>` + strings.Repeat("word ", 200)
		noise := make([]byte, 850<<10)
		rng := rand.New(rand.NewPCG(1, 1))
		for i := range noise {
			noise[i] = "0123456789abcdef"[rng.IntN(16)]
		}
		large := wiretest.Encode(t, "gzip", []byte("<p>"+string(noise)))
		chunked := "HTTP/1.1 200 Fine\r\ncontent-TYPE:text/html\r\nX-Two:  a\r\nTransfer-Encoding: chunked\r\nX-Two: b\r\n\r\n" +
			fmt.Sprintf("%x;ext=1\r\n%s\r\n3\r\nabc\r\n0\r\nX-Trailer: y\r\n\r\n", len(page), page)
		answers := map[string]string{
			"/robots.txt": "HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\nnone",
			"/length":     wiretest.PageAnswer("", []byte(page)),
			"/gzip":       wiretest.PageAnswer("gzip", wiretest.Encode(t, "gzip", []byte(page))),
			"/chunked":    chunked,
			"/toend":      "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + page,
			"/hints":      "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n" + wiretest.PageAnswer("", []byte(page)),
			"/moved":      "HTTP/1.1 301 Moved\r\nLocation: /length\r\nContent-Length: 2\r\n\r\nok",
			"/large":      wiretest.PageAnswer("gzip", large),
			"/picture":    "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 9000000\r\n\r\n" + strings.Repeat("x", 1000),
			"/noarchive":  "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Robots-Tag: noarchive\r\nContent-Length: 1\r\n\r\nx",
			"/closed":     "HTTP/1.1 404 No\r\nX-Robots-Tag: noindex\r\nContent-Length: 1\r\n\r\nx",
			"/gone":       "HTTP/1.1 410 Gone\r\nContent-Type: text/html\r\nContent-Length: 14\r\n\r\n<p>gone</p>...",
			"/forbidding": "HTTP/1.1 410 Gone\r\nContent-Type: text/html\r\nContent-Length: 42\r\n\r\n<meta name=\"robots\" content=\"noarchive\">..",
			"/lost":       "HTTP/1.1 410 Gone\r\nContent-Type: text/plain\r\nContent-Length: 999\r\n\r\n" + strings.Repeat("y", 600),
			"/packed":     "HTTP/1.1 410 Gone\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nxxxx",
		}
		for _, on := range []bool{true, false} {
			w := wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
				path := strings.Fields(h.Text)[1]
				io.WriteString(c, answers[path])
				return path != "/toend" && path != "/picture" && path != "/lost"
			})
			d := newDesk(t, 1)
			spec := testSpec(1, "127.0.0.1:"+wiretest.Port(w))
			if on {
				spec.WARC = t.TempDir()
			}
			startFetcher(t, d, spec, Options{})
			var urls []string
			for path := range answers {
				if path != "/robots.txt" {
					urls = append(urls, "http://h.test"+path)
				}
			}
			d.outcome(d.grant(visitTo(t, urls...)))
			if !on {
				d.mu.Lock()
				pages := slices.Clone(d.pages)
				d.mu.Unlock()
				for _, p := range pages {
					if p.Capture != nil || p.Kind == crawl.KindCapture {
						t.Errorf("%s was captured for nobody", p.URL)
					}
				}
				continue
			}
			sent := map[string]string{}
			for _, h := range w.Seen() {
				sent[strings.Fields(h.Text)[1]] = h.Text
			}
			numbers := map[int]bool{}
			for path, want := range answers {
				u := canon.URL("http://h.test" + path)
				if path == "/noarchive" || path == "/closed" || path == "/forbidding" {
					continue
				}
				got, p := d.captured(u)
				c := p.Capture
				links, err := s2.Decode(nil, c.Links)
				if err != nil && len(c.Links) > 0 {
					t.Fatal(err)
				}
				if _, final, ok := strings.Cut(want, "</style.css>\r\n\r\n"); ok {
					want = final
				}
				if by := map[string]crawl.CutBy{"/lost": crawl.CutByDisconnect, "/packed": crawl.CutUnspecified}[path]; c.CutBy != by {
					t.Errorf("%s: cut by %v, want %v", path, c.CutBy, by)
				}
				switch cut := path == "/picture" || path == "/lost"; {
				case path == "/packed": // it is unknown whether its markup forbids it
					if !c.Cut || got != strings.TrimSuffix(want, "xxxx") {
						t.Errorf("%s: cut %v: %q", path, c.Cut, got)
					}
				case cut != c.Cut, !cut && got != want, cut && (!strings.HasPrefix(want, got) || len(got) < 500):
					t.Errorf("%s: cut %v, %d bytes of %d: %.300q", path, c.Cut, len(got), len(want), got)
				case strings.TrimSpace(string(c.Request)) != strings.TrimSpace(sent[path]), c.IP != "127.0.0.1", numbers[c.Number], c.Number < 1:
					t.Errorf("%s: request %q, sent %q, number %d, from %s", path, c.Request, sent[path], c.Number, c.IP)
				}
				numbers[c.Number] = true
				crc := uint32(0)
				if c.OfPage {
					crc = crc32.ChecksumIEEE([]byte(got[len(c.Response):]))
				}
				if c.CRC != crc {
					t.Errorf("%s: CRC-32 %x, want %x", path, c.CRC, crc)
				}
				alone := path == "/robots.txt" || path == "/moved" || path == "/large" || path == "/picture" || path == "/gone" || path == "/packed" || path == "/lost"
				if (p.Kind == crawl.KindCapture) != alone || c.OfPage != (path == "/length" || path == "/toend" || path == "/hints") {
					t.Errorf("%s: kind %d, of a page %v", path, p.Kind, c.OfPage)
				}
				if path == "/chunked" && string(links) != "outlink: http://h.test/linked\r\n" {
					t.Errorf("%s leads to %q", path, links)
				}
			}
			d.mu.Lock()
			pages := slices.Clone(d.pages)
			d.mu.Unlock()
			for _, p := range pages {
				if (strings.HasSuffix(string(p.URL), "/noarchive") || strings.HasSuffix(string(p.URL), "/closed") || strings.HasSuffix(string(p.URL), "/forbidding")) && p.Capture != nil {
					t.Errorf("%s was captured", p.URL)
				}
				if n := len(crawl.AppendPages(nil, []crawl.Page{p})); n > crawl.MaxPayloadBytes-8<<10 {
					t.Errorf("%s takes %d bytes of a message", p.URL, n)
				}
			}
		}
	})
}

// Over TLS, too, the archive gets what was sent inside.
func TestCapturesTLS(t *testing.T) {
	virtual(t, func(t *testing.T) {
		srv := wiretest.HTTPS(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<p>secret</p>")
		}), nil)
		pool := x509.NewCertPool()
		pool.AddCert(srv.Certificate())
		d := newDesk(t, 1)
		spec := testSpec(1, strings.TrimPrefix(srv.URL, "https://"))
		spec.WARC = t.TempDir()
		startFetcher(t, d, spec, Options{TLS: &tls.Config{RootCAs: pool}})
		d.outcome(d.grant(open(visitTo(t, "https://example.com/a"))))
		got, p := d.captured("https://example.com/a")
		if !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(got, "\r\n\r\n<p>secret</p>") || !strings.HasPrefix(string(p.Capture.Request), "GET /a HTTP/1.1\r\n") {
			t.Errorf("%q, %q", got, p.Capture.Request)
		}
	})
}
