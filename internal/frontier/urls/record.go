package urls

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
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
	Redirects int
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

	StoredCopy // the copy that was fetched last
	Again      // when it is asked for again
}

// Waiting reports whether the URL is Queued, but waits until Due for another attempt. It then
// stands in the later bucket, and not in its host's queue.
func (r *Record) Waiting() bool { return r.Class == crawl.Queued && !r.Due.IsZero() }

// StoredAs tells a page that is stored, be it as that of the main host, from another; 0 when it
// is not, or not known.
func (r *Record) StoredAs() uint64 {
	if r.Class == crawl.Stored || r.Glued {
		return r.Digest
	}
	return 0
}
