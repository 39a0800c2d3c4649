package lenientjson

import (
	"bytes"
	"errors"
	"io"
	"math"
)

// Limits of a Reader.
const (
	// MaxEntry is how many bytes of an entry are kept, so that the entry can be left out. If more of
	// it was read, only its innermost member that is short enough can be left out.
	MaxEntry = 512 << 10
	// MaxDepth is how deep lists and objects may be nested, as in encoding/json.
	MaxDepth = 10_000

	maxAhead   = 64 << 10 // bytes of a comment, and of white space that is looked through
	maxWrap    = 4 << 10  // bytes before the JSON
	maxWord    = 256      // bytes of a word that stands for a value
	bufferSize = 64 << 10
)

// Reader reads text that is nearly JSON and yields strict JSON. Several documents in a row become
// one list, or, if the first is longer than MaxEntry, documents with a line end between them. It
// must not be used concurrently.
type Reader struct {
	in      io.Reader
	lists   func(name []byte) bool
	keep    int64 // MaxEntry
	started bool
	wide    wide

	buf     []byte // the input from base on
	pos     int    // of the next byte in buf
	base    int64  // bytes of the decoded input before buf
	raw     int64  // bytes of the input as it is before buf; only for wide
	hold    int64  // up to where nothing is removed from buf
	eof     bool
	err     error // of the input, except io.EOF
	pending error // err as soon as what was read before it is used

	out     []byte // strict JSON from outBase on
	outBase int64
	sent    int // bytes of out that the caller has

	levels []level // the document, and the lists and objects that are open
	state  state
	comma  bool   // the last token was a comma
	due    bool   // the next member needs a comma, which the input has not
	gone   bool   // the last member was left out
	last   kind   // of the last value
	name   []byte // of the current member, if it is short
	habits once   // problems that were noted

	textEnd    int64    // where the last value ends in the output, if it is a text
	unfinished bool     // the input ends in a text
	noEnd      [3]int64 // up to where no end of a line, of a comment and of one of HTML was found

	seen    bool // a document has begun
	wrapped bool // by an assignment or other text, so nothing may follow
	call    bool // by a call, whose bracket is still open
	many    bool // several documents have become a list
	docLost int  // members of the current document that were left out outside of lists
	docList bool // the current document has a list of entries
	done    bool
	report  Report
}

// level is one list or object that is open.
type level struct {
	kind  byte  // '{', '[', or 0 for the document
	frame bool  // a member of it that cannot be read is left out alone
	list  bool  // its members are entries
	n     int   // members in the output
	in    int64 // where the current member begins in the input
	out   int64 // where it begins in the output, with the comma before it
}

// state is what may follow.
type state byte

const (
	wantDocument state = iota // or the end, after a document
	wantValue                 // also ] in a list
	wantName                  // or }
	wantColon
	wantSeparator // a comma or the end of the list or object
)

// kind is the kind of a value.
type kind byte

const (
	kindOther kind = iota
	kindText
	kindBracket
)

// NewReader returns a Reader. lists says of which names the lists are lists of entries; nil means
// none. A document that is itself a list is always one.
func NewReader(in io.Reader, lists func(name []byte) bool) *Reader {
	return &Reader{in: in, lists: lists, keep: MaxEntry, hold: math.MaxInt64, levels: []level{{frame: true}}}
}

// Fix returns a document in memory as strict JSON: body itself if it is strict JSON already, nil if
// nothing of it can be read. What cannot be read in a document without a list of entries costs the
// whole document. Several documents in a row become one list. lists is as for NewReader.
func Fix(body []byte, lists func(name []byte) bool) ([]byte, Report) {
	r := NewReader(nil, lists)
	r.keep = math.MaxInt64 / 2
	if w := wideOf(body); w.unit == 0 {
		r.buf, r.eof = body, true
	} else {
		r.in = bytes.NewReader(body)
	}
	r.out = make([]byte, 0, len(body)+len(body)/16+64)
	for !r.done {
		r.step()
	}
	if r.report.Failed = r.report.Failed || r.top().n == 0; r.report.Failed {
		return nil, r.report
	}
	if r.report.Clean() {
		return body, r.report
	}
	return r.out, r.report
}

// Report describes what was odd in the input so far.
func (r *Reader) Report() Report { return r.report }

// Read returns strict JSON. Its error is one of the input, or io.EOF at the end. If the input cannot
// be read at all, there is no output and Report().Failed is set.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for ready := r.ready(); ; ready = r.ready() {
		switch {
		case ready > 0:
			n := copy(p, r.out[r.sent:r.sent+ready])
			r.sent += n
			return n, nil
		case r.err != nil:
			return 0, r.err
		case r.done:
			return 0, io.EOF
		}
		for from := len(r.out); !r.done && r.err == nil && len(r.out)-from < bufferSize/2; {
			r.step()
		}
	}
}

// ready returns how many bytes of the output cannot change any more and are not yet read. It makes
// room in the buffer.
func (r *Reader) ready() int {
	end := len(r.out)
	if !r.done {
		if l := r.oldest(); l != nil {
			end = int(l.out - r.outBase)
		}
	}
	if r.sent > bufferSize && r.sent > (len(r.out)-r.sent) {
		n := copy(r.out, r.out[r.sent:])
		r.out, r.outBase = r.out[:n], r.outBase+int64(r.sent)
		end -= r.sent
		r.sent = 0
	}
	return max(0, end-r.sent)
}

// oldest returns the outermost level whose current member is still in memory.
func (r *Reader) oldest() *level {
	from := r.at() - r.keep
	for i := range r.levels {
		if r.levels[i].in >= from {
			return &r.levels[i]
		}
	}
	return nil
}

// at is the position of the next byte in the decoded input.
func (r *Reader) at() int64 { return r.base + int64(r.pos) }

// outAt is the position of the next byte in the output.
func (r *Reader) outAt() int64 { return r.outBase + int64(len(r.out)) }

// offset returns the position in the input as it is of a position in the decoded input.
func (r *Reader) offset(at int64) int64 {
	if r.wide.unit == 0 {
		return at
	}
	n := r.raw
	for _, b := range r.buf[:at-r.base] {
		n += r.wide.width(b)
	}
	return n
}

// has reports whether n more bytes of the input are in the buffer, and reads them if necessary.
func (r *Reader) has(n int) bool {
	for len(r.buf)-r.pos < n {
		if !r.more() {
			return false
		}
	}
	return true
}

// more reads more of the input. It reports false at the end.
func (r *Reader) more() bool {
	if r.err = r.pending; r.eof || r.err != nil {
		return false
	}
	if !r.started {
		r.begin()
	}
	keep := min(r.at(), r.hold)
	if l := r.oldest(); l != nil {
		keep = min(keep, l.in)
	}
	if drop := int(keep - r.base); drop > 0 && (drop >= bufferSize || len(r.buf)+bufferSize > cap(r.buf)) {
		if r.wide.unit > 0 {
			r.raw = r.offset(keep)
		}
		r.buf = r.buf[:copy(r.buf, r.buf[drop:])]
		r.pos, r.base = r.pos-drop, keep
	}
	if cap(r.buf)-len(r.buf) < bufferSize {
		r.buf = append(make([]byte, 0, 2*len(r.buf)+2*bufferSize), r.buf...)
	}
	for range 100 {
		n, err := r.in.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if err == io.EOF {
			r.eof = true
		} else if err != nil {
			r.pending = err // after what was read
		}
		if n > 0 {
			return true
		}
		if err != nil {
			r.err = r.pending
			return false
		}
	}
	r.pending, r.err = io.ErrNoProgress, io.ErrNoProgress
	return false
}

// begin recognises the encoding of the input.
func (r *Reader) begin() {
	r.started = true
	first := make([]byte, 4)
	n, err := io.ReadFull(r.in, first)
	first = first[:n]
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		r.in = failing{err}
	}
	r.in = io.MultiReader(bytes.NewReader(first), r.in)
	if r.wide = wideOf(first); r.wide.unit > 0 {
		_, _ = io.CopyN(io.Discard, r.in, int64(r.wide.mark)) // it was read already
		r.raw = int64(r.wide.mark)
		r.in = &decoder{in: r.in, wide: r.wide}
		r.forgive(0, r.wide.name())
	}
}

// failing returns an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// forgive notes a problem that does no harm. at is in the decoded input.
func (r *Reader) forgive(at int64, what string) {
	if r.report.Repaired++; len(r.report.Forgiven) < maxProblems {
		r.report.Forgiven = append(r.report.Forgiven, Problem{r.offset(at), what})
	}
}

// lose notes that something was left out.
func (r *Reader) lose(at int64, what string) {
	if r.report.LeftOut++; len(r.report.Lost) < maxProblems {
		r.report.Lost = append(r.report.Lost, Problem{r.offset(at), what})
	}
}
