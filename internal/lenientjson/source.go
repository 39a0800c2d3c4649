package lenientjson

import (
	"bytes"
	"errors"
	"io"
)

// source is the part of the input that is in memory, and what was odd in it.
type source struct {
	in      io.Reader
	wide    wide
	started bool
	buf     []byte       // the input from base on
	pos     int          // of the next byte in buf
	base    int64        // bytes of the decoded input before buf
	raw     int64        // bytes of the input as it is before buf; only for wide
	hold    int64        // up to where nothing is removed from buf
	oldest  func() int64 // also up to where, of what may be left out
	eof     bool
	err     error    // of the input, except io.EOF
	pending error    // err as soon as what was read before it is used
	noEnd   [3]int64 // up to where no end of a line, of a comment and of one of HTML was found

	report Report
	habits once // problems that were noted
}

// at is the position of the next byte in the decoded input.
func (s *source) at() int64 { return s.base + int64(s.pos) }

// offset returns the position in the input as it is of a position in the decoded input.
func (s *source) offset(at int64) int64 {
	if s.wide.unit == 0 {
		return at
	}
	n := s.raw
	for _, b := range s.buf[:at-s.base] {
		n += s.wide.width(b)
	}
	return n
}

// has reports whether n more bytes of the input are in the buffer, and reads them if necessary.
func (s *source) has(n int) bool {
	for len(s.buf)-s.pos < n {
		if !s.more() {
			return false
		}
	}
	return true
}

// more reads more of the input. It reports false at the end.
func (s *source) more() bool {
	if s.err = s.pending; s.eof || s.err != nil {
		return false
	}
	if !s.started {
		s.begin()
	}
	keep := min(s.at(), s.hold, s.oldest())
	if drop := int(keep - s.base); drop > 0 && (drop >= bufferSize || len(s.buf)+bufferSize > cap(s.buf)) {
		if s.wide.unit > 0 {
			s.raw = s.offset(keep)
		}
		s.buf = s.buf[:copy(s.buf, s.buf[drop:])]
		s.pos, s.base = s.pos-drop, keep
	}
	if cap(s.buf)-len(s.buf) < bufferSize {
		s.buf = append(make([]byte, 0, 2*len(s.buf)+2*bufferSize), s.buf...)
	}
	for range 100 {
		n, err := s.in.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if err == io.EOF {
			s.eof = true
		} else if err != nil {
			s.pending = err // after what was read
		}
		if n > 0 {
			return true
		}
		if err != nil {
			s.err = s.pending
			return false
		}
	}
	s.pending, s.err = io.ErrNoProgress, io.ErrNoProgress
	return false
}

// begin recognises the encoding of the input.
func (s *source) begin() {
	s.started = true
	first := make([]byte, 4)
	n, err := io.ReadFull(s.in, first)
	first = first[:n]
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.in = failing{err}
	}
	s.in = io.MultiReader(bytes.NewReader(first), s.in)
	if s.wide = wideOf(first); s.wide.unit > 0 {
		_, _ = io.CopyN(io.Discard, s.in, int64(s.wide.mark)) // it was read already
		s.raw = int64(s.wide.mark)
		s.in = &decoder{in: s.in, wide: s.wide}
		s.forgive(0, s.wide.name())
	}
}

// forgive notes a problem that does no harm. at is in the decoded input.
func (s *source) forgive(at int64, what string) {
	if s.report.Repaired++; len(s.report.Forgiven) < maxProblems {
		s.report.Forgiven = append(s.report.Forgiven, Problem{s.offset(at), what})
	}
}

// lose notes that something was left out.
func (s *source) lose(at int64, what string) {
	if s.report.LeftOut++; len(s.report.Lost) < maxProblems {
		s.report.Lost = append(s.report.Lost, Problem{s.offset(at), what})
	}
}

// failing returns an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// lineEnd returns how far the end of the line is, or the end of the input, from n on. It returns -1
// if it is more than maxAhead bytes away.
func (s *source) lineEnd(n int) int {
	n = max(n, int(s.noEnd[0]-s.at()))
	for ; n < maxAhead; n++ {
		if !s.has(n+1) || s.buf[s.pos+n] == '\n' || s.buf[s.pos+n] == '\r' {
			return n
		}
	}
	s.noEnd[0] = s.at() + maxAhead
	return -1
}

// until returns how far the end of a mark is, from n on. It returns -1 if there is none in maxAhead
// bytes. Each byte is looked at once, however often this is asked.
func (s *source) until(mark string, n int) int {
	none := &s.noEnd[1]
	if mark[0] == '-' {
		none = &s.noEnd[2]
	}
	n = max(n, int(*none-s.at()))
	for ; n < maxAhead && s.has(n+len(mark)); n++ {
		if string(s.buf[s.pos+n:s.pos+n+len(mark)]) == mark {
			return n + len(mark)
		}
	}
	*none = s.at() + int64(n)
	return -1
}

// after returns how far from the next byte the first byte is that is no white space, from n on. It
// returns -1 at the end of the input, and after maxAhead bytes.
func (s *source) after(n int) int {
	for ; n < maxAhead && s.has(n+1); n++ {
		if !isSpace(s.buf[s.pos+n]) {
			return n
		}
	}
	return -1
}

// once are problems that are noted once in an input, because they are a habit of its author.
type once uint16

const (
	onceSpace once = 1 << iota
	onceQuotes
	onceNames
	onceMany
	onceZero
	oncePython
)

func (s *source) forgiveOnce(o once, what string) {
	if s.habits&o == 0 {
		s.habits |= o
		s.forgive(s.at(), what)
	}
}
