package lenientjson

// step reads one token, or leaves out an entry.
func (r *Reader) step() {
	if r.state != wantDocument {
		r.space()
	} else if !r.between() {
		return
	}
	if !r.has(1) {
		if r.err == nil {
			r.finish()
		} else {
			r.done = true
		}
		return
	}
	switch c := r.buf[r.pos]; r.state {
	case wantDocument, wantValue:
		r.value(c)
	case wantName:
		r.memberName(c)
	case wantColon:
		r.colon(c)
	case wantSeparator:
		r.separator(c)
	}
}

// top is the innermost list or object that is open, or the document.
func (r *Reader) top() *level { return &r.levels[len(r.levels)-1] }

// begins notes that a member of the innermost list or object begins, or the document.
func (r *Reader) begins() {
	l := r.top()
	if l.in = r.at(); !r.comma || r.due {
		l.out = r.outAt()
	}
	if r.due {
		r.put(',')
	}
	r.comma, r.due, r.gone = false, false, false
}

// ended notes that a value is complete.
func (r *Reader) ended(k kind) {
	l := r.top()
	l.n++
	if l.list {
		r.report.Entries++
	}
	r.last, r.state = k, wantSeparator
	if l.kind == 0 {
		r.state = wantDocument
		r.documentEnded()
	}
}

// value reads the beginning of a value, or all of it.
func (r *Reader) value(c byte) {
	l := r.top()
	switch {
	case l.kind == '[' && c == ',' || l.kind == '[' && c == ';':
		r.forgive(r.at(), "a comma too many")
		r.pos++
		return
	case l.kind == '[' && c == ']':
		r.close(c)
		return
	case l.kind == '[' && c == '}':
		r.mismatch(c)
		return
	case l.kind == '{' && (c == ',' || c == '}'):
		r.forgive(r.at(), "a missing value")
		r.out = append(r.out, "null"...)
		r.ended(kindOther)
		return
	}
	if l.kind != '{' {
		r.begins()
	}
	switch {
	case c == '{' || c == '[':
		r.open(c)
	case c == '"':
		r.pos++
		r.put('"')
		r.text(`"`)
	case c == '-' || isDigit(c):
		r.number()
	default:
		if q := r.quote(); q >= 0 {
			r.oddText(q)
			return
		}
		r.word()
	}
}

// open begins a list or an object.
func (r *Reader) open(c byte) {
	if len(r.levels) > MaxDepth {
		r.leave("lists and objects that are nested too deep", false)
		return
	}
	l := r.top()
	var next level
	next.kind, next.in, next.out = c, r.at()+1, r.outAt()+1
	switch {
	case l.kind == 0 && r.many:
	case l.kind == 0:
		next.frame, next.list = true, c == '['
	case c == '[' && l.kind == '{' && r.lists != nil && r.lists(r.name):
		next.frame, next.list = true, true
	case c == '{' && l.kind == '{':
		next.frame = l.frame
	}
	if next.list {
		r.docList = true
	}
	r.pos++
	r.put(c)
	r.levels = append(r.levels, next)
	if r.comma, r.state = false, wantName; c == '[' {
		r.state = wantValue
	}
}

// close ends a list or an object.
func (r *Reader) close(c byte) {
	if r.comma && !r.gone {
		r.forgive(r.at(), "a comma before "+string(rune(c)))
	}
	r.dropComma()
	r.pos++
	r.shut()
}

// dropComma removes a comma that no member follows.
func (r *Reader) dropComma() {
	l := r.top()
	if r.comma && !r.due && l.n > 0 {
		if l.out >= r.outBase+int64(r.sent) {
			r.out = r.out[:l.out-r.outBase]
		} else if l.kind == '[' { // the comma was read already
			r.out = append(r.out, "null"...)
		} else {
			r.out = append(r.out, `"":null`...)
		}
	}
	r.comma, r.due, r.gone = false, false, false
}

// shut ends the innermost list or object in the output.
func (r *Reader) shut() {
	if r.put(']'); r.top().kind == '{' {
		r.out[len(r.out)-1] = '}'
	}
	r.levels = r.levels[:len(r.levels)-1]
	r.ended(kindBracket)
}

// memberName reads the name of a member of an object.
func (r *Reader) memberName(c byte) {
	switch c {
	case ',', ';':
		r.forgive(r.at(), "a comma too many")
		r.pos++
		return
	case '}':
		r.close(c)
		return
	case ']':
		r.mismatch(c)
		return
	}
	r.begins()
	from := r.outAt()
	if c == '"' {
		r.pos++
		r.put('"')
		r.text(`"`)
		r.named(from)
		return
	}
	if q := r.quote(); q >= 0 {
		r.oddText(q)
		r.named(from)
		return
	}
	if end := r.prefixed(); end != "" {
		r.text(end)
		r.named(from)
		return
	}
	n := 0
	for r.has(n+1) && n < maxWord && isNameByte(r.buf[r.pos+n]) {
		n++
	}
	if n == 0 || n == maxWord {
		r.leave(found(r.buf[r.pos])+" where a name should be", false)
		return
	}
	r.forgiveOnce(onceNames, "names without quotes")
	r.put('"')
	r.out = append(append(r.out, r.buf[r.pos:r.pos+n]...), '"')
	r.pos += n
	r.state = wantColon
	r.named(from)
}

// named keeps the name that was read, from a position of the output on.
func (r *Reader) named(from int64) {
	if r.state != wantColon {
		return // it could not be read
	}
	r.name = r.name[:0]
	if i := from - r.outBase; i >= 0 && len(r.out)-int(i) <= maxWord {
		r.name = append(r.name, r.out[i+1:len(r.out)-1]...)
	}
}

func (r *Reader) colon(c byte) {
	switch {
	case c == ':':
		r.pos++
	case c == '=':
		r.forgive(r.at(), "= for a colon")
		if r.pos++; r.has(1) && r.buf[r.pos] == '>' {
			r.pos++
		}
	default:
		r.leave(found(c)+" where a colon should be", false)
		return
	}
	r.put(':')
	r.state = wantValue
}

// separator reads what follows a member of a list or of an object.
func (r *Reader) separator(c byte) {
	l := r.top()
	switch {
	case c == ',' || c == ';':
		if c == ';' {
			r.forgive(r.at(), "; for a comma")
		}
		if r.comma = true; r.gone {
			r.due = l.n > 0
		} else {
			l.out, l.in = r.outAt(), r.at()
			r.put(',')
		}
		r.pos++
		if r.state = wantValue; l.kind == '{' {
			r.state = wantName
		}
	case c == l.kind+2: // ] of [, } of {
		r.close(c)
	case c == ']' || c == '}':
		r.mismatch(c)
	case r.last == kindBracket && !r.gone && (c == '{' || c == '[' && l.kind == '[' || c == '"' && l.kind == '{'):
		r.forgive(r.at(), "a missing comma")
		l.out, l.in = r.outAt(), r.at()
		r.put(',')
		if r.comma, r.state = true, wantValue; l.kind == '{' {
			r.state = wantName
		}
	case c == '+' && r.last == kindText && l.n > 0 && !r.gone:
		r.joined()
	default:
		what := found(c) + " where a comma should be"
		if r.last == kindText && !r.gone {
			what = "an unescaped quote in a text, or a missing comma,"
		}
		r.giveUpLast(what)
	}
}

// mismatch reads a bracket that ends another list or object than the innermost one. Between entries
// it is one too many, or the bracket before it is missing. Within an entry the entry is left out.
func (r *Reader) mismatch(c byte) {
	l := r.top()
	what := string(rune(c))
	switch {
	case !l.frame:
		r.giveUpLast("a missing " + string(rune(l.kind+2)) + " before " + what)
	case l.kind == '[' && len(r.levels) > 2 && !r.goesOn():
		r.forgive(r.at(), "a missing ] before "+what)
		r.dropComma()
		r.shut()
	default:
		r.forgive(r.at(), "a "+what+" too many")
		r.pos++
	}
}

// goesOn reports whether after the next byte a comma and another entry of a list follow.
func (s *source) goesOn() bool {
	n := s.after(1)
	if n < 0 || s.buf[s.pos+n] != ',' {
		return false
	}
	n = s.after(n + 1)
	return n >= 0 && (s.buf[s.pos+n] == '{' || s.buf[s.pos+n] == '[')
}

// finish ends the output at the end of the input.
func (r *Reader) finish() {
	r.done = true
	if len(r.levels) > 1 || r.state != wantDocument {
		r.broken()
	}
	switch l := r.top(); {
	case r.report.Failed || r.many:
	case l.n == 0 && r.report.LeftOut == 0:
		r.lose(r.at(), "no JSON")
		r.report.Failed = true
	case l.n == 0:
		r.report.Failed = true
	}
	if r.report.Failed {
		r.out = r.out[:r.sent]
		return
	}
	if r.many {
		r.dropComma()
		r.put(']')
	}
}

// documentEnded notes that a document is complete. One that lost a member and has no list of
// entries is left out.
func (r *Reader) documentEnded() {
	l := r.top()
	if r.docLost > 0 && !r.docList {
		if at := l.out - r.outBase; at >= int64(r.sent) {
			r.out = r.out[:at]
			l.n--
		}
	}
	r.docLost, r.docList = 0, false
}
