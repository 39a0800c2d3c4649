package agentserver

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/pagereader/robot"
)

// readPages runs the page reader of a crawl on documents, which are in the order of their paths. It
// ends with an error of emit, which gets each record.
func readPages(ctx context.Context, input []byte, docs []Document, emit func(record []byte) error) error {
	h := &host{input: input, docs: docs, emit: emit}
	err := robot.Run(h, time.Now())
	return errors.Join(h.failed, ctx.Err(), err)
}

// host is what the robot can do.
type host struct {
	input  []byte
	docs   []Document
	emit   func(record []byte) error
	failed error // of emit

	opened int // documents so far
	open   *Document
	rest   []byte // of its body
}

func (h *host) Input(offset int, buf []byte) int {
	return copy(buf, h.input[min(offset, len(h.input)):])
}

func (h *host) List(after []byte, buf []byte) (n int) {
	from := sort.Search(len(h.docs), func(i int) bool { return h.docs[i].Path > string(after) })
	for _, d := range h.docs[from:] {
		if n+len(d.Path)+1 > len(buf) {
			if n == 0 {
				return int(mobile.SmallBuffer)
			}
			break
		}
		n += copy(buf[n:], d.Path)
		buf[n] = 0
		n++
	}
	return n
}

func (h *host) Open(path []byte) int {
	i := sort.Search(len(h.docs), func(i int) bool { return h.docs[i].Path >= string(path) })
	if i == len(h.docs) || h.docs[i].Path != string(path) {
		return int(mobile.NotFound)
	}
	h.opened++
	h.open, h.rest = &h.docs[i], h.docs[i].Body
	return 0
}

func (h *host) Head(buf []byte) int {
	d := h.open
	if d == nil {
		return int(mobile.NotOpen)
	}
	b := []byte("Status: 200\n")
	if d.Type != "" {
		b = fmt.Appendf(b, "Content-Type: %s\n", d.Type)
	}
	b = fmt.Appendf(b, "Content-Length: %d\n", len(d.Body))
	for _, line := range d.Header {
		b = append(append(b, line...), '\n')
	}
	if len(b) > len(buf) {
		return int(mobile.SmallBuffer)
	}
	return copy(buf, b)
}

func (h *host) Read(buf []byte) int {
	if h.open == nil {
		return int(mobile.NotOpen)
	}
	n := copy(buf, h.rest)
	h.rest = h.rest[n:]
	return n
}

func (h *host) Emit(record []byte) int {
	if h.failed = h.emit(record); h.failed != nil {
		return int(mobile.AtLimit)
	}
	return 0
}

func (h *host) Log([]byte) {}
