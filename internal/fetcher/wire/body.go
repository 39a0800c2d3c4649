package wire

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	// drainBytes is how much is read of a body that nobody wants, if it is likely to be that short.
	// That is less work for both sides than a new connection.
	drainBytes = 8 << 10
	// sniffBytes is how much of a body http.DetectContentType uses.
	sniffBytes = 512
)

// Wanted says what is to be read of an answer's body. It is decided from its head.
type Wanted struct {
	Limit int64 // decoded bytes; 0: nothing is read
	// Decide is called once, with the first bytes. If it returns false, nothing more is read; nil:
	// everything is.
	Decide func([]byte) bool
	// First is how many bytes Decide gets, unless there are fewer. 0 means the 512 by which a media
	// type is recognised.
	First int
	// Instead is called when Decide has returned true. If it returns something, the body is read as
	// that says, from its first byte; its Decide is not called. nil: it is read as this says.
	Instead func() *Wanted
	// Stream, if not nil, reads the body as it arrives instead, and nothing of it is kept. Its
	// error is the request's error. Without one it need not have read to the end.
	Stream func(io.Reader) error
	Raw    bool // Stream gets the bytes of the wire, undecoded, and however many they are
}

// WantFunc decides from the head of an answer what is read of its body.
type WantFunc = func(status int, header http.Header) Wanted

// Answer is the response to one request.
type Answer struct {
	Status    int
	Header    http.Header
	Body      []byte // valid until the next request
	Truncated bool   // there was more than the limit, or the body ended too early
	Unpacked  bool   // the body was compressed, and the header does not say so
	Skipped   int    // lines of the head that could not be read
	Framed    bool   // it says where its body ends
	Complete  bool   // it was read to the end
	// Lost is why the connection ended before a body that nobody wanted did; nil means that it did
	// not.
	Lost error
	Wire int64 // body bytes read from the wire
	At   time.Time
	Took time.Duration

	Credentials CredentialUse // whether credentials were sent
	CertWanted  bool          // the server asked for a certificate of ours, and was shown none
}

// Fetch sends one GET and reads its answer. Without an error the answer is complete, as far as it
// was wanted. With an error, its status is set if a head arrived. In every case the request has
// ended, and the gate knows.
//
// A connection of an earlier request that the server closed, before or just when our request
// arrived, means nothing for the URL. The request is sent once more, after the delay like any
// other. If a body cannot be decoded, the request is also sent once more, and asks for a body
// without an encoding.
func (h *Session) Fetch(u canon.URL, extra http.Header, want func(status int, header http.Header) Wanted) (Answer, error) {
	var first *undecoded
	for again := 0; ; again++ {
		a, err := h.exchange(u, extra, want)
		if first != nil {
			a.Wire += first.Wire
			if err == nil && a.Status >= 400 && a.Status <= 499 {
				return first.Answer, first.err // it exists, but not without an encoding
			}
		} else if errors.Is(err, errEncoding) && h.form == "" && a.Status >= 200 && a.Status <= 299 && h.Waiting.Err() == nil {
			// The site may have it without an encoding.
			first = &undecoded{a, err}
			extra = maps.Clone(extra)
			if extra == nil {
				extra = make(http.Header, 1)
			}
			extra.Set("Accept-Encoding", "identity")
			continue
		}
		if again >= 2 || !h.givenUp(a, err) || h.form != "" && h.started.Load() || h.Waiting.Err() != nil {
			return a, err
		}
		h.conn.Close()
	}
}

// undecoded is an answer whose body could not be decoded.
type undecoded struct {
	Answer
	err error
}

// givenUp reports whether the last request failed on a connection that had served before, without a
// byte of an answer and not because of us. It also reports a "408 Request Timeout": some servers
// send it on an idle connection, and for a robots.txt it must not count as "there is none".
func (h *Session) givenUp(a Answer, err error) bool {
	if h.conn == nil || !h.used || !h.reused || h.conn.fault.Load() != nil {
		return false
	}
	if err == nil || a.Status != 0 {
		return a.Status == http.StatusRequestTimeout
	}
	return !h.started.Load() || h.conn.got.Load() == 0
}

func (h *Session) exchange(u canon.URL, extra http.Header, want func(int, http.Header) Wanted) (a Answer, err error) {
	h.Memory.release()
	resp, err := h.send(u, extra)
	a.At = time.Now()
	if resp == nil {
		return a, err
	}
	a.Status, a.Header, a.Skipped = resp.Status, resp.Header, resp.Skipped
	h.inFlight.Status = a.Status
	a.Framed = resp.Length >= 0 || resp.Chunked
	complete, err := h.read(resp, want(resp.Status, resp.Header), &a)
	if complete && !(resp.Reusable() && resp.body.Complete() && h.buffers.in.Buffered() == 0 && h.conn.quiet()) {
		h.conn.Close() // the request has ended for the origin, too, and so has the connection
	}
	h.done(complete)
	a.Complete = complete
	a.Credentials = h.credentials
	if h.conn != nil {
		a.Took = time.Since(processStart) - time.Duration(h.conn.sent.Load())
		a.CertWanted = h.conn.certWanted
	}
	return a, err
}

// read reads a body into h.Buf, decoded, up to the limit. It reports whether the answer was read to
// its end, so that its connection can be used again.
func (h *Session) read(resp *reply, w Wanted, a *Answer) (complete bool, err error) {
	if resp.Status == http.StatusSwitchingProtocols {
		return false, nil // what follows is not HTTP
	}
	wire := &wireReader{r: resp.body}
	h.wire = wire
	defer func() { a.Wire, h.inFlight.Bytes, h.wire = wire.n, wire.n, nil }()
	if w.Raw {
		return wire.feed(wire, w.Stream)
	}
	if w.Limit <= 0 {
		// Bodies of redirects and errors are short, whether their length is announced or not. Any
		// other body may be endless.
		if n := resp.Length; n > drainBytes || n < 0 && resp.Status <= 299 {
			return false, nil
		}
		if complete = wire.drain(); !complete {
			a.Lost = wire.err
		}
		return complete, nil // it may be cut short, because nobody wants it
	}
	encoding := strings.Join(resp.Header["Content-Encoding"], ", ")
	// Compressed bytes that decode to nothing (empty blocks, empty members) must have an end, too.
	wire.limit = w.Limit + w.Limit/8 + 1<<16
	if w.Stream != nil { // it may decode once more, and then counts by itself
		return h.stream(wire, encoding, w.Stream)
	}
	u := &unpacker{h: h, wire: wire, encoding: encoding, limit: w.Limit}
	return u.readWhole(resp.Length, w, a)
}

// readWhole reads a body into the session's Buf, which makes it the body of a. length is that of
// the body as it comes over the wire, or -1. The results are those of Session.read.
func (u *unpacker) readWhole(length int64, w Wanted, a *Answer) (complete bool, err error) {
	h, wire, limit := u.h, u.wire, u.limit
	layers := len(codings(u.encoding))
	h.Buf = h.Buf[:0]
	if n := length; n > 0 && layers == 0 {
		if n = min(n, limit); n >= KeepBuffer {
			if err := h.Memory.takeBody(n, 0); err != nil {
				return false, err
			}
		}
		if int64(cap(h.Buf)) <= n {
			h.Buf = make([]byte, 0, Roomy(int(n+1)))
		}
	}
	defer u.close()
	r, err := u.open()
	if err != nil {
		return false, err
	}
	defer h.Memory.fitBody()
	asked, looked, first := w.Decide == nil, false, cmp.Or(w.First, sniffBytes)
	for {
		if len(h.Buf) >= KeepBuffer && h.Memory.body.claim == nil {
			again, err := u.grow(limit)
			if err != nil {
				return false, err
			}
			if again != nil {
				r, h.Buf, looked = again, h.Buf[:0], false
			}
		}
		if len(h.Buf) == cap(h.Buf) {
			h.Buf = slices.Grow(h.Buf, int(min(max(8<<10, int64(cap(h.Buf))), limit+1-int64(len(h.Buf)))))
		}
		n, err := r.Read(h.Buf[len(h.Buf):min(int64(cap(h.Buf)), u.upTo())])
		h.Buf = h.Buf[:len(h.Buf)+n]
		if !looked && (len(h.Buf) >= len(gzipMagic) || err != nil) {
			looked = true
			if layers < maxLayers && bytes.HasPrefix(h.Buf, gzipMagic) {
				// It is compressed and the header does not say so. Nobody could read it as it is.
				if r, err = u.unpack(io.MultiReader(bytes.NewReader(bytes.Clone(h.Buf)), r)); err != nil {
					return false, wire.blame(err)
				}
				h.Buf, a.Unpacked = h.Buf[:0], true
				continue
			}
		}
		if !asked && (len(h.Buf) >= first || err != nil) {
			asked = true
			if other := w.decided(h.Buf[:min(len(h.Buf), first)]); other != nil {
				return u.instead(other, r, err, a)
			}
		}
		switch {
		case int64(len(h.Buf)) > limit:
			a.Body, a.Truncated = h.Buf[:limit], true
			return err == io.EOF && wire.drain(), nil
		case err == io.EOF:
			a.Body = h.Buf
			return wire.drain(), nil
		case errors.Is(err, ErrWireLimit):
			a.Body, a.Truncated = h.Buf, true
			return false, nil
		case err != nil && wire.err == io.EOF && len(h.Buf) > 0 && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum)):
			if a.Body = h.Buf; !a.Framed { // the connection may have ended too early
				return false, io.ErrUnexpectedEOF
			}
			// The response is complete, but its compressed stream is not. Browsers show what there
			// is.
			a.Truncated = true
			return true, nil
		case err != nil:
			a.Body = h.Buf
			return false, wire.blame(fmt.Errorf("%w: %w", errEncoding, err))
		}
	}
}

// decided returns how a body with this beginning is read, or nil if it is read as w says.
func (w *Wanted) decided(first []byte) *Wanted {
	switch {
	case !w.Decide(first):
		return &Wanted{}
	case w.Instead == nil:
		return nil
	}
	return w.Instead()
}

// instead reads a body whose beginning is in the session's Buf as another Wanted says: as it
// arrives, or not at all. rest is the reader behind that beginning, and err is its last error.
func (u *unpacker) instead(w *Wanted, rest io.Reader, err error, a *Answer) (complete bool, _ error) {
	if w.Stream == nil || w.Limit <= 0 {
		return u.wire.err == io.EOF, nil
	}
	first := u.h.Buf
	if u.slot {
		// Whoever reads the body may wait for others. The decoder is not kept that long without
		// memory of its own.
		u.close()
		if err := u.h.Memory.takeBody(0, decoderMemory); err != nil {
			return false, err
		}
		if rest, err = u.open(); err == nil && a.Unpacked {
			rest, err = u.unpack(rest)
		}
		if err != nil {
			return false, u.wire.blame(err)
		}
		first = nil
	}
	u.wire.limit = w.Limit + w.Limit/8 + 1<<16
	if err != nil {
		rest = failing{err}
	}
	return u.wire.feed(&capped{io.MultiReader(&bytesReader{first}, rest), u.wire.limit}, w.Stream)
}

// failing is a reader that ended before.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// upTo returns how far the buffer may be filled now. An ordinary one is filled only up to the size
// that needs memory of the budget.
func (u *unpacker) upTo() int64 {
	if u.h.Memory.body.claim == nil {
		return min(u.limit+1, KeepBuffer)
	}
	return u.limit + 1
}

// stream passes a body to a function that reads it as it arrives.
func (h *Session) stream(wire *wireReader, encoding string, stream func(io.Reader) error) (complete bool, err error) {
	if heavy(encoding) {
		if err := h.Memory.takeBody(0, decoderMemory); err != nil {
			return false, err
		}
	}
	r, put, err := Decoder(wire, encoding)
	if err != nil {
		return false, wire.blame(err)
	}
	defer put()
	return wire.feed(&capped{r, wire.limit}, stream)
}

// CopyTo copies a body. It returns w's error apart from the body's.
func (h *Session) CopyTo(w io.Writer, body io.Reader) (n int64, failed, err error) {
	buf := make([]byte, 64<<10)
	for {
		m, err := body.Read(buf)
		if m > 0 {
			start := time.Now()
			k, failed := w.Write(buf[:m])
			h.PausedSince(start)
			if n += int64(k); failed != nil {
				return n, failed, nil
			}
		}
		if err == io.EOF {
			return n, nil, nil
		}
		if err != nil {
			return n, nil, err
		}
	}
}

// ErrWireLimit is why a body was not read to its end: its compressed bytes decode to almost
// nothing.
var ErrWireLimit = errors.New("the compressed page is larger than a page may be")

// wireReader reads a body as it comes over the wire, counts its bytes, and remembers why it ended.
type wireReader struct {
	r     io.Reader
	n     int64
	limit int64 // 0: none
	err   error
}

func (w *wireReader) Read(p []byte) (int, error) {
	if w.limit > 0 && w.n >= w.limit {
		return 0, ErrWireLimit
	}
	n, err := w.r.Read(p)
	w.n += int64(n)
	if err != nil {
		w.err = err
	}
	return n, err
}

// feed passes a body to a function that reads it as it arrives. An error of the connection is
// returned whatever the function makes of it.
func (w *wireReader) feed(body io.Reader, stream func(io.Reader) error) (complete bool, err error) {
	err = stream(body)
	switch {
	case w.err != nil && w.err != io.EOF:
		return false, w.err
	case err != nil:
		return false, err
	}
	return w.drain(), nil
}

// capped reads that many bytes and no more.
type capped struct {
	r    io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, ErrWireLimit
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// PausedSince is called when nothing was read since start, and not because of the origin. It has no
// effect if the answer was read to its end.
func (h *Session) PausedSince(start time.Time) {
	if d := time.Since(start); d > shortPause && h.wire != nil && h.wire.err == nil {
		h.conn.pause(d)
	}
}

// shortPause is a pause that need not be counted, because the windows of the limits are much
// longer.
const shortPause = 50 * time.Millisecond

// blame returns what really went wrong: a decoder that runs out of input only passes on that the
// connection failed.
func (w *wireReader) blame(err error) error {
	if w.err != nil && w.err != io.EOF {
		return w.err
	}
	return err
}

// drain reads the little that may be left of a body and reports whether that was all of it.
func (w *wireReader) drain() bool {
	if w.err != nil {
		return w.err == io.EOF
	}
	var buf [1024]byte
	for read := 0; read <= drainBytes; {
		n, err := w.r.Read(buf[:])
		read += n
		w.n += int64(n)
		if err != nil {
			w.err = err
			return err == io.EOF
		}
	}
	return false
}
