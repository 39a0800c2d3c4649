package urls

import (
	"encoding/binary"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/pkg/canon"
)

// noise says of a page whether all that changes in it is what changes each time: a clock, a
// counter, a nonce. Such a page counts as unchanged for its pace; else it would be asked for as
// often as may be, and the pages that do change be kept waiting. A page whose text has hardly
// changed is asked for a few times more, at once, that is a delay apart: what has a reason to
// change has none so many times in a row, however short RecrawlMin is. One that stood that test
// changes a little in earnest, and is not put to it again before its text has hardly changed
// several times more.
type noise uint8

// Stood the test; up to NoiseTried, how often it has changed a little since.
const NoiseEarnest noise = 1

// It is to be asked for at once; up to noisy, how often it has changed a little since.
const NoiseTried noise = 8

const Noisy noise = 11 // each time

// Record is what the frontier keeps of one URL. It holds the text itself: that settles hash
// collisions, answers `curtsy explain`, and lets a URL be fetched again without asking anyone.
type Record struct {
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
	Rank      uint16 // while Queued, see recrawl.RankOf
	// Refused as a mirror's: its page was stored, and the indexer was told that
	// it is the main host's
	Glued bool

	Held  // the copy that was fetched last
	Again // when it is asked for again
}

// Waiting reports whether the URL is Queued, but waits until Due for another attempt. It then
// stands in the later bucket, and not in its host's queue.
func (r *Record) Waiting() bool { return r.Class == crawl.Queued && !r.Due.IsZero() }

// Flags beside the class.
const (
	flagNoSnippet = 0x80
	flagGlued     = 0x40
	recordFlags   = flagNoSnippet | flagGlued
)

// Append encodes r: a class byte, the origin, nine varints, then texts, then what held and again
// have, if anything. What a page was found on shares a beginning with the page's own URL more often
// than not; only the rest is written.
func (r *Record) Append(b []byte) []byte {
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
	b = ledger.AppendText(b, string(r.URL))
	n := 0
	for n < len(r.FoundOn) && n < len(r.URL) && r.FoundOn[n] == r.URL[n] {
		n++
	}
	b = binary.AppendUvarint(b, uint64(n))
	b = ledger.AppendText(b, string(r.FoundOn[n:]))
	b = ledger.AppendText(b, string(r.Reason))
	b = ledger.AppendText(b, r.Detail)
	return r.appendMore(b)
}

// DecodeRecord decodes the record with that key; its texts are copies, since the store's bytes end
// with the transaction.
func DecodeRecord(key, v []byte) (r Record, err error) {
	if len(v) < 2 || len(key) < 12 {
		return r, ledger.ErrRecord
	}
	r.Order = ledger.KeyOrder(key)
	r.Class = crawl.Class(v[0] &^ recordFlags)
	r.NoSnippet = v[0]&flagNoSnippet != 0
	r.Glued = v[0]&flagGlued != 0
	r.Origin = v[1]
	s := ledger.Scanner{B: v[2:]}
	r.Depth = int(s.Uint())
	r.Hops = int(s.Uint())
	r.Attempts = int(s.Uint())
	if due := s.Uint(); due != 0 {
		r.Due = time.UnixMilli(int64(due))
	}
	r.Visit.Epoch = s.Uint()
	r.Visit.N = s.Uint()
	r.Status = int(s.Uint())
	r.Line = int(s.Uint())
	r.FetchedAt = int64(s.Uint())
	r.URL = canon.URL(s.Text())
	n := s.Uint()
	if n > uint64(len(r.URL)) {
		return r, ledger.ErrRecord
	}
	r.FoundOn = r.URL[:n] + canon.URL(s.Text())
	r.Reason = crawl.Reason(s.Text())
	r.Detail = string(s.Text())
	r.decodeMore(&s)
	if s.Bad {
		return r, ledger.ErrRecord
	}
	return r, nil
}

// Peek reads only what the acceptance of a link needs: is it the same URL, at which depth
// and in which state.
func Peek(v []byte, u canon.URL) (same bool, depth int, class crawl.Class) {
	if len(v) < 2 {
		return false, 0, 0
	}
	class = crawl.Class(v[0] &^ recordFlags)
	s := ledger.Scanner{B: v[2:]}
	depth = int(s.Uint())
	for range 8 {
		s.Uint()
	}
	same = string(s.Text()) == string(u)
	return same, depth, class
}

// StoredAs tells a page that is stored, be it as that of the main host, from another; 0 when it
// is not, or not known.
func (r *Record) StoredAs() uint64 {
	if r.Class == crawl.Stored || r.Glued {
		return r.Digest
	}
	return 0
}
