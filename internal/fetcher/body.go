package fetcher

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	// drainBytes is how much of a body nobody wants is read, when it is likely to be that short: less work for both sides
	// than a new connection.
	drainBytes = 8 << 10
	// sniffBytes is how much of a body http.DetectContentType looks at.
	sniffBytes = 512
	// keepBuffer is the largest buffer kept from one page to the next.
	keepBuffer = 1 << 20
	// maxLarge is how many pages larger than that are in memory at once, each several times over while it is worked on.
	maxLarge = 8
)

// wanted says what is wanted of an answer's body, from its head.
type wanted struct {
	limit  int64             // decoded bytes; 0 = nothing
	decide func([]byte) bool // asked once, with the first bytes; false: nothing more is wanted. nil: all is
	// stream, if not nil, reads the body instead, as it comes: nothing of it is kept. What it returns is the request's error; without
	// one it need not have read to the end.
	stream func(io.Reader) error
	raw    bool // stream wants the bytes of the wire, whatever their encoding and however many
}

// answer is what came back for one request.
type answer struct {
	status    int
	header    http.Header
	body      []byte // holds until the next fetch
	truncated bool   // there was more than the limit
	unwanted  bool   // decide said no
	framed    bool   // it says where its body ends
	wire      int64  // body bytes read from the wire
	at        time.Time
	took      time.Duration
}

// fetch sends one GET and reads its answer. Without an error the answer is complete, as far as it was wanted; with one,
// its status is set if a head came. In every case the request is over and the gate knows.
//
// A connection kept from earlier that the server gave up, before or just when our request arrived, tells nothing about
// the URL: the request is sent once more, after the delay like any other.
func (h *hold) fetch(u canon.URL, extra http.Header, want func(status int, header http.Header) wanted) (answer, error) {
	for again := 0; ; again++ {
		a, err := h.exchange(u, extra, want)
		if again >= 2 || !h.givenUp(a, err) || h.form != "" && h.started.Load() || h.waiting.Err() != nil {
			return a, err
		}
		h.conn.Close()
	}
}

// givenUp reports whether the last request failed on a connection that had served before, without a byte of answer and for
// no reason of ours, or was answered by "408 Request Timeout": what some servers say to a connection at rest, and a robots.txt
// that is not there would be quite another thing.
func (h *hold) givenUp(a answer, err error) bool {
	if h.conn == nil || !h.used || !h.reused || h.conn.fault.Load() != nil {
		return false
	}
	if err == nil || a.status != 0 {
		return a.status == http.StatusRequestTimeout
	}
	return !h.started.Load() || h.conn.got.Load() == 0
}

func (h *hold) exchange(u canon.URL, extra http.Header, want func(int, http.Header) wanted) (a answer, err error) {
	h.letGo()
	resp, err := h.send(u, extra)
	a.at = time.Now()
	if resp == nil {
		return a, err
	}
	a.status, a.header = resp.StatusCode, resp.Header
	a.framed = resp.ContentLength >= 0 || len(resp.TransferEncoding) > 0
	complete, err := h.read(resp, want(resp.StatusCode, resp.Header), &a)
	if !complete {
		h.conn.Close() // before Body.Close, which would leave it to another goroutine
	}
	resp.Body.Close()
	h.done(complete)
	if h.conn != nil {
		a.took = time.Since(processStart) - time.Duration(h.conn.sent.Load())
	}
	return a, err
}

// read reads a body into h.buf, decoded, up to what is wanted. It reports whether the answer was read to its end, so
// that its connection can serve again.
func (h *hold) read(resp *http.Response, w wanted, a *answer) (complete bool, err error) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return false, nil // what follows is no HTTP
	}
	wire := &wireReader{r: resp.Body}
	h.wire = wire
	defer func() { a.wire, h.wire = wire.n, nil }()
	if w.raw {
		return wire.feed(wire, w.stream)
	}
	if w.limit <= 0 {
		// What a redirect or an error says is short, whether it tells its length or not; anything else may be endless.
		if n := resp.ContentLength; n > drainBytes || n < 0 && resp.StatusCode <= 299 {
			return false, nil
		}
		return wire.drain(), nil // that it may be cut short does not matter: nobody wants it
	}
	encoding := strings.Join(resp.Header["Content-Encoding"], ", ")
	r, put, err := decoder(wire, encoding)
	if err != nil {
		return false, wire.blame(err)
	}
	defer put()
	// Compressed bytes without effect (empty blocks, empty members) must not go on for ever either.
	wire.limit = w.limit + w.limit/8 + 1<<16
	if w.stream != nil { // which may decode once more, and counts then
		return wire.feed(&capped{r, wire.limit}, w.stream)
	}
	h.buf = h.buf[:0]
	if n := resp.ContentLength; n > 0 && n <= min(w.limit, keepBuffer) && encoding == "" && int64(cap(h.buf)) <= n {
		h.buf = make([]byte, 0, n+1)
	}
	asked := w.decide == nil
	for {
		if len(h.buf) >= keepBuffer && !h.large {
			if err := h.takeLarge(); err != nil {
				return false, err
			}
		}
		if len(h.buf) == cap(h.buf) {
			h.buf = append(h.buf, make([]byte, max(8<<10, cap(h.buf)))...)[:len(h.buf)]
		}
		n, err := r.Read(h.buf[len(h.buf):min(int64(cap(h.buf)), w.limit+1)])
		h.buf = h.buf[:len(h.buf)+n]
		if !asked && (len(h.buf) >= sniffBytes || err != nil) {
			asked = true
			if !w.decide(h.buf[:min(len(h.buf), sniffBytes)]) {
				a.unwanted = true
				return false, nil
			}
		}
		switch {
		case int64(len(h.buf)) > w.limit:
			a.body, a.truncated = h.buf[:w.limit], true
			return err == io.EOF && wire.drain(), nil
		case err == io.EOF:
			a.body = h.buf
			return wire.drain(), nil
		case errors.Is(err, errWireLimit):
			a.body, a.truncated = h.buf, true
			return false, nil
		case err != nil:
			a.body = h.buf
			return false, wire.blame(fmt.Errorf("%w: %w", errEncoding, err))
		}
	}
}

// takeLarge waits until there is memory for a large page. Its origin is not to blame for that: the time counts against
// no limit.
func (h *hold) takeLarge() error {
	start := time.Now()
	select {
	case h.c.large <- struct{}{}:
		h.large = true
		h.pausedSince(start)
		return nil
	case <-h.ctx.Done():
		return h.ctx.Err()
	}
}

// letGo gives back the memory of a large page.
func (h *hold) letGo() {
	if h.large {
		h.large, h.buf = false, nil
		<-h.c.large
	}
}

var errWireLimit = errors.New("more compressed bytes than a page may have")

// wireReader reads a body as it comes over the wire, counts, and remembers why it ended.
type wireReader struct {
	r     io.Reader
	n     int64
	limit int64 // 0: none
	err   error
}

func (w *wireReader) Read(p []byte) (int, error) {
	if w.limit > 0 && w.n >= w.limit {
		return 0, errWireLimit
	}
	n, err := w.r.Read(p)
	w.n += int64(n)
	if err != nil {
		w.err = err
	}
	return n, err
}

// feed hands a body to whoever reads it as it comes. What broke the wire is told, whatever the reader makes of it.
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

// capped reads so many bytes and no more.
type capped struct {
	r    io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errWireLimit
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// pausedSince says that nothing was read since start, for no fault of the origin's. An answer that has come to its end is not ours to
// hold up any more: net/http looks after its connection.
func (h *hold) pausedSince(start time.Time) {
	if d := time.Since(start); d > shortPause && h.wire != nil && h.wire.err == nil {
		h.conn.pause(d)
	}
}

// shortPause is what need not be told: the windows of the limits are much longer.
const shortPause = 50 * time.Millisecond

// blame returns what really went wrong: a decoder that runs out of input only passes on that the wire broke.
func (w *wireReader) blame(err error) error {
	if w.err != nil && w.err != io.EOF {
		return w.err
	}
	return err
}

// drain reads what little may be left of a body and reports whether that was all of it.
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
			return err == io.EOF
		}
	}
	return false
}
