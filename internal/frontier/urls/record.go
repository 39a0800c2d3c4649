package urls

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// noise says whether a page differs only in parts that change each time: a clock, a counter, a
// nonce. Such a page counts as unchanged for its pace. Otherwise it would be fetched as often as
// permitted, and delay pages that really change.
//
// If the text of a page has hardly changed, the page is tested: it is fetched a few more times,
// only a delay apart. Real changes do not occur so many times in a row, however short RecrawlMin
// is. A page that was equal in one of these fetches has small but real changes. It is tested again
// only after its text has hardly changed several times more.
type noise uint8

// NoiseEarnest: the page has passed the test. Values up to NoiseTried count its small changes
// since.
const NoiseEarnest noise = 1

// NoiseTried: the page is to be fetched again at once. Values up to Noisy count its small changes
// since.
const NoiseTried noise = 8

const Noisy noise = 11 // it changed each time

// Record is what the frontier stores about one URL. It contains the text of the URL. This resolves
// hash collisions, answers `curtsy explain`, and is sufficient for fetching the URL again.
type Record struct {
	URL       canon.URL
	Class     crawl.Class // Queued, Stored, Redirected, Refused or Failed
	Origin    uint8       // index among its host's origins
	Depth     int
	Redirects int
	Attempts  int
	Order     uint64 // of acceptance; part of the key, not of the record
	// When the next attempt is due, if it is Queued and waits for one; otherwise zero
	Due       time.Time
	Visit     crawl.VisitID // the newest visit that reported a result for it
	Status    int
	Line      int
	Reason    crawl.Reason
	Detail    string // the rule that decided, or the target of a redirect
	FoundOn   canon.URL
	FetchedAt int64 // Unix ms of the last response; 0 = none
	NoSnippet bool
	Rank      uint16 // while Queued; see RankOf
	// Refused because its origin is a mirror; its page was stored, and the indexer was notified
	// that it belongs to the main host.
	Glued bool

	StoredCopy // the copy that was fetched last
	Again      // when it is fetched again

	// counted is the value of Rendering under which the counts of the shard have the URL.
	counted crawl.Rendering
}

// toCount is the value of Rendering under which the counts should have the URL: that of its stored
// page.
func (r *Record) toCount() crawl.Rendering {
	if r.Class == crawl.Stored {
		return r.Rendering
	}
	return crawl.RenderingNone
}

// Waiting reports whether the URL is Queued, but waits until Due for another attempt. It is then in
// BucketLater, and not in its host's queue.
func (r *Record) Waiting() bool { return r.Class == crawl.Queued && !r.Due.IsZero() }

// StoredAs is the digest of the stored page, also if it is stored for the main host; 0 when no page
// is stored or its digest is unknown.
func (r *Record) StoredAs() uint64 {
	if r.Class == crawl.Stored || r.Glued {
		return r.Digest
	}
	return 0
}
