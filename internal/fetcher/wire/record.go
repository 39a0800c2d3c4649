package wire

import (
	"bytes"
	"net/netip"
	"sync"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/credentials"
)

// maxRecorded is how much of an answer is recorded. More does not fit into a message.
const maxRecorded = crawl.MaxPayloadBytes

// Recorder records what goes over a connection while a request is running, for an archive: inside
// TLS, before anything is decoded. Every byte of requests and answers passes through conn, with one
// Write for a request, so nothing has to be reconstructed.
type Recorder struct {
	mu              sync.Mutex // guards the fields below
	request, answer []byte
	cut             bool // there was more of the answer
	turn            *recording
}

// recording identifies a request to its connection. What the connection reads too late is then not
// taken for the answer to the next one.
type recording struct{ r *Recorder }

// begin removes what was recorded, and records a request.
func (r *Recorder) begin(p []byte) *recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cap(r.answer) > KeepBuffer {
		r.answer = nil
	}
	r.request, r.answer, r.cut, r.turn = append(r.request[:0], p...), r.answer[:0], false, &recording{r}
	return r.turn
}

// add records a part of the answer.
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
	Answer  []byte     // heads and body, and anything that came after them
	Cut     bool       // there was more of the answer than is recorded
	Addr    netip.Addr // zero: only a proxy knows it
}

// Recorded returns what was recorded of the last request, which has ended. It is valid until the
// next request. ok is false if nothing was recorded.
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

// secretFields are the header fields that an archive does not need, and that others could misuse.
var secretFields = [][]byte{[]byte("authorization"), []byte("proxy-authorization"), []byte("cookie")}

// withoutCredentials returns a head without the lines that contain credentials, including those of
// the site.
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
