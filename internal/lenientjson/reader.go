package lenientjson

import (
	"bytes"
	"io"
	"math"
)

// Limits of a Reader.
const (
	// MaxEntry is how many bytes of an entry are kept, so that the entry can be left out. If more
	// of it was read, only its innermost member that is short enough can be left out.
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
	transcriber
	lists func(name []byte) bool
	keep  int64 // MaxEntry

	levels []level // the document, and the lists and objects that are open
	state  state
	comma  bool   // the last token was a comma
	due    bool   // the next member needs a comma, which the input has not
	gone   bool   // the last member was left out
	last   kind   // of the last value
	name   []byte // of the current member, if it is short

	textEnd    int64 // where the last value ends in the output, if it is a text
	unfinished bool  // the input ends in a text

	seen    bool // a document has begun
	wrapped bool // by an assignment or other text, so nothing may follow
	call    bool // by a call, whose bracket is still open
	many    bool // several documents have become a list
	docLost int  // members of the current document that were left out outside of lists
	docList bool // the current document has a list of entries
	done    bool
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
	r := &Reader{lists: lists, keep: MaxEntry, levels: []level{{frame: true}}}
	r.in, r.hold = in, math.MaxInt64
	r.oldest = func() int64 {
		if l := r.removable(); l != nil {
			return l.in
		}
		return math.MaxInt64
	}
	return r
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

// Read returns strict JSON. Its error is one of the input, or io.EOF at the end. If the input
// cannot be read at all, there is no output and Report().Failed is set.
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
		if l := r.removable(); l != nil {
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

// removable returns the outermost level whose current member is still in memory.
func (r *Reader) removable() *level {
	from := r.at() - r.keep
	for i := range r.levels {
		if r.levels[i].in >= from {
			return &r.levels[i]
		}
	}
	return nil
}
