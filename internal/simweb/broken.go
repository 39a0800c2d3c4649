package simweb

import (
	"fmt"
	"strings"
	"time"
)

// script makes a resource whose answer a function writes byte by byte.
func (s features) script(path string, want Expectation, status int, f func(*wire)) {
	s.enter(&resource{path: path, want: want, answer: func(*request, *buffer) reply {
		return reply{status: status, script: f}
	}})
}

const someHTML = "<!DOCTYPE html><html><head><title>A broken page</title></head><body><p>The beginning of a page is all there is."

// broken adds answers that nobody can use.
func (s features) broken() {
	network := failed(ReasonNetwork)
	s.script("/broken/no-answer.html", network, 0, func(*wire) {})
	s.script("/broken/reset.html", network, 0, resetAtOnce)
	// It is cut at the same place in each attempt, so the last attempt stores what arrived.
	same := Expectation{Class: Stored, Reason: ReasonNetwork, Contains: "beginning of a page", Also: []Class{Failed}}
	s.script("/broken/cut.html", same, 200, truncated(htmlType, someHTML))
	s.script("/broken/reset-body.html", network, 200, func(c *wire) {
		r := reply{status: 200, ctype: htmlType, body: make([]byte, 100_000)}
		c.Write(appendHead(nil, &r, false))
		c.Write([]byte(someHTML))
		// so that the client has read it before the RST discards it
		if c.sleep(20 * time.Millisecond) {
			c.reset()
		}
	})
	s.script("/broken/half-head.html", network, 0, func(c *wire) {
		c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/ht"))
	})
	s.script("/broken/cut-chunk.html", same, 200, func(c *wire) {
		c.Write(chunkedHead())
		fmt.Fprintf(c, "%x\r\n%s", 2*len(someHTML), someHTML)
	})
	protocol := failed(ReasonProtocol)
	s.script("/broken/not-http.html", protocol, 0, func(c *wire) { c.Write([]byte("SSH-2.0-OpenSSH_9.6\r\n")) })
	s.script("/broken/bad-chunk.html", protocol, 200, func(c *wire) {
		c.Write(chunkedHead())
		c.Write([]byte("this is no size\r\n" + someHTML))
	})
}

func chunkedHead() []byte {
	return []byte("HTTP/1.1 200 OK\r\nContent-Type: " + htmlType + "\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
}

func writeChunk(c *wire, text string) error {
	_, err := fmt.Fprintf(c, "%x\r\n%s\r\n", len(text), text)
	return err
}

// slow adds answers that take a long time.
func (s features) slow() {
	late := s.page("/slow/late.html", doc{text: "Worth waiting for."})
	inTime := late.answer
	late.answer = func(q *request, buf *buffer) reply {
		r := inTime(q, buf)
		r.wait = s.b.Stall
		return r
	}
	s.enter(late)
	s.script("/slow/never.html", failed(ReasonTimeout), 0, hang)
	s.script("/slow/drip.html", failed(ReasonSlow), 200, func(c *wire) {
		r := reply{status: 200, ctype: htmlType, body: make([]byte, 1<<20)}
		c.Write(appendHead(nil, &r, false))
		for range 1 << 20 {
			if _, err := c.Write([]byte(".")); err != nil || !c.sleep(s.b.Stall) {
				return
			}
		}
	})
}

// endless adds a body that arrives quickly and never ends.
func (s features) endless() {
	want := Expectation{Class: Stored, Truncated: true, Also: []Class{Failed, Refused}}
	text := strings.Repeat("<p>And so on, and so on.</p>\n", 500)
	s.script("/endless/body.html", want, 200, func(c *wire) {
		c.Write(chunkedHead())
		if writeChunk(c, someHTML) != nil {
			return
		}
		for writeChunk(c, text) == nil {
		}
	})
}

// pageLimit is what a crawler reads of a page, before and after decoding.
const pageLimit = 10 << 20

// bombs adds answers that are too large.
func (s features) bombs() {
	truncated := Expectation{Class: Stored, Truncated: true, Also: []Class{Failed, Refused}}
	s.script("/bomb/header.html", failed(ReasonHeaders), 200, func(c *wire) {
		c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: " + htmlType + "\r\n"))
		text := strings.Repeat("X-Filler: "+strings.Repeat("x", 1000)+"\r\n", 64)
		for range 256 { // 16 MiB, more than the buffers of a connection
			if _, err := c.Write([]byte(text)); err != nil {
				return
			}
		}
		fmt.Fprintf(c, "Content-Length: %d\r\n\r\n%s", len(someHTML), someHTML)
	})
	s.script("/bomb/big.html", truncated, 200, func(c *wire) {
		filler := strings.Repeat("<p>More of a page that is far too long.</p>\n", 1500)
		times := (pageLimit + 1<<20) / len(filler)
		r := reply{status: 200, ctype: htmlType}
		head := string(appendHead(nil, &r, true))
		head = strings.Replace(head, "Content-Length: 0", fmt.Sprintf("Content-Length: %d", len(someHTML)+times*len(filler)), 1)
		if _, err := c.Write([]byte(head + someHTML)); err != nil {
			return
		}
		for range times {
			if _, err := c.Write([]byte(filler)); err != nil {
				return
			}
		}
	})
	bomb := gzipBomb() // made in advance, so that answering does not take the time
	s.enter(&resource{path: "/bomb/gzip.html", want: truncated, answer: func(*request, *buffer) reply {
		return reply{status: 200, ctype: htmlType, header: "Content-Encoding: gzip\r\n", body: bomb}
	}})
}
