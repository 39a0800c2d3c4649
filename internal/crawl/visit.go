package crawl

import (
	"cmp"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// VisitID identifies a visit. Epoch is the ownership epoch of the shard, and N counts within it. A
// later visit is greater, so that replayed and late outcomes can be recognised. The zero VisitID is
// that of no visit.
type VisitID struct {
	Epoch, N uint64
}

// Compare orders visits. It is negative if v was granted before o.
func (v VisitID) Compare(o VisitID) int {
	return cmp.Or(cmp.Compare(v.Epoch, o.Epoch), cmp.Compare(v.N, o.N))
}

// IsZero reports whether v is that of no visit.
func (v VisitID) IsZero() bool { return v == VisitID{} }

// String is the form in logs and in the crawl log: epoch-counter.
func (v VisitID) String() string { return fmt.Sprintf("%d-%d", v.Epoch, v.N) }

// VisitRequest asks a frontier for up to Max visits.
type VisitRequest struct {
	Fetcher string // the fetcher's name, for logs and for the list of leases
	Max     int    // wanted visits, at least 1
	// Downloads asks only for the right to send requests to the host of Origin: one visit without
	// URLs, with the stored robots.txt of Origin. Files of datasets are fetched in this way, with
	// the delay of the host.
	Downloads bool
	Origin    canon.Origin // with Downloads
	// For is, with Downloads, the host of the page that needs something of Origin; empty: the
	// operator asked for it.
	For canon.Host
	// Slots is how many visits of this frontier the fetcher can carry out at the same time. Older
	// fetchers do not say it: 0.
	Slots int
}

// Grants is a frontier's answer to a VisitRequest: visits, or none.
type Grants struct {
	Visits []Visit
	Wait   time.Duration // without visits: the time before the next request; 0: none
	Now    time.Time     // by the frontier's clock, which traces use
}

// Visit is the right to send requests to one host, with the work to do. A host has at most one
// outstanding visit at any moment. This keeps the crawl polite with any number of fetchers.
type Visit struct {
	ID     VisitID
	Shard  int
	Host   canon.Host
	URLs   []VisitURL
	Robots []Robots     // the stored files of the origins of the URLs
	Aux    []AuxRequest // auxiliary requests, which are sent before the URLs
	// Delay is the smallest time from the end of a response to the next request. It is the maximum
	// of all required delays.
	Delay time.Duration
	// Lease is how long requests may be started. The fetcher counts from the moment when it *sent*
	// its VisitRequest. The frontier counts from its answer, and adds 2 %.
	Lease time.Duration
	// Hurried: a configured delay under one second may be used for any address, because the host is
	// one of the seeds or of the operator's list. Otherwise the fetcher waits at least one second,
	// unless the address is private.
	Hurried bool
	// DelaySource is where Delay comes from; see HostInfo.
	DelaySource string
	// NewAddress: the frontier does not know at which address the host is, nor those of many others
	// that are visited now. If the fetcher then finds that a quarter of its visits are at the
	// address, it returns the visit before it requests anything, and reports the address.
	NewAddress bool
}

// MaxAttempts is the number of attempts after which a URL is Failed.
const MaxAttempts = 3

// VisitURL is one URL to fetch in a visit.
type VisitURL struct {
	URL       canon.URL
	FoundOn   canon.URL // the page with the first link to it; empty for a seed
	Depth     int       // number of links from a seed
	Redirects int       // number of redirects in a row before it
	Attempts  int       // number of failed attempts before this one
	// ETag and LastModified are those of the stored copy, for a conditional request.
	ETag         string
	LastModified string
	// Keep: there is a stored copy, and it stays if the response is a 4xx now. The page is fetched
	// once more, without Keep, before the copy is deleted.
	Keep bool
	// Failed is the Rule of the result of the last attempt, if it failed; else empty.
	Failed string
}

// Renew asks a shard's owner to renew visits.
type Renew struct {
	Fetcher string
	Visits  []VisitID
}

// Renewed is the answer to Renew. Visits in Lost are over. All others have a new Lease, from the
// moment when Renew was sent.
type Renewed struct {
	Lost  []VisitID
	Lease time.Duration
}

// RobotsState is the state of an origin's robots.txt (RFC 9309 §2.3.1).
type RobotsState uint8

const (
	RobotsUnknown RobotsState = iota // never fetched: a visit begins with fetching it
	RobotsParsed                     // 2xx: the rules in Body apply
	// A 4xx other than 402 and 429, or too many redirects: everything is allowed.
	RobotsUnavailable
	RobotsUnreachable // 402, 429, 5xx, network: nothing is allowed
	RobotsPending     // it redirects to another host, which gets an auxiliary request
)

// String is the word in the output of `curtsy hosts`.
func (s RobotsState) String() string {
	switch s {
	case RobotsParsed:
		return "parsed"
	case RobotsUnavailable:
		return "unavailable"
	case RobotsUnreachable:
		return "unreachable"
	case RobotsPending:
		return "pending"
	}
	return "unknown"
}

// Robots is an origin's robots.txt and its state. A fetcher sends it to the frontier when the file
// was fetched, and the frontier sends the stored one to fetchers. Age and Fresh are relative to the
// moment of sending.
type Robots struct {
	Origin canon.Origin
	State  RobotsState
	Status int // HTTP status of the last response; 0: none
	// Body has at most robots.MaxBytes after content-decoding. In a visit it is empty if it is
	// large; then the fetcher requests it by Digest.
	Body   []byte
	Digest []byte        // SHA-256 of the body, 32 bytes; empty if there is none
	Age    time.Duration // since it was fetched
	// Fresh is how much longer it may be used. ≤ 0 means that it must be fetched again first.
	Fresh         time.Duration
	CrawlDelay    time.Duration // for our product token
	HasCrawlDelay bool
	ETag          string
	LastModified  string
	Reason        string        // for people: "dns: no such host", "HTTP 503"
	Location      string        // with RobotsPending: the URL on another host
	RetryAfter    time.Duration // of a 429 or 503
	Renewed       bool          // a 304: Body is empty, and the stored copy is still valid
	Redirects     int           // number of redirects so far
	// ProbeData is sent to fetchers: the /data.txt of this origin is due, if its rules allow it.
	ProbeData bool
	// Rights are other files about the use of its pages. A fetcher sends them alone in a Robots
	// without a state, which is not about robots.txt.
	Rights []RightsFile
}

// KeyFile is the result of fetching a key file of IndexNow.
type KeyFile struct {
	Key    string // its contents; empty: none
	Reason string // why there is no key, for people
	Again  bool   // it could not be fetched now, but may be later
}

// Feed is the result of reading a feed. Its entries were sent to the logs of their shards before.
type Feed struct {
	Status      int    // HTTP status, 0 without an answer
	Read        bool   // to its end, or to the limit for feeds
	NotModified bool   // the response was 304: it is unchanged
	Again       bool   // it could not be fetched now, but may be later
	Reason      string // why it was not read, or not to its end, for people
	Entries     int    // URLs of the site, in scope or not
	Skipped     int    // entries without a usable URL, or with URLs of other sites
	Digest      uint64 // of its entries and their dates
	ETag        string
	// LastModified is empty if it is longer than 64 bytes.
	LastModified string
	Scope        uint64        // Spec.ScopeHash of the spec for its entries
	MinInterval  time.Duration // how long it asks not to be read again (<ttl>)
	// Hub is the hub that reports its changes, and Self its name there (WebSub §4); empty: none.
	Hub, Self canon.URL
}

// ClaimKind is what an origin's robots.txt claims about being a mirror (formats §2.4).
type ClaimKind uint8

// The kinds.
const (
	ClaimUnknown ClaimKind = iota // its robots.txt could not be fetched; see Reason
	ClaimNone                     // no usable Host line, or no robots.txt
	ClaimSelf                     // a Host line matches the origin itself
	ClaimTarget                   // Target
)

// Claim is what an origin's robots.txt claims about being a mirror.
type Claim struct {
	Kind   ClaimKind
	Target canon.Origin // ClaimTarget
	Digest []byte       // robots.Digest of the file; empty without a file
	Reason string       // for people

	// Only frontiers know these, and answer without a request:
	Main canon.Origin // of which the origin is a confirmed mirror
	URLs int          // stored pages of the origin, up to a few thousand
	Led  int          // redirects of other hosts to it
}

// Sample is a page that was fetched for a comparison.
type Sample struct {
	Status int    // HTTP status; 0: not fetched, see Reason
	Digest uint64 // as in Result
	// Likeness is the near-duplicate hash of the text: similar pages differ in few bits. 0 means
	// that there is too little text.
	Likeness uint64
	Reason   string // begins with the Reason code: "robots", "dns: no such host"
	Location string // the target of a redirect, which is not followed

	// These are for AuxVerify only.
	Directives uint8     // as in Page
	Type       string    // media type
	Modified   time.Time // Last-Modified, if the response has one
	Again      bool      // it could not be fetched now, but may be soon
}

// Sitemap is the result of reading a sitemap. Its entries were sent to the logs of their shards
// before.
type Sitemap struct {
	Status      int    // HTTP status, 0 without an answer
	Read        bool   // to its end, or to the limit for sitemaps
	NotModified bool   // the response was 304: it is unchanged
	Form        string // urlset, index, text, feed
	// Entries is the number of URLs of the site, in scope or not. It is also set if Read is not,
	// when the sitemap could not be read to its end.
	Entries      int
	Skipped      int // entries without a usable URL, or with URLs of other sites
	ETag         string
	LastModified string
	Reason       string // why it was not read, or not to its end, for people
	Again        bool   // it could not be fetched now, but may be soon
	Scope        uint64 // Spec.ScopeHash of the spec for its entries
}

// RUP is the result of a RUP request to a site. The report of a GetIndex was sent to the log
// before, as a Report.
type RUP struct {
	Status int // HTTP status, 0 without an answer
	// Reason is why it failed, for people; empty: it did not. It begins with "robots" if the rules
	// forbid the request.
	Reason     string
	Retry      bool          // the failure may be temporary: no response, 429 or 5xx
	RetryAfter time.Duration // of a 429 or 503
	Body       []byte        // /rupinfo.txt, at most rup.MaxInfo bytes
	// Fresh is how long /rupinfo.txt may be used; 0 means that this is not stated.
	Fresh    time.Duration
	Key      string // Register: the registration key; never logged
	Sequence uint64 // GetSequenceNumber
	Entries  int    // GetIndex: reported changes of URLs of the site
	Refused  int    // GetIndex: other reported changes
}

// ProbeState is the result of fetching a well-known file.
type ProbeState uint8

// The states of a probe.
const (
	ProbeNone    ProbeState = iota // not fetched yet
	ProbeRead                      // it exists, and was sent to the indexer
	ProbeAbsent                    // it does not exist
	ProbeFailed                    // it could not be fetched; an earlier copy stays
	ProbeRefused                   // robots.txt forbids it
	ProbePending                   // it redirects to another host, see Location
)

// String is the word in the output of `curtsy hosts`; empty for ProbeNone.
func (s ProbeState) String() string {
	switch s {
	case ProbeRead:
		return "read"
	case ProbeAbsent:
		return "absent"
	case ProbeFailed:
		return "failed"
	case ProbeRefused:
		return "refused"
	case ProbePending:
		return "pending"
	}
	return ""
}

// Probe is the result of fetching an origin's /data.txt (formats §5.1).
type Probe struct {
	Origin    canon.Origin
	State     ProbeState
	Status    int           // HTTP status, 0 without an answer
	Fresh     time.Duration // the time until the next fetch
	Reason    string        // for people
	Location  string        // with ProbePending
	Redirects int           // number of redirects so far
}
