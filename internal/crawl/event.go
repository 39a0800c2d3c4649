package crawl

import (
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Version is the newest version of the wire schema that this code can read. A reader refuses a
// message with a greater version. A message is written in the oldest version that has all its
// fields. This is the first version, except for an event with Forward (2), documents in parts (3)
// and pages with a Capture (4).
const Version = 4

// Event is one message of a shard's event log. It has everything that one visit, one submission of
// seeds, or one indexer reports to the shard. Applying an event twice has the same effect as once.
type Event struct {
	Visit       VisitID      // the visit that sends it; zero: none
	Fetcher     string       // the sender, for people
	Links       []Links      // by page
	Robots      []Robots     // robots.txt files that were just fetched
	Outcome     *Outcome     // the progress of the visit, or its end
	Aux         []AuxRequest // for hosts of this shard
	Answers     []Answer     // to auxiliary requests of this shard
	Probes      []Probe      // of well-known files
	StoreFailed []string     // URLs that the indexer could not store
	// StoreLost is the identity of the new, empty page store of this shard's indexer, because the
	// old one was lost. All pages that were stored so far are fetched again. It is applied once for
	// each identity.
	StoreLost string
	// Missing are URLs with a 304 response but without a stored copy. They are fetched again
	// without validators.
	Missing []Unheld
	// Removed are URLs whose pages were deleted at their unavailable_after. From now on they are
	// refused with ReasonNoindex.
	Removed []Unheld
	Reports []Report // of RUP sites of this shard
	// Retry are hosts ("d.example") and URLs that become due in spite of the back-off after
	// failures. Delays and Retry-After are kept.
	Retry []string
	// Unreadable are URLs whose pages crashed the process that read them, or could not be read.
	// They are not stored.
	Unreadable []Unheld
	// Traces are the requests of Visit that no earlier event has.
	Traces []Trace
	// Refetch are URLs that are fetched again in the next visit of their host, in whatever state
	// they were when this message was sent.
	Refetch []string
	// Audits are actions of operators, for the crawl log.
	Audits []Audit
	// Reported are submissions of IndexNow, for sites of this shard.
	Reported []IndexNow
	// WebSub are the messages of hubs about topics of this shard.
	WebSub []WebSub
	// Skipped are URLs whose pages the indexer deleted, or did not store, because site rules skip
	// them. From now on they are refused with ReasonSiteRule.
	Skipped []Unheld
	// Forward: some of Links may be for other shards, and the shard that applies the event forwards
	// them. An older reader would drop them, so such an event has version 2.
	Forward bool
}

// Unheld is a URL whose page is not stored, although the outcome of Visit is Stored. Outcomes of
// later visits stay valid. The event may be in the log before the outcome of Visit, because pages
// are sent first.
type Unheld struct {
	URL   canon.URL
	Visit VisitID
	Why   string // for people, MaxDetail bytes at most; may be empty
	Rules uint64 // of Event.Skipped: the Spec.SitesHash of the indexer
}

// Links are the links of one page to URLs of one shard. This is the shard in whose log the event
// is. If the event has Forward, the URLs may be of several shards.
type Links struct {
	FoundOn   canon.URL
	Depth     int // of the URLs: the page's depth + 1, or the page's own for a redirect
	Redirects int // how many redirects in a row led to them; 0 for links
	Seed      bool
	URLs      []canon.URL
	// Mods has for each URL when its page last changed, in Unix seconds, according to a sitemap or
	// feed. A time of 0 is unknown. The list is empty, or as long as URLs. The times are hints: a
	// stored page that was fetched before its time is fetched again earlier.
	Mods []int64
	// Source is where the URLs come from. If it is not a page, they are an update, and Mods and
	// Gone are only hints.
	Source Source
	// Gone: according to the source these pages have gone. Stored pages among them are fetched
	// again, and the others are ignored.
	Gone bool
}

// Source is where a URL comes from.
type Source uint8

// The sources.
const (
	SourcePage    Source = iota // a link on a page, a redirect, or a seed
	SourceSitemap               // a sitemap, FoundOn
	SourceFeed                  // a feed, FoundOn
	// SourceRUP is a RUP report (formats §6.4) of the site with the /rupinfo.txt FoundOn.
	SourceRUP
	SourceIndexNow // an IndexNow submission, verified by the key file FoundOn
	SourceWebSub   // a delivery of a hub for the feed FoundOn
	SourceRobot    // a document that a mobile robot brought; FoundOn is the robots.txt
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
	case SourceRobot:
		return "robot"
	}
	return ""
}

// IndexNow is a submission in the name of a site, or a part of one (formats §8.33). It is valid
// when KeyURL, which is fetched like any URL of the site, contains Key. Applying it twice has the
// same effect as once.
type IndexNow struct {
	Origin canon.Origin
	Key    string
	KeyURL canon.URL
	URLs   []canon.URL // of Origin
	// Received is when it came, by the clock of the receiver.
	Received time.Time
}

// WebSub is a message of a hub about a topic of a subscription. It is valid if N is the number of
// the current callback. Applying it twice has the same effect as once.
type WebSub struct {
	Topic canon.URL
	N     int
	// Mode is a verified subscribe or unsubscribe, or denied, or deliver.
	Mode   string
	Lease  time.Duration // of subscribe: the duration; 0: not stated
	Reason string        // of denied
	// Received is when it came, by the clock of the receiver.
	Received time.Time
	// These are for deliver: the entries of the feed on the topic's host, and when they changed, as
	// in Links. If there are none, the feed is read.
	URLs []canon.URL
	Mods []int64
}

// WebSubDeliver is the Mode of a delivery.
const WebSubDeliver = "deliver"

// WebSubQuestion is the request of questions.WebSub. It asks whether a hub was recently sent this
// request or, with the Mode WebSubDeliver, whether it may continue to deliver.
type WebSubQuestion struct {
	Topic string `json:"topic"`
	N     int    `json:"n"`
	Mode  string `json:"mode"`
}

// WebSubIntent answers a WebSubQuestion.
type WebSubIntent struct {
	Wanted bool `json:"wanted"`
	// Left: the callback with this number will never be used again.
	Left bool `json:"left,omitempty"`
}

// Report is a RUP report, or a part of one that is too large for one message. All parts go to the
// shard of its site. Applying it twice has the same effect as once, because reports are numbered.
type Report struct {
	Origin canon.Origin // the site: the origin of its URLBase
	// Address is the address to which it was mailed. Only this site knows it. Empty with Index.
	Address string
	Index   bool   // it is the response to our GetIndex
	Number  uint64 // SequenceNumber; 0: none
	Part    int    // from 0
	Parts   int    // how many there are
	// Received is when it came, by the clock of the receiver.
	Received time.Time
	Links    []Links // of SourceRUP
	Refused  int     // entries of the whole report that are not URLs of the site
	// Truncated: the report has more entries than are read.
	Truncated bool
	// Confirm is set if this is not a report, but a question whether Address wants reports. Posting
	// the query of this URL to it means yes.
	Confirm canon.URL
}

// Outcome reports what a visit did. A visit may have several outcomes, and all except the last are
// Partial. The last one ends the visit, and frees the host if this visit is the outstanding one.
// Each result, and each entry of Done, is in one outcome only. A result is valid if the visit is
// newer than the one recorded for its URL. Requests, Overloads, Timeouts, Bytes and RetryAfter are
// those of the whole visit so far. So an outcome that comes twice, or late, has no further effect.
type Outcome struct {
	Host    canon.Host
	Results []Result
	Partial bool          // the visit continues
	Delay   time.Duration // the current delay
	// SinceEnd is the time from the end of the last response (or failure) to sending this outcome.
	// It has no meaning if Requests is 0.
	SinceEnd time.Duration
	// RetryAfter is the longest Retry-After of a 429 or 503, from the end of that response.
	RetryAfter time.Duration
	Requests   int          // sent requests, including probes
	Overloads  int          // responses with 429 or 503
	Timeouts   int          // requests with a timeout or a refused connection
	Done       []AuxRequest // answered auxiliary requests, since the outcome before
	Private    bool         // the address of the host was private
	Bytes      int64        // of bodies, as read from the wire
	// NotBefore is how long after sending the host should not be visited, because other hosts use
	// its address. It has no meaning for the host itself.
	NotBefore time.Duration
	// Block is the address of the host that was dialled last, and for IPv6 the first one of its
	// /64, also if nothing was sent. It is "" if none was dialled, and from older fetchers.
	Block string
}

// Class is the state of a URL. Each accepted URL has exactly one class. InFlight is never stored:
// the record of a URL stays Queued until its outcome is applied.
type Class uint8

const (
	Queued     Class = iota // waiting to be fetched
	InFlight                // in an outstanding visit
	Stored                  // its page was sent to the indexer, durably
	Redirected              // it redirects to another URL
	Refused                 // it must not or will not be fetched or stored; see Reason
	Failed                  // the last attempt to fetch it failed
	Retry                   // on the wire only: try again later
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

// Result is the result for one URL of a visit.
type Result struct {
	URL       canon.URL
	Class     Class  // Stored, Redirected, Refused, Failed, Retry or Returned
	Reason    Reason // of all classes except Stored
	Status    int    // HTTP status; 0: no response
	Line      int    // of the robots.txt that decided; 0: none
	Rule      string // this line, or the detail of the reason, for people
	Location  string // with Redirected: the target
	Bytes     int64  // of the body, as read from the wire
	Took      time.Duration
	NoSnippet bool
	FetchedAt time.Time // for people

	// These are for the next fetch of a Stored page:
	Digest       uint64 // the first 8 bytes of the body's SHA-256, big-endian; 0 with NotModified
	ETag         string // empty if it is longer than 256 bytes
	LastModified string // empty if it is longer than 64 bytes
	NotModified  bool   // the response was 304: the stored copy is still valid
	// Kept is for Failed, Redirected and Refused. VisitURL.Keep was set and the result may be
	// temporary, so the indexer was not asked to delete the copy.
	Kept bool
	// Likeness is for Stored pages with VisitURL.Keep that were sent in full: the hash of the text
	// (internal/likeness). 0 means not known.
	Likeness uint64
	// Rules is the Spec.SitesHash of the fetcher, if Reason is ReasonSiteRule.
	Rules uint64
	// Rendering is for Stored pages: whether the scripts of the page were run, or should be.
	Rendering Rendering
}
