package simweb

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ServeHTTP answers by the Host header with net/http, for tests that have their own server. Answers
// that break the protocol hijack the connection; where that is impossible they panic with
// http.ErrAbortHandler.
func (w *Web) ServeHTTP(rw http.ResponseWriter, hr *http.Request) {
	start := time.Now()
	q := request{
		method: hr.Method, host: hr.Host, path: hr.URL.RequestURI(), agent: hr.UserAgent(),
		accepts: hr.Header.Get("Accept-Encoding"), ifNoneMatch: hr.Header.Get("If-None-Match"),
		byteRange: hr.Header.Get("Range"), ifRange: hr.Header.Get("If-Range"),
		authorization: hr.Header.Get("Authorization"), signer: strings.Trim(hr.Header.Get("Signature-Agent"), `"`), peer: addressOf(hr.RemoteAddr), secure: hr.TLS != nil,
	}
	if q.method == "POST" {
		body, _ := io.ReadAll(io.LimitReader(hr.Body, maxForm))
		q.form = string(body)
	}
	s := w.byName[normalHost(q.host)]
	entry := w.log.Begin(w.facts(s, &q, start))
	end, status, asks, sent, gone := start, 0, time.Duration(0), int64(0), false
	defer func() { w.log.End(&entry, end, status, asks, sent, gone) }()
	buf := getBuffer()
	defer putBuffer(buf)

	r := w.respond(s, &q, buf)
	status, asks = r.status, r.asks
	if r.script != nil {
		conn, rest, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			end, status, asks = time.Now(), 0, 0
			panic(http.ErrAbortHandler)
		}
		defer conn.Close()
		c := &wire{conn: conn, br: rest.Reader, last: start}
		if c.sleep(r.wait) {
			r.script(c)
		}
		end, sent, gone = c.last, c.sent, c.gone
		if sent == 0 {
			status, asks = 0, 0
		}
		return
	}
	if r.wait > 0 {
		select {
		case <-time.After(r.wait):
		case <-hr.Context().Done():
			end, gone, status, asks = time.Now(), true, 0, 0
			return
		}
	}
	for line := range strings.SplitSeq(r.header, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			rw.Header().Add(name, strings.TrimSpace(value))
		}
	}
	if r.ctype != "" {
		rw.Header().Set("Content-Type", r.ctype)
	} else {
		rw.Header()["Content-Type"] = nil // otherwise net/http would guess one
	}
	if r.status != http.StatusNotModified {
		rw.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	rw.WriteHeader(r.status)
	body := r.body
	if q.method == "HEAD" {
		body = nil
	}
	end = time.Now()
	if len(body) <= chunk {
		// net/http sends a small answer only after we return
		w.log.Settle(&entry, r.status, r.asks, len(body))
	}
	for len(body) > 0 && !gone {
		end = time.Now()
		n, err := rw.Write(body[:min(len(body), chunk)])
		body, sent = body[n:], sent+int64(n)
		if err != nil {
			end, gone = time.Now(), true
		}
	}
}
