package simweb

import (
	"bufio"
	"strings"
	"testing"
)

// Whatever is sent, the parser ends, and what it accepts is a path that a request can name.
func FuzzReadRequest(f *testing.F) {
	f.Add("GET / HTTP/1.1\r\nHost: h0000.sim.test\r\nUser-Agent: a\r\n\r\n")
	f.Add("GET http://h/x HTTP/1.0\nRange: bytes=0-1\n\nPOST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
	f.Add("\r\n\r\n")
	w := New(one(Everything()))
	f.Fuzz(func(t *testing.T, text string) {
		br := bufio.NewReaderSize(strings.NewReader(text), headLimit)
		var q request
		for {
			if readRequest(br, &q) != nil {
				return
			}
			if !strings.HasPrefix(q.path, "/") || q.length < 0 {
				t.Fatalf("accepted %+v", q)
			}
			buf := getBuffer()
			r := w.answer(w.byName[normalHost(q.host)], &q, buf)
			if r.script == nil && r.status == 0 {
				t.Fatalf("no status for %+v", q)
			}
			putBuffer(buf)
		}
	})
}
