package warc

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// scan is what a Scanner knows of a record whose block is being read.
type scan struct {
	s       *Scanner
	ready   int64 // bytes of the block that can be read without a further decision
	rest    int64 // bytes of the block that Content-Length promises behind them, or -1
	tail    int   // line ends behind the block
	read    int64 // bytes of the block
	decided bool  // the block ends after ready bytes
	beyond  bool  // Content-Length reaches beyond the end of the file
	header  int   // bytes that its header could be longer
	odd     bool  // the record must be written again to be as it should be
}

// rewritten is how much longer Rewrite may make a header, in bytes.
const rewritten = 256

// Perfect reports whether the bytes of a record of a Scanner, Length from Offset, are the record as
// the standard has it. It is known after Close.
func (rec *Record) Perfect() bool {
	return rec.scan != nil && rec.done && rec.err == nil && !rec.scan.odd
}

func (rec *Record) odd(what string) {
	rec.scan.odd = true
	rec.scan.s.report(rec.Offset, what, false, true)
}

// head reads the version and the fields of a record. A record whose header breaks off is no record.
func (s *Scanner) head() (*Record, error) {
	rec := &Record{Offset: s.where(), scan: &scan{s: s}}
	if !s.known {
		s.packed, s.known = s.inside, true
	}
	if s.inside {
		if rec.Within = s.member.at(); s.found == 1 {
			s.report(s.begin, oddMember, false, true)
		}
		s.found++
	}
	switch {
	case s.packed && !s.inside:
		rec.odd(oddPlain)
	case !s.packed && s.inside:
		rec.odd(oddPacked)
	}
	what, err := rec.lines()
	switch {
	case err != nil:
		return nil, err
	case what != "":
		s.report(rec.Offset, what, true, true)
		return nil, nil
	}
	if rec.check(); rec.scan.odd && rec.scan.header < rewritten {
		s.report(rec.Offset, damLong, true, true)
		return nil, nil
	}
	return rec, nil
}

// lines reads the lines of a header. what is the damage.
func (rec *Record) lines() (what string, err error) {
	in, limit, strange, lf := rec.scan.s.in(), MaxHeader, false, false
	var folded []string // the continuation lines of the last field
	unfold := func() {
		if len(folded) > 0 {
			last := &rec.Fields[len(rec.Fields)-1]
			last.Value = strings.TrimSpace(last.Value + " " + strings.Join(folded, " "))
			folded = folded[:0]
		}
	}
	for first := true; ; first = false {
		if b, _ := in.br.Peek(headerWindow); !first && startsRecord(b) {
			return damHeader, nil
		}
		line, err := in.br.ReadSlice('\n')
		if limit -= len(line); limit < 0 {
			return damLong, nil
		}
		if err != nil {
			if err = rec.scan.s.member.src.err; rec.scan.s.inside && err != nil {
				return because(err), rec.scan.s.file.src.err
			}
			return damHeader, rec.scan.s.file.src.err
		}
		s, ok := strings.CutSuffix(string(line[:len(line)-1]), "\r")
		if !ok {
			lf = true
			limit-- // of the line as it is written again
		}
		switch {
		case first:
			if rec.Version = strings.TrimRight(s, " \t\r"); rec.Version != s {
				rec.odd(oddVersion)
			}
			continue
		case s == "":
			unfold()
			if lf {
				rec.odd(oddLF)
			}
			if strange {
				rec.odd(oddLine)
			}
			rec.scan.header = limit
			return "", nil
		case s[0] == ' ' || s[0] == '\t':
			if strange = strange || len(rec.Fields) == 0; len(rec.Fields) > 0 {
				if s = strings.TrimSpace(s); s != "" {
					folded = append(folded, s)
				}
			}
			continue
		}
		unfold()
		name, value, ok := strings.Cut(s, ":")
		if name = strings.TrimRight(name, " \t"); !ok || !isToken(name) {
			strange = true
			continue
		}
		rec.Fields = append(rec.Fields, Field{name, strings.Trim(value, " \t")})
	}
}

// check checks the fields, and finds out how long the block is.
func (rec *Record) check() {
	s := rec.scan.s
	size, err := strconv.ParseInt(rec.Get("Content-Length"), 10, 64)
	switch {
	case err != nil || size < 0:
		rec.scan.rest = -1
		rec.odd(oddNoLength)
	default:
		rec.Size, rec.scan.rest = size, size
		if !s.inside && s.size >= 0 && size > s.size-s.file.at() {
			rec.scan.rest, rec.scan.beyond = -1, true
		}
	}
	if _, strict, ok := date(rec.Get("WARC-Date")); !ok {
		s.report(rec.Offset, oddNoDate, false, false)
	} else if !strict {
		rec.odd(oddDate)
	}
	if rec.Get("WARC-Record-ID") == "" {
		rec.odd(oddNoID)
	}
	if rec.Type() == "" {
		s.report(rec.Offset, oddNoType, false, false)
	}
}

// readScan is Read for a record of a Scanner.
func (rec *Record) readScan(p []byte) (int, error) {
	for rec.scan.ready == 0 {
		if rec.scan.decided {
			return 0, io.EOF
		}
		if err := rec.decide(); err != nil {
			return 0, err
		}
	}
	n, err := rec.scan.s.in().br.Read(p[:min(int64(len(p)), rec.scan.ready)])
	rec.scan.ready -= int64(n)
	rec.scan.read += int64(n)
	if n > 0 {
		err = nil // ready bytes are in the window
	}
	return n, err
}

// fail ends a record that is damaged.
func (rec *Record) fail(what string) error {
	s := rec.scan.s
	if rec.done = true; s.file.src.err != nil {
		rec.err = s.file.src.err
		return rec.err
	}
	s.report(rec.Offset, what, true, true)
	rec.err = &damaged{rec.Offset, what}
	return rec.err
}

// damaged is the error of a damaged record.
type damaged struct {
	at   int64
	what string
}

func (d *damaged) Error() string {
	return ErrDamaged.Error() + " at byte " + strconv.FormatInt(d.at, 10) + ": " + d.what
}

func (d *damaged) Unwrap() error { return ErrDamaged }

// decide decides how many of the next bytes belong to the block.
func (rec *Record) decide() error {
	scan := rec.scan
	b, err := scan.s.in().br.Peek(2 * window)
	switch {
	case scan.s.file.src.err != nil:
		return rec.fail("")
	case scan.rest < 0:
		return rec.search(b, err)
	case err == nil && scan.rest > window:
		scan.ready = min(scan.rest, 2*window) - window
		scan.rest -= scan.ready
		return nil
	}
	return rec.settle(b, err)
}

// ends ends the block: what follows it up to next are line ends.
func (rec *Record) ends(end, next int) {
	rec.scan.ready, rec.scan.tail, rec.scan.decided = int64(end), next-end, true
	rec.Size = rec.scan.read + int64(end)
}

// next returns where the next record begins in the text that follows, at the beginning of a line,
// or -1.
func (rec *Record) next(b []byte, from int) int {
	return nextRecord(b, from, func(at int) bool { return at > 0 && b[at-1] == '\n' || at == 0 && rec.scan.read == 0 })
}

// withoutEnd returns the length of a text without the line ends of a record's end.
func withoutEnd(b []byte) int {
	for _, end := range []string{recordEnd, "\n\n", "\r\n", "\n"} {
		if bytes.HasSuffix(b, []byte(end)) {
			return len(b) - len(end)
		}
	}
	return len(b)
}

// search looks for the end of a block of unknown length: the next record, or the end of the text.
func (rec *Record) search(b []byte, err error) error {
	scan := rec.scan
	next := rec.next(b, 0)
	switch {
	case next >= 0:
		rec.ends(withoutEnd(b[:next]), next)
	case err == nil:
		scan.ready = int64(len(b) - headerWindow)
		return nil
	case err != io.EOF:
		return rec.fail(damMember)
	default:
		end := withoutEnd(b)
		promised := rec.Size
		if rec.ends(end, len(b)); scan.beyond && (len(b)-end != len(recordEnd) || promised-rec.Size > slack) {
			return rec.fail(damCut)
		}
		if scan.beyond {
			rec.odd(oddLength)
			return nil
		}
	}
	if scan.beyond {
		scan.odd = true
		scan.s.report(rec.Offset, damBeyond, true, true)
	}
	return nil
}

// slack is how wrong a Content-Length may be so that a beginning of a record near the end of the
// block counts more than others in it.
const slack = 16

// settle decides where a block ends whose length is known, near its end. b is what follows; err is
// nil unless b is the rest of the text.
func (rec *Record) settle(b []byte, err error) error {
	scan := rec.scan
	if scan.rest > int64(len(b)) {
		return rec.short(b, err)
	}
	end := int(scan.rest)
	next := end
	for next < len(b) && (b[next] == '\r' || b[next] == '\n') {
		next++
	}
	rest := b[next:]
	atEnd := err != nil && len(rest) == 0
	switch {
	case atEnd && err != io.EOF:
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			return rec.fail(because(err))
		}
		scan.odd = true
		rec.ends(end, next)
		scan.s.report(rec.Offset, damNoSum, true, true)
		return nil
	case atEnd, startsRecord(rest), !scan.s.inside && startsMember(rest), len(rest) > 0 && rest[0] == 0:
		rec.follows(b, end, next)
		return nil
	case bytes.HasPrefix(b[end:], []byte(recordEnd)):
		rec.ends(end, end+len(recordEnd)) // what follows belongs to no record
		return nil
	}
	if scan.s.budget -= int64(len(b)); scan.s.budget >= 0 {
		near := rec.next(b, max(end-slack, 0))
		if near < 0 || near > end+slack {
			near = rec.next(b, 0)
		}
		if near >= 0 {
			rec.ends(withoutEnd(b[:near]), near)
			rec.odd(oddLength)
			return nil
		}
	}
	switch {
	case err == io.EOF:
		rec.ends(withoutEnd(b), len(b))
		rec.odd(oddLength)
	case err != nil:
		return rec.fail(because(err))
	default:
		scan.odd = true // it has no end
		rec.ends(end, end)
	}
	return nil
}

// follows ends a block before line ends that another record, or the end, follows.
func (rec *Record) follows(b []byte, end, next int) {
	swallowed := 0 // line ends that Content-Length counts as part of the block
	if end > 0 && end < next && b[end] == '\n' && b[end-1] == '\r' {
		if swallowed = 1; bytes.HasSuffix(b[:end], []byte("\r\n\r")) {
			swallowed = 3
		}
	}
	rec.ends(end-swallowed, next)
	switch between := string(b[end-swallowed : next]); {
	case swallowed > 0:
		rec.odd(oddLength)
	case between == recordEnd:
	case between == "\n\n" && rec.scan.odd: // reported as LF
	default:
		rec.odd(oddEnd)
	}
}

// short ends a block whose text ends before its Content-Length does.
func (rec *Record) short(b []byte, err error) error {
	if next := rec.next(b, 0); next >= 0 {
		rec.ends(withoutEnd(b[:next]), next)
		rec.odd(oddLength)
		return nil
	}
	if err != io.EOF {
		return rec.fail(because(err))
	}
	end := withoutEnd(b)
	switch whole := len(b)-end == len(recordEnd); {
	case whole:
		rec.ends(end, len(b))
		rec.odd(oddLength)
	case rec.scan.s.inside:
		rec.ends(end, len(b))
		rec.scan.odd = true
		rec.scan.s.report(rec.Offset, damShort, true, true)
	default:
		return rec.fail(damCut)
	}
	return nil
}

// because is the damage that an error of a gzip member means.
func because(err error) string {
	switch {
	case errors.Is(err, gzip.ErrChecksum):
		return damChecksum
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return damCut
	}
	return damMember
}

// closeScan is Close for a record of a Scanner.
func (rec *Record) closeScan() error {
	if _, err := io.Copy(io.Discard, rec); err != nil {
		return err
	}
	s, in := rec.scan.s, rec.scan.s.in()
	if _, err := in.br.Discard(rec.scan.tail); err != nil {
		return rec.fail(damCut)
	}
	rec.done, s.lost, s.hidden = true, false, false
	if !s.inside {
		rec.Length = in.at() - rec.Offset
		return nil
	}
	_, err := in.br.Peek(1)
	if s.file.src.err != nil {
		rec.err = s.file.src.err
		return rec.err
	}
	if rec.Within > 0 || err == nil {
		rec.scan.odd = true // it has no member of its own
		rec.Length = in.at() - rec.Within
		return nil
	}
	if err != io.EOF {
		s.lost = true // it was reported
	}
	rec.Length = s.file.at() - rec.Offset
	return nil
}
