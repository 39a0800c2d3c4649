package lenientjson

import "math"

// maxName is how long a name is at most by which the beginning of a member is recognised, in bytes.
const maxName = 64

// unit returns the number of the level whose current member is left out if it cannot be read: the
// innermost list of entries or object outside of them, if the member is still in memory. Otherwise
// it is the outermost of the levels in it whose member is. -1 means that there is none.
func (r *Reader) unit() int {
	for i := len(r.levels) - 1; i >= 0; i-- {
		if !r.levels[i].frame {
			continue
		}
		for ; i < len(r.levels); i++ {
			if l := &r.levels[i]; l.in >= r.at()-r.keep && l.out >= r.outBase+int64(r.sent) {
				return i
			}
		}
		break
	}
	return -1
}

// giveUpLast leaves out an entry because of the next byte, which follows a complete member.
func (r *Reader) giveUpLast(what string) { r.leave(what, !r.comma && !r.gone) }

// leave leaves out an entry. complete: the current member of the innermost level was counted.
func (r *Reader) leave(what string, complete bool) {
	if !r.rollBack(what, complete) {
		return
	}
	l := r.top()
	from := r.at()
	s := skipper{r: r, before: ','}
	comma := s.skip(l.kind)
	r.hold = math.MaxInt64
	if r.at() == from && r.has(1) {
		r.pos++
	}
	l.in, l.out = r.at(), r.outAt()
	r.comma, r.due, r.gone = comma, comma && l.n > 0, true
	switch {
	case l.kind == 0:
		r.state = wantDocument
	case !comma:
		r.state = wantSeparator
	case l.kind == '{':
		r.state = wantName
	default:
		r.state = wantValue
	}
}

// rollBack removes the entry from the output, and goes back to its beginning in the input. It
// reports false if the input cannot be read at all.
func (r *Reader) rollBack(what string, complete bool) bool {
	k := r.unit()
	if complete = complete && (k < 0 || k == len(r.levels)-1); complete && k >= 0 {
		r.top().n--
	}
	if k == 0 && !r.many && r.levels[0].n == 0 {
		r.fail(what)
		return false
	}
	r.lose(r.at(), what)
	if k < 0 {
		k = len(r.levels) - 1
		r.complete()
	} else {
		r.levels = r.levels[:k+1]
		l := r.top()
		if l.list && !complete {
			r.report.Entries++
		}
		r.out = r.out[:l.out-r.outBase]
		r.pos = int(l.in - r.base)
	}
	inList := false
	for _, l := range r.levels[:k+1] {
		inList = inList || l.list
	}
	if !inList {
		r.report.Outside++
		r.docLost++
	}
	return true
}

// complete completes a member in the output whose beginning the caller has already read.
func (r *Reader) complete() {
	switch {
	case r.state == wantColon:
		r.out = append(r.out, ":null"...)
		r.top().n++
	case r.state == wantValue && r.top().kind == '{':
		r.out = append(r.out, "null"...)
		r.top().n++
	}
}

// broken ends the output where the input ends in the middle.
func (r *Reader) broken() {
	r.report.Cut, r.report.End = true, r.offset(r.at())
	l := r.top()
	whole := !r.unfinished && (r.state == wantSeparator || r.state == wantName || r.state == wantValue && l.kind == '[')
	if !whole || !l.frame {
		if !r.rollBack("an entry that is cut", r.state == wantSeparator && !r.gone) {
			return
		}
		r.comma, r.due = false, false
	}
	for len(r.levels) > 1 {
		r.dropComma()
		r.shut()
	}
}

// skip passes over the rest of a member of a list or an object, from its beginning on, or over a
// document. It ends before the comma or the bracket after the member, or after the comma: then it
// reports true. In what cannot be read, a quote ends a text only before a comma, a colon, a bracket
// or the end. So it finds its way again after an unescaped quote, or after a missing one.
func (s *skipper) skip(kind byte) (comma bool) {
	r := s.r
	for r.has(1) {
		c := r.buf[r.pos]
		switch {
		case isSpace(c):
			if r.pos++; kind == 0 && c == '\n' && s.moved && r.has(1) && (r.buf[r.pos] == '{' || r.buf[r.pos] == '[') {
				return false // the next line is another document
			}
			continue
		case c == '"' || c == '\'' || c == '&':
			s.quote()
			continue
		case (c == ',' || c == ';') && len(s.open) == 0 && kind != 0:
			return false
		case c == '/' && s.before != ':' && s.comment():
			continue
		case c == '{' || c == '[':
			if c == '{' && s.before == ',' && len(s.open) > 0 && s.open[len(s.open)-1] == '{' {
				// The bracket that ends an object is missing before the comma.
				if s.open = s.open[:len(s.open)-1]; len(s.open) == 0 && kind != 0 {
					return true
				}
			}
			s.push(c)
		case c == ']' || c == '}':
			if len(s.open) == 0 && s.ends(c, kind) {
				return false
			}
			if s.pop(c, kind) {
				return false
			}
			if kind == 0 && len(s.open) == 0 {
				r.pos++
				return false
			}
		}
		s.before, s.moved = c, true
		r.pos++
	}
	return false
}

// skipper is the state of skip.
type skipper struct {
	r      *Reader
	open   []byte // brackets
	more   int    // brackets beyond MaxDepth
	before byte   // the last byte outside of texts that is no white space
	moved  bool
}

func (s *skipper) push(c byte) {
	if len(s.open) == MaxDepth {
		s.more++
		return
	}
	s.open = append(s.open, c)
}

// ends reports whether a bracket outside of the member ends its list or object.
func (s *skipper) ends(c, kind byte) bool {
	return kind != 0 && (c == kind+2 || kind == '[' && len(s.r.levels) > 2 && !s.r.goesOn())
}

// pop reads a bracket that ends something. Brackets that are missing before it count as read. It
// reports true if the bracket ends what the member is in.
func (s *skipper) pop(c, kind byte) bool {
	if s.more > 0 {
		s.more--
		return false
	}
	for i := len(s.open) - 1; i >= 0; i-- {
		if s.open[i] == c-2 {
			s.open = s.open[:i]
			return false
		}
	}
	return len(s.open) > 0 && kind == c-2
}

// quote reads a quote, and the text that it begins.
func (s *skipper) quote() {
	r := s.r
	n := s.length()
	begins := s.before == ',' || s.before == ':' || s.before == '[' || s.before == '{' || s.before == ';'
	single := n == 0 || r.buf[r.pos] == '\''
	if n == 0 {
		n = 1
	}
	quote := string(r.buf[r.pos : r.pos+n])
	s.before, s.moved = '"', true
	if !begins && (single || s.closes(n)) {
		r.pos += n
		return
	}
	if r.pos += n; single && quote == "&" {
		return
	}
	last, before := r.at(), byte(0) // behind the last quote, and the last byte in the text
	for r.has(1) {
		r.hold = max(last, r.at()-maxAhead)
		c := r.buf[r.pos]
		switch {
		case c == '\\':
			if r.pos++; r.has(1) {
				r.pos++
			}
		case c == quote[0] && r.has(n) && string(r.buf[r.pos:r.pos+n]) == quote:
			if s.closes(n) {
				r.pos += n
				return
			}
			if (before == '{' || before == ',') && r.hold == last && s.names(n) {
				r.pos = int(last - r.base) // the text has ended there
				return
			}
			r.pos += n
			last = r.at()
		default:
			r.pos++
		}
		if !isSpace(c) {
			before = c
		}
	}
	if r.hold == last && r.err == nil {
		r.pos = int(last - r.base) // no quote ends the text, so it has ended at the last one
	}
}

// names reports whether the quote at the next byte, n bytes long, begins the name of a member.
func (s *skipper) names(n int) bool {
	r := s.r
	quote := string(r.buf[r.pos : r.pos+n])
	for i := n; i < maxName && r.has(i+n); i++ {
		switch c := r.buf[r.pos+i]; {
		case c == quote[0] && string(r.buf[r.pos+i:r.pos+i+n]) == quote:
			at := r.after(i + n)
			return at >= 0 && r.buf[r.pos+at] == ':'
		case c < ' ' || c == '\\':
			return false
		}
	}
	return false
}

// length returns the length of the quote at the next byte, 0 if it is none.
func (s *skipper) length() int {
	if s.r.buf[s.r.pos] == '"' {
		return 1
	}
	if q := s.r.quote(); q >= 0 {
		return len(quotes[q].open)
	}
	return 0
}

// closes reports whether the quote at the next byte, n bytes long, may end a text.
func (s *skipper) closes(n int) bool {
	at := s.r.after(n)
	if at < 0 {
		return true
	}
	switch s.r.buf[s.r.pos+at] {
	case ',', ':', ']', '}', ';':
		return true
	}
	return false
}

func (s *skipper) comment() bool {
	r := s.r
	if !r.has(2) {
		return false
	}
	n := -1
	switch r.buf[r.pos+1] {
	case '/':
		n = r.lineEnd(2)
	case '*':
		n = r.until("*/", 2)
	}
	if n < 0 {
		return false
	}
	r.pos += n
	return true
}
