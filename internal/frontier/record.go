package frontier

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// record is what the frontier keeps of one URL. It holds the text itself: that settles hash collisions, answers
// `curtsy explain`, and lets a URL be fetched again without asking anyone.
type record struct {
	URL       canon.URL
	Class     crawl.Class // Queued, Stored, Redirected, Refused or Failed
	Origin    uint8       // index among its host's origins
	Depth     int
	Hops      int
	Attempts  int
	Order     uint64        // of acceptance; in the key, not in the record
	Due       time.Time     // Queued and waiting for another attempt: when; else zero
	Visit     crawl.VisitID // the newest visit that had a say
	Status    int
	Line      int
	Reason    crawl.Reason
	Detail    string // the rule that decided, or where a redirect leads
	FoundOn   canon.URL
	FetchedAt int64 // Unix ms of the last answer; 0 = none
	NoSnippet bool
	Rank      uint16 // while Queued, see rankOf
	Glued     bool   // Refused as a mirror's: its page was stored, and the indexer was told that it is the main host's

	held  // the copy that was fetched last
	again // when it is asked for again
}

var errRecord = errors.New("frontier: malformed URL record")

// Flags beside the class.
const (
	flagNoSnippet = 0x80
	flagGlued     = 0x40
	recordFlags   = flagNoSnippet | flagGlued
)

// append encodes r: a class byte, the origin, nine varints, then texts, then what held and again have, if anything. What a page
// was found on shares a beginning with the page's own URL more often than not; only the rest is written.
func (r *record) append(b []byte) []byte {
	c := byte(r.Class)
	if r.NoSnippet {
		c |= flagNoSnippet
	}
	if r.Glued {
		c |= flagGlued
	}
	b = append(b, c, r.Origin)
	b = binary.AppendUvarint(b, uint64(r.Depth))
	b = binary.AppendUvarint(b, uint64(r.Hops))
	b = binary.AppendUvarint(b, uint64(r.Attempts))
	var due uint64
	if !r.Due.IsZero() {
		due = uint64(r.Due.UnixMilli())
	}
	b = binary.AppendUvarint(b, due)
	b = binary.AppendUvarint(b, r.Visit.Epoch)
	b = binary.AppendUvarint(b, r.Visit.N)
	b = binary.AppendUvarint(b, uint64(max(r.Status, 0)))
	b = binary.AppendUvarint(b, uint64(max(r.Line, 0)))
	b = binary.AppendUvarint(b, uint64(max(r.FetchedAt, 0)))
	b = appendText(b, string(r.URL))
	n := 0
	for n < len(r.FoundOn) && n < len(r.URL) && r.FoundOn[n] == r.URL[n] {
		n++
	}
	b = binary.AppendUvarint(b, uint64(n))
	b = appendText(b, string(r.FoundOn[n:]))
	b = appendText(b, string(r.Reason))
	b = appendText(b, r.Detail)
	return r.appendMore(b)
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// scanner reads varints and texts, remembering the first failure.
type scanner struct {
	b   []byte
	bad bool
}

func (s *scanner) uint() uint64 {
	v, n := binary.Uvarint(s.b)
	if n <= 0 {
		s.bad, s.b = true, nil
		return 0
	}
	s.b = s.b[n:]
	return v
}

func (s *scanner) text() []byte {
	n := s.uint()
	if n > uint64(len(s.b)) {
		s.bad, s.b = true, nil
		return nil
	}
	t := s.b[:n]
	s.b = s.b[n:]
	return t
}

// decodeRecord decodes the record with that key; its texts are copies, since the store's bytes end with the transaction.
func decodeRecord(key, v []byte) (r record, err error) {
	if len(v) < 2 || len(key) < 12 {
		return r, errRecord
	}
	r.Order = keyOrder(key)
	r.Class = crawl.Class(v[0] &^ recordFlags)
	r.NoSnippet = v[0]&flagNoSnippet != 0
	r.Glued = v[0]&flagGlued != 0
	r.Origin = v[1]
	s := scanner{b: v[2:]}
	r.Depth = int(s.uint())
	r.Hops = int(s.uint())
	r.Attempts = int(s.uint())
	if due := s.uint(); due != 0 {
		r.Due = time.UnixMilli(int64(due))
	}
	r.Visit.Epoch = s.uint()
	r.Visit.N = s.uint()
	r.Status = int(s.uint())
	r.Line = int(s.uint())
	r.FetchedAt = int64(s.uint())
	r.URL = canon.URL(s.text())
	n := s.uint()
	if n > uint64(len(r.URL)) {
		return r, errRecord
	}
	r.FoundOn = r.URL[:n] + canon.URL(s.text())
	r.Reason = crawl.Reason(s.text())
	r.Detail = string(s.text())
	r.decodeMore(&s)
	if s.bad {
		return r, errRecord
	}
	return r, nil
}

// peek reads only what the acceptance of a link needs: is it the same URL, at which depth and in which state.
func peek(v []byte, u canon.URL) (same bool, depth int, class crawl.Class) {
	if len(v) < 2 {
		return false, 0, 0
	}
	class = crawl.Class(v[0] &^ recordFlags)
	s := scanner{b: v[2:]}
	depth = int(s.uint())
	for range 8 {
		s.uint()
	}
	same = string(s.text()) == string(u)
	return same, depth, class
}

// storedAs tells a page that is stored, be it as that of the main host, from another; 0 when it is not, or not known.
func (r *record) storedAs() uint64 {
	if r.Class == crawl.Stored || r.Glued {
		return r.Digest
	}
	return 0
}
