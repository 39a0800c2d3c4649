package simweb

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/charmap"

	"github.com/curtsy/curtsy/internal/simweb/prose"
)

// gzipBomb is 16 MiB of HTML, more than anyone reads, compressed to less than a hundredth. A
// process makes it once, which takes seconds with the race detector on a busy machine.
var gzipBomb = sync.OnceValue(func() []byte {
	fastest := func(w io.Writer) io.WriteCloser {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			panic(err) // only an invalid level causes an error
		}
		return z
	}
	return compressed(fastest, func(w io.Writer) {
		io.WriteString(w, someHTML)
		block := bytes.Repeat([]byte("<p>boom</p>\n"), 1<<16)
		for range 16<<20/len(block) + 1 {
			w.Write(block)
		}
	})
})

func compressed(codec func(io.Writer) io.WriteCloser, fill func(io.Writer)) []byte {
	var b bytes.Buffer
	w := codec(&b)
	fill(w)
	w.Close() // writes to memory do not fail
	return b.Bytes()
}

// encodings adds a page in every Content-Encoding that a client may accept, and in some that it
// cannot.
func (s features) encodings() {
	codecs := map[string]func(io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			if err != nil {
				panic(err) // only invalid options cause an error
			}
			return z
		},
	}
	for _, name := range []string{"gzip", "deflate", "br", "zstd"} {
		path := "/encoded/" + name + ".html"
		r := s.page(path, doc{text: "The password is un" + name + "ed.", header: "Vary: Accept-Encoding\r\n"})
		r.want.Contains = "un" + name + "ed"
		identity := r.answer
		encoded := sync.OnceValue(func() []byte {
			buf := getBuffer()
			defer putBuffer(buf)
			body := identity(nil, buf).body
			return compressed(codecs[name], func(w io.Writer) { w.Write(body) })
		})
		r.answer = func(q *request, buf *buffer) reply {
			if !strings.Contains(q.accepts, name) {
				return identity(q, buf)
			}
			return reply{status: 200, ctype: htmlType, header: "Vary: Accept-Encoding\r\nContent-Encoding: " + name + "\r\n", body: encoded()}
		}
		s.enter(r)
	}
	lie := func(name, coding, body string, want Expectation) {
		r := reply{status: 200, ctype: htmlType, header: "Content-Encoding: " + coding + "\r\n", body: []byte(body)}
		s.enter(&resource{path: "/encoded/" + name + ".html", want: want, answer: always(r)})
	}
	lie("lie", "gzip", strings.Repeat("\x01\xff\x8f", 200), failed(ReasonEncoding))
	lie("unknown", "rot13", someHTML, Expectation{Class: Stored, Also: []Class{Failed}})
	s.script("/encoded/chunked.html", Expectation{Class: Stored, Contains: "piecemeal"}, 200, func(c *wire) {
		c.Write(chunkedHead())
		for _, part := range []string{"<html><title>chu", "nks</title><body><p>It came pie", "cemeal.</p></body></html>"} {
			writeChunk(c, part)
		}
		c.Write([]byte("0\r\nX-Trailer: done\r\n\r\n"))
	})
	s.script("/encoded/http-1.0.html", Expectation{Class: Stored, Contains: "oldfashioned"}, 200, func(c *wire) {
		c.Write([]byte("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html><title>old</title><p>An oldfashioned server.</html>"))
	})
}

// charsets adds pages that are not UTF-8, and declare this in some way.
func (s features) charsets() {
	page := func(meta, word string) string {
		return "<!DOCTYPE html><html><head>" + meta + "<title>" + word + "</title></head><body><p>Look for " + word + " here.</p></body></html>"
	}
	in := func(m *charmap.Charmap, text string) []byte {
		b, err := m.NewEncoder().Bytes([]byte(text))
		if err != nil {
			panic(err) // the words below are in their charsets
		}
		return b
	}
	wide := func(text string, low, high int) []byte {
		var b []byte
		for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
			two := [2]byte{byte(u), byte(u >> 8)}
			b = append(b, two[low], two[high])
		}
		return b
	}
	const rokfort, facade, library, euro = "r\u00f8gfort\u00e6lling", "fa\u00e7ade", "\u0431\u0438\u0431\u043b\u0438\u043e\u0442\u0435\u043a\u0430", "\u20acmuenze"
	for _, p := range []struct {
		name, ctype, word string
		body              []byte
	}{
		{"latin1-header", "text/html; charset=ISO-8859-1", facade, in(charmap.ISO8859_1, page("", facade))},
		{"latin1-meta", "text/html", rokfort, in(charmap.ISO8859_1, page(`<meta charset="iso-8859-1">`, rokfort))},
		{"windows-1252", `text/html; charset="windows-1252"`, euro, in(charmap.Windows1252, page("", euro))},
		{"koi8-r", "text/html", library, in(charmap.KOI8R, page(`<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">`, library))},
		{"utf16-le", "text/html", library, wide(page("", library), 0, 1)},
		{"utf16-be", "text/html; charset=utf-16", facade, wide(page("", facade), 1, 0)},
		{"utf8-bom", "text/html", rokfort, []byte("\ufeff" + page("", rokfort))},
		{"header-wins", "text/html; charset=utf-8", facade, []byte(page(`<meta charset="koi8-r">`, facade))},
	} {
		s.enter(&resource{
			path: "/charset/" + p.name + ".html", want: Expectation{Class: Stored, Contains: p.word},
			answer: always(reply{status: 200, ctype: p.ctype, body: p.body}),
		})
	}
}

// types adds other kinds of files that are found on web servers.
func (s features) types() {
	noise := func(magic string, n int) func(*request, *buffer) reply {
		body := sync.OnceValue(func() []byte {
			r := prose.Mix(uint64(s.web.cfg.Seed), 'n', uint64(n))
			b := append(make([]byte, 0, n+8), magic...)
			for len(b) < n {
				v := r.Next()
				b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56))
			}
			return b
		})
		return func(*request, *buffer) reply { return reply{status: 200, body: body()} }
	}
	typed := func(name, ctype string, want Expectation, answer func(*request, *buffer) reply) {
		s.enter(&resource{path: "/types/" + name, want: want, answer: func(q *request, buf *buffer) reply {
			r := answer(q, buf)
			r.ctype = ctype
			return r
		}})
	}
	text := func(body string) func(*request, *buffer) reply { return always(reply{status: 200, body: []byte(body)}) }
	word := func(w string) Expectation { return Expectation{Class: Stored, Contains: w} }
	wrong := refused(ReasonType)

	typed("report.pdf", "application/pdf", wrong, noise("%PDF-1.7\n", 300_000))
	typed("picture.png", "image/png", wrong, noise("\x89PNG\r\n\x1a\n", 80_000))
	typed("archive.zip", "application/zip", wrong, noise("PK\x03\x04", 3_000_000))
	typed("octets.bin", "application/octet-stream", wrong, noise("", 50_000))
	typed("untyped-image", "", wrong, noise("GIF89a", 5_000))
	typed("style.css", "text/css", wrong, text("body { color: black }\n"))
	typed("answer.json", "application/json", wrong, text("{\"answer\": 42}\n"))
	typed("feed.xml", "application/rss+xml", wrong, text(fmt.Sprintf("<rss version=\"2.0\"><channel><title>%s</title></channel></rss>", s.name)))
	typed("plain.txt", "text/plain", word("plaintexture"), text("Nothing but plaintexture.\nhttp://"+s.name+"/nowhere/from-text.html\n"))
	typed("page.xhtml", "application/xhtml+xml", word("xhtmlish"), text(
		"<?xml version=\"1.0\"?>\n<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title>X</title></head><body><p>An xhtmlish page.</p></body></html>\n"))
	typed("untyped", "", word("untypedness"), text("<!DOCTYPE html><html><title>U</title><p>The untypedness of it.</html>\n"))
	typed("shouting.html", "TEXT/HTML; Charset=UTF-8", word("shoutingly"), text("<html><title>S</title><p>Typed shoutingly.</html>\n"))
}
