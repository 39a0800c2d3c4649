package warc

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
)

const (
	// window is how far before and behind the end of a block a Scanner looks for the beginning of
	// the next record, in bytes.
	window = 64 << 10
	// searches is how often a file is read in total to find records behind damage.
	searches = 16
	// again is how many bytes more of it: in a small file, each time costs a window.
	again = 64 << 20
)

// Scanner reads a WARC file by any program, and goes on behind whatever is odd or damaged in it. It
// needs memory for two windows, whatever the file. A [Reader] reads our own files, and accepts
// nothing that we do not write. It is not safe for concurrent use.
//
// What the standard does not have and others read is read: several records in a gzip member, other
// line ends, lengths that are wrong, dates in other forms. Behind damage it goes on at the next
// gzip member or version line. If the reader can seek, it goes back for that, but reads no more
// than a bounded multiple of the file. Whether records behind damage are the text of a damaged
// record cannot be known: each time it is reported as damage.
type Scanner struct {
	// Report, if it is not nil, is called for each oddity, before Next returns or Close of the
	// record returns.
	Report func(Oddity)

	seek   io.Seeker // nil: the file cannot be read again
	size   int64     // of the file, or -1
	file   text
	member text // in a gzip member
	z      *gzip.Reader
	begin  int64 // of the member
	inside bool  // of the member
	found  int   // records in the member
	packed bool  // records should be in gzip members
	known  bool  // packed was decided
	lost   bool  // damage was reported, and no record came since then
	ended  bool
	hidden bool  // a gzip member is damaged: up to the next one, a version line may be its text
	budget int64 // of bytes that are read again, or searched
	cur    *Record
	damage error
}

// text is a text that is read with a window.
type text struct {
	src counter
	br  *bufio.Reader
}

func (t *text) reset(r io.Reader) {
	t.src = counter{r: r}
	if t.br == nil {
		t.br = bufio.NewReaderSize(&t.src, 2*window)
		return
	}
	t.br.Reset(&t.src)
}

func (t *text) at() int64 { return t.src.n - int64(t.br.Buffered()) }

// NewScanner returns a Scanner of r. A name that ends in .gz says that records should be packed. If
// r is an io.Seeker, r must be at its beginning.
func NewScanner(r io.Reader, name string) *Scanner {
	s := &Scanner{size: -1, budget: 1 << 40}
	if seek, ok := r.(io.Seeker); ok {
		if size, err := seek.Seek(0, io.SeekEnd); err == nil {
			if _, err := seek.Seek(0, io.SeekStart); err == nil {
				s.seek, s.size, s.budget = seek, size, searches*size+again
			}
		}
	}
	if strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".gz.open") {
		s.packed, s.known = true, true
	}
	s.file.reset(r)
	return s
}

// Damage is the first damage that was found so far, as an error that wraps ErrDamaged, or nil.
func (s *Scanner) Damage() error { return s.damage }

// Packed reports whether each record should be a gzip member.
func (s *Scanner) Packed() bool { return s.packed }

func (s *Scanner) report(at int64, what string, damage, mends bool) {
	if damage {
		if s.lost = true; s.damage == nil {
			s.damage = fmt.Errorf("%w at byte %d: %s", ErrDamaged, at, what)
		}
	}
	if s.Report != nil {
		s.Report(Oddity{at, what, damage, mends})
	}
}

func (s *Scanner) odd(what string)    { s.report(s.where(), what, false, true) }
func (s *Scanner) broken(what string) { s.report(s.where(), what, true, true) }

// where is the position in the file: in a member, where the member begins.
func (s *Scanner) where() int64 {
	if s.inside {
		return s.begin
	}
	return s.file.at()
}

func (s *Scanner) in() *text {
	if s.inside {
		return &s.member
	}
	return &s.file
}

// Next returns the next record, or io.EOF after the last one. It closes the previous one. Any other
// error is a read error. Damage is no error of Next: a damaged record whose header can be read is
// returned, and its Close returns an error that wraps ErrDamaged.
func (s *Scanner) Next() (*Record, error) {
	if s.cur != nil {
		err := s.cur.Close()
		if s.cur = nil; err != nil && !errors.Is(err, ErrDamaged) {
			return nil, err
		}
	}
	for !s.ended {
		rec, err := s.step()
		if rec != nil || err != nil {
			s.cur = rec
			return rec, err
		}
	}
	return nil, io.EOF
}

// step reads one thing between records, or the header of a record.
func (s *Scanner) step() (*Record, error) {
	in := s.in()
	b, _ := in.br.Peek(headerWindow)
	if s.file.src.err != nil {
		return nil, s.file.src.err
	}
	switch {
	case len(b) == 0 && s.inside:
		return nil, s.leave()
	case len(b) == 0:
		s.ended = true
	case b[0] == '\r' || b[0] == '\n':
		s.odd(oddBetween)
		return nil, s.skip("\r\n")
	case b[0] == 0:
		s.odd(oddZeros)
		return nil, s.skip("\x00")
	case startsRecord(b) && (s.inside || !s.hidden):
		return s.head()
	case !s.inside && startsMember(b):
		return nil, s.enter()
	case !s.inside && (strings.HasPrefix(string(b), "\x28\xb5\x2f\xfd") || len(b) > 3 && b[0]&0xf0 == 0x50 && string(b[1:4]) == "\x2a\x4d\x18"):
		s.report(s.where(), damZstd, true, false)
		s.ended = true
	case s.where() == 0 && strings.HasPrefix(string(b), "filedesc:"):
		s.report(s.where(), damARC, true, false)
		s.ended = true
	default:
		return nil, s.resync()
	}
	return nil, nil
}

// skip skips bytes of a set.
func (s *Scanner) skip(set string) error {
	in := s.in()
	for {
		c, err := in.br.ReadByte()
		if err != nil {
			return s.file.src.err // the end is for the next step
		}
		if strings.IndexByte(set, c) < 0 {
			return in.br.UnreadByte()
		}
	}
}

// resync skips at least one byte, up to the next record or gzip member.
func (s *Scanner) resync() error {
	if !s.lost {
		s.broken(damGarbage)
	}
	in := s.in()
	for from := 1; ; {
		b, err := in.br.Peek(2 * window)
		at := nextRecord(b, min(from, len(b)), func(int) bool { return s.inside || !s.hidden })
		if !s.inside {
			for i := min(from, len(b)); i < len(b) && (at < 0 || i < at); i++ {
				if startsMember(b[i:]) {
					at = i
				}
			}
		}
		switch {
		case at >= 0:
			in.br.Discard(at)
			return nil
		case err != nil:
			in.br.Discard(len(b))
			return s.file.src.err
		}
		in.br.Discard(len(b) - headerWindow)
		from = 0
	}
}

// enter begins a gzip member.
func (s *Scanner) enter() error {
	at := s.file.at()
	var err error
	if s.z == nil {
		s.z, err = gzip.NewReader(s.file.br)
	} else {
		err = s.z.Reset(s.file.br)
	}
	if err != nil {
		if s.file.src.err != nil {
			return s.file.src.err
		}
		if !s.lost {
			s.report(at, damMember, true, true)
		}
		return s.back(at + 1)
	}
	s.z.Multistream(false)
	s.member.reset(s.z)
	s.inside, s.begin, s.found = true, at, 0
	if !s.known {
		s.packed, s.known = true, true
	}
	return nil
}

// leave ends a gzip member.
func (s *Scanner) leave() error {
	s.inside = false
	err, begin := s.member.src.err, s.begin
	s.begin = -1 // of no member
	switch {
	case s.file.src.err != nil:
		return s.file.src.err
	case err == nil:
		if s.found == 0 && s.member.src.n == 0 {
			s.report(begin, oddEmpty, false, true)
		}
		return nil
	case errors.Is(err, gzip.ErrChecksum):
		if !s.lost {
			s.report(begin, damChecksum, true, true)
		}
		return nil // the next one follows
	case !s.lost:
		s.report(begin, damMember, true, true)
	}
	return s.back(begin + 1)
}

// back goes back to a position of the file, and from there to the next record or member.
func (s *Scanner) back(to int64) error {
	s.lost, s.hidden = true, true // it was reported
	if s.seek == nil {
		return s.resync()
	}
	if s.budget -= s.file.src.n - to; s.budget < 0 {
		s.report(to, damSearched, true, false)
		s.ended = true
		return nil
	}
	if _, err := s.seek.Seek(to, io.SeekStart); err != nil {
		return err
	}
	s.file.reset(s.file.src.r)
	s.file.src.n = to
	if b, _ := s.file.br.Peek(headerWindow); startsMember(b) {
		return nil
	}
	return s.resync()
}

// At returns the record with which the file begins, or the one in its first gzip member that has so
// many bytes before it there. The error wraps ErrDamaged if there is no record.
func (s *Scanner) At(within int64) (*Record, error) {
	none := &damaged{0, "no record begins there"}
	if b, _ := s.file.br.Peek(headerWindow); startsMember(b) {
		if err := s.enter(); err != nil {
			return nil, err
		}
		if !s.inside {
			return nil, none
		}
	}
	in := s.in()
	if _, err := io.CopyN(io.Discard, in.br, within); err != nil {
		return nil, cmp.Or(s.file.src.err, error(none))
	}
	if b, _ := in.br.Peek(headerWindow); !startsRecord(b) {
		return nil, cmp.Or(s.file.src.err, error(none))
	}
	rec, err := s.head()
	if rec == nil && err == nil {
		err = none
	}
	s.cur = rec
	return rec, err
}
