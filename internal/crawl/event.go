package crawl

import (
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Version is the newest version of the wire schema, and the one that is read. A reader refuses a
// message with a greater one. Messages are written as the oldest version that has what they say,
// which is the first for all but an event with Forward (2), documents in parts (3) and pages with a
// Capture (4).
const Version = 4

// Event is one message of a shard's event log: all that one visit (or one submission of seeds, or
// one indexer) has to tell that shard. Applying an event twice changes nothing.
type Event struct {
	Visit       VisitID      // the visit it comes from; zero when from none
	Fetcher     string       // who sent it, for people
	Links       []Links      // by page
	Robots      []Robots     // facts just fetched
	Outcome     *Outcome     // how far the visit has come, or its end
	Aux         []AuxRequest // for hosts of this shard
	Answers     []Answer     // to errands of this shard
	Probes      []Probe      // well-known files asked for
	StoreFailed []string     // URLs the indexer gave up storing
	// StoreLost is the identity of the empty page store that this shard's indexer has begun,
	// because the one before is gone: all pages stored so far are to be fetched again. Applied
	// once for each identity.
	StoreLost string
	// Missing are URLs that were answered 304 while no copy of them is held: they are to be fetched
	// again, without validators.
	Missing []Unheld
	// Removed are URLs whose pages were held until their unavailable_after came: from then on they
	// are refused, noindex.
	Removed []Unheld
	Reports []Report // of RUP sites of this shard
	// Retry are hosts ("d.example"), and URLs, to be tried again without waiting for what failures
	// would have us wait. Delays and Retry-After stay.
	Retry []string
	// Unreadable are URLs whose pages ended the process that read them, or the attempt to read
	// them: they are not held.
	Unreadable []Unheld
	// Traces are the requests that Visit has sent, as far as no event before told of them.
	Traces []Trace
	// Refetch are URLs to be fetched again at their host's next turn, whatever became of them
	// before this message was sent.
	Refetch []string
	// Audits are acts of those who steer the crawl, for the crawl log.
	Audits []Audit
	// Reported are submissions of IndexNow, for sites of this shard.
	Reported []IndexNow
	// WebSub is what hubs say of topics of this shard.
	WebSub []WebSub
	// Forward says that some of Links may be of other shards: who applies the event owes those to
	// them. Who does not know of that would drop them, so such an event is of version 2.
	Forward bool
}

// Unheld is a URL whose page is not held, although the outcome of Visit says Stored. What a
// later visit says counts as it is. The word may be in the log before that outcome, since pages
// are handed over first.
type Unheld struct {
	URL   canon.URL
	Visit VisitID
}

// Links are the URLs one page leads to, in one shard: in the one whose log they are in, but for an
// event with Forward.
type Links struct {
	FoundOn   canon.URL
	Depth     int // of the URLs, that is the page's depth + 1 (the page's own for a redirect)
	Redirects int // redirects in a row that led to them; 0 for links proper
	Seed      bool
	URLs      []canon.URL
	// Mods says of each URL when it changed last, in Unix seconds, as a sitemap or feed tells; 0:
	// not told. Empty, or as long as URLs. It is a hint: a page held already is asked for again
	// sooner if it was fetched before that.
	Mods []int64
	// Source says by whom they are told: anything but a page makes them an update, with Mods and
	// Gone as hints and nothing more.
	Source Source
	// Gone says that these pages are told to be no more: those held are looked at again, the
	// others mean nothing.
	Gone bool
}

// Source is who tells of a URL.
type Source uint8

// The sources.
const (
	SourcePage    Source = iota // a link on a page, a redirect, or a seed
	SourceSitemap               // a sitemap, FoundOn
	SourceFeed                  // a feed, FoundOn
	// A RUP report (formats §6.4) of the site with the /rupinfo.txt FoundOn.
	SourceRUP
	SourceIndexNow // an IndexNow submission, proved by the key file FoundOn
	SourceWebSub   // what a hub delivered of the feed FoundOn
)

// String is the word used in JSON and on the command line; empty for a page.
func (s Source) String() string {
	switch s {
	case SourceSitemap:
		return "sitemap"
	case SourceFeed:
		return "feed"
	case SourceRUP:
		return "rup"
	case SourceIndexNow:
		return "indexnow"
	case SourceWebSub:
		return "websub"
	}
	return ""
}

// IndexNow is what somebody has submitted as a site (formats §8.33), or a part of it. It is
// believed once KeyURL, fetched like any URL of the site, holds Key. Applied again it tells nothing
// new.
type IndexNow struct {
	Origin canon.Origin
	Key    string
	KeyURL canon.URL
	URLs   []canon.URL // of Origin
	// Received is when it came, by the clock of who received it.
	Received time.Time
}

// WebSub is what a hub says of a topic that we subscribed to, or asked to. It counts if N is the
// number of the callback in use. Applied again it tells nothing new.
type WebSub struct {
	Topic canon.URL
	N     int
	// Mode is subscribe or unsubscribe, which were verified, denied, or deliver.
	Mode   string
	Lease  time.Duration // subscribe: for how long; 0: not said
	Reason string        // denied: why
	// Received is when it came, by the clock of who received it.
	Received time.Time
	// deliver: what the feed names that is of the topic's host, and when that changed, as in Links.
	// None: the feed is to be read.
	URLs []canon.URL
	Mods []int64
}

// WebSubDeliver is the Mode of a delivery.
const WebSubDeliver = "deliver"

// WebSubQuestion is the question "websub": whether a hub was asked that lately, or, with the Mode
// WebSubDeliver, whether it may go on delivering. The answer is a WebSubIntent.
type WebSubQuestion struct {
	Topic string `json:"topic"`
	N     int    `json:"n"`
	Mode  string `json:"mode"`
}

// WebSubIntent answers a WebSubQuestion.
type WebSubIntent struct {
	Wanted bool `json:"wanted"`
	// Left: by that number nothing is awaited any more, and never will be.
	Left bool `json:"left,omitempty"`
}

// Report is a RUP report, or a part of one that is too large for one message; all parts go to the
// shard of its site. Applied again it changes nothing: reports are numbered.
type Report struct {
	Origin canon.Origin // the site: the origin of its URLBase
	// Address is where it was mailed to, which only that site was told; empty with Index.
	Address string
	Index   bool   // the answer to GetIndex, which was asked for
	Number  uint64 // SequenceNumber; 0: none
	Part    int    // from 0
	Parts   int    // how many there are
	// Received is when it came, by the clock of who received it.
	Received time.Time
	Links    []Links // of SourceRUP
	Refused  int     // entries of the whole report that are not the site's to tell
	// Truncated: the site has told of more than is read of one report.
	Truncated bool
	// Confirm: this is no report, but the question whether Address wants any. Posting the query of
	// this URL to it says yes.
	Confirm canon.URL
}

// Outcome tells what a visit did. Several tell of one visit, all but the last of them Partial; the
// last ends it, and frees the host if the visit is the outstanding one. Results and Done are told
// once each. A result counts if the visit is newer than the one recorded for its URL. Requests,
// Overloads, Timeouts, Bytes and RetryAfter are of the whole visit up to this outcome, so one that
// is told twice, or late, changes nothing.
type Outcome struct {
	Host    canon.Host
	Results []Result
	Partial bool          // the visit goes on
	Delay   time.Duration // the spacing in force now
	// SinceEnd is how long before sending the last response (or its failure) ended; with Requests
	// 0 it means nothing.
	SinceEnd time.Duration
	// The longest asked for by a 429 or 503, counted from the end of that response.
	RetryAfter time.Duration
	Requests   int          // requests sent, probes included
	Overloads  int          // 429 and 503 answers
	Timeouts   int          // requests that ended in a timeout or a refused connection
	Done       []AuxRequest // errands answered, and not told before
	Private    bool         // the address dialled was private
	Bytes      int64        // body bytes read from the wire
	// NotBefore is how long after sending the host should not be visited, because other hosts at
	// its address keep that busy. It says nothing of the host.
	NotBefore time.Duration
}

// Class is where a URL stands. Each accepted URL is in exactly one class; InFlight is never stored
// (a URL stays Queued until its outcome is applied).
type Class uint8

const (
	Queued     Class = iota // known and due some time
	InFlight                // in an outstanding visit
	Stored                  // its page was handed to the indexer, durably
	Redirected              // it led elsewhere
	Refused                 // we may not or will not fetch or keep it; see Reason
	Failed                  // it could not be had, after the last attempt
	Retry                   // on the wire only: try again after a while
	Returned                // on the wire only: not fetched in this visit
)

var classNames = [...]string{"queued", "in_flight", "stored", "redirected", "refused", "failed", "retry", "returned"}

// String is the word used in JSON and on the command line.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// Result is what became of one URL in a visit.
type Result struct {
	URL       canon.URL
	Class     Class  // Stored, Redirected, Refused, Failed, Retry or Returned
	Reason    Reason // why, for all but Stored
	Status    int    // HTTP status, 0 without an answer
	Line      int    // robots.txt line that decided, 0 if none
	Rule      string // that rule, or the detail of the reason, for people
	Location  string // with Redirected: where to
	Bytes     int64  // body bytes read from the wire
	Took      time.Duration
	NoSnippet bool
	FetchedAt time.Time // for people

	// With Stored, for the next time it is asked for:
	Digest       uint64 // the first 8 bytes of the body's SHA-256, big-endian; with NotModified 0
	ETag         string // at most 256 bytes, else empty
	LastModified string // at most 64 bytes, else empty
	NotModified  bool   // answered 304: the copy held stands
	// With Failed, Redirected or Refused: VisitURL.Keep was set and this may pass, so the indexer
	// was not told to remove the copy.
	Kept bool
	// With Stored: what the text of a page is like (internal/likeness) that was asked for again,
	// with VisitURL.Keep, and sent in full. 0: not known.
	Likeness uint64
}
