package wire

import (
	"bytes"
	"net/netip"
	"sync"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/credentials"
)

// maxRecorded is how much of an answer is recorded: more fits into no message.
const maxRecorded = crawl.MaxPayloadBytes

// Recorder keeps what goes over a connection while a request is under way, for an archive: under
// TLS, before anything is decoded. Every byte of requests and answers passes through conn, one
// Write a request, so nothing is put together again from what was read of it.
type Recorder struct {
	mu              sync.Mutex // guards what follows
	request, answer []byte
	cut             bool // there was more of the answer
	turn            *recording
}

// recording is what a connection knows a request by, so that what it reads too late is not taken
// for the answer of the next one.
type recording struct{ r *Recorder }

// begin forgets what was recorded, and keeps a request.
func (r *Recorder) begin(p []byte) *recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cap(r.answer) > KeepBuffer {
		r.answer = nil
	}
	r.request, r.answer, r.cut, r.turn = append(r.request[:0], p...), r.answer[:0], false, &recording{r}
	return r.turn
}

// add keeps a piece of the answer.
func (t *recording) add(p []byte) {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn != t {
		return
	}
	if room := maxRecorded - len(r.answer); len(p) > room {
		p, r.cut = p[:room], true
	}
	r.answer = append(r.answer, p...)
}

// Recording is what went over the wire for a request.
type Recording struct {
	Request []byte     // head, without credentials
	Answer  []byte     // heads and body, and what may have come behind them
	Cut     bool       // there was more of the answer than is recorded
	Addr    netip.Addr // zero: only a proxy knows it
}

// Recorded returns what was recorded of the last request, which is over. It holds until the next.
// ok is false when nothing was recorded.
func (h *Session) Recorded() (rec Recording, ok bool) {
	if h.Recorder == nil || h.conn == nil || !h.used || !h.started.Load() {
		return rec, false
	}
	r := h.Recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	rec = Recording{Request: withoutCredentials(r.request, h.behind), Answer: r.answer, Cut: r.cut}
	if !unknownBlock.Contains(h.conn.addr) {
		rec.Addr = h.conn.addr
	}
	return rec, true
}

// secretFields are the header fields that no archive needs, and that others could use.
var secretFields = [][]byte{[]byte("authorization"), []byte("proxy-authorization"), []byte("cookie")}

// withoutCredentials is a head without the lines that hold credentials, also those that its site
// is shown.
func withoutCredentials(head []byte, site *credentials.Site) []byte {
	kept := make([]byte, 0, len(head))
	for line := range bytes.Lines(head) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		name = bytes.TrimSpace(name)
		secret := site != nil && site.Carries(string(name))
		for _, c := range secretFields {
			secret = secret || len(name) == len(c) && bytes.EqualFold(name, c)
		}
		if !secret {
			kept = append(kept, line...)
		}
	}
	return kept
}
