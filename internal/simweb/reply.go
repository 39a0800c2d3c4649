package simweb

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/simweb/prose"
)

// reply is an answer before it is sent.
type reply struct {
	status int
	ctype  string // Content-Type; "" sends none
	header string // further lines, each ending in CRLF
	body   []byte
	wait   time.Duration // before the first byte, on top of the host's latency
	asks   time.Duration // its Retry-After, for the log
	script func(*wire)   // if set, writes everything itself, and the connection is closed
}

func plain(status int, text string) reply {
	return reply{status: status, ctype: "text/plain; charset=utf-8", body: []byte(text)}
}

func notFound() reply { return plain(404, "nothing here\n") }

func redirect(status int, location string) reply {
	r := plain(status, "it is elsewhere\n")
	r.header = "Location: " + location + "\r\n"
	return r
}

// overload is a 429 or 503 with a Retry-After.
func (s *site) overload(status int) reply {
	r := plain(status, "not now\n")
	r.asks = s.b.RetryAfter
	r.header = "Retry-After: " + strconv.Itoa(int(s.b.RetryAfter/time.Second)) + "\r\n"
	return r
}

// answer finds the site and page of a request and makes the reply; numbered pages are rendered into
// buf.
func (w *Web) answer(s *site, q *request, buf *buffer) reply {
	if s == nil {
		return plain(404, "no such host here\n")
	}
	if w.login != "" && q.authorization != w.login {
		r := plain(401, "who are you?\n")
		r.header = "WWW-Authenticate: Basic realm=\"simulated web\"\r\n"
		return r
	}
	r, ok := w.overrides.reply(s, q)
	if q.method != "GET" && q.method != "HEAD" && !ok {
		r := plain(405, "only GET and HEAD\n")
		r.header = "Allow: GET, HEAD\r\n"
		return r
	}
	if ok {
		return r
	}
	if q.path == "/robots.txt" {
		if g := s.given.Load(); g != nil {
			return plain(g.status, g.text)
		}
		return s.robots.answer(q, buf)
	}
	if s.b.MovedTo != "" {
		return redirect(s.b.Moved, s.b.MovedTo+q.path)
	}
	page, res, ok := s.lookup(q.path)
	switch {
	case !ok:
		return notFound()
	case res != nil:
		return res.answer(q, buf)
	}
	if s.mirror != nil {
		s = s.mirror
	}
	if s.flaps(page) && w.failsYet(s, q.path) {
		return plain(500, "try again\n")
	}
	if tag := s.etag(page, w.editions.of(s, q.path)); q.ifNoneMatch == tag {
		return reply{status: 304, header: "ETag: " + tag + "\r\n"}
	}
	return s.numbered(page, q.path, buf)
}

// numbered renders a numbered page.
func (s *site) numbered(page int, path string, buf *buffer) reply {
	edition := s.web.editions.of(s, path)
	s.renderPage(buf, page)
	buf.b = appendEdition(buf.b, edition)
	return reply{status: 200, ctype: htmlType, header: "ETag: " + s.etag(page, edition) + "\r\n" + s.header, body: buf.b}
}

// flaps reports whether a numbered page fails at first.
func (s *site) flaps(page int) bool {
	if s.b.FlapRate <= 0 {
		return false
	}
	r := prose.Mix(uint64(s.web.cfg.Seed), 'f', uint64(s.index), uint64(page))
	return float64(r.Next()>>11)/(1<<53) < s.b.FlapRate
}

// etag identifies a numbered page's content.
func (s *site) etag(page, edition int) string {
	r := prose.Mix(uint64(s.web.cfg.Seed), 'e', uint64(s.index), uint64(page), uint64(edition))
	return `"` + strconv.FormatUint(r.Next(), 36) + `"`
}

// appendHead writes the status line and the header, including the empty line.
func appendHead(b []byte, r *reply, closing bool) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(r.status), 10)
	b = append(append(b, ' '), reason(r.status)...)
	b = append(append(b, "\r\nDate: "...), httpDate()...)
	if r.ctype != "" {
		b = append(append(b, "\r\nContent-Type: "...), r.ctype...)
	}
	if r.status != 304 {
		b = append(b, "\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(r.body)), 10)
	}
	if closing {
		b = append(b, "\r\nConnection: close"...)
	}
	b = append(append(b, "\r\n"...), r.header...)
	return append(b, "\r\n"...)
}

func reason(status int) string {
	switch status {
	case 200:
		return "OK"
	case 206:
		return "Partial Content"
	case 304:
		return "Not Modified"
	case 404:
		return "Not Found"
	}
	if status < 400 {
		return "Elsewhere"
	}
	return "Sorry"
}

// httpDate is the Date of this second; it is made once a second.
func httpDate() string {
	now := time.Now()
	if d := dateNow.Load(); d != nil && d.second == now.Unix() {
		return d.text
	}
	d := &datedSecond{now.Unix(), now.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")}
	dateNow.Store(d)
	return d.text
}

type datedSecond struct {
	second int64
	text   string
}

var dateNow atomic.Pointer[datedSecond]
