package crawl

import (
	"cmp"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// VisitID numbers a visit. Epoch is the shard's ownership epoch, N counts within it; a later visit
// compares greater, which is how a replayed or late outcome is told from the one that counts. The
// zero VisitID belongs to no visit.
type VisitID struct {
	Epoch, N uint64
}

// Compare orders visits: negative when v was granted before o.
func (v VisitID) Compare(o VisitID) int {
	return cmp.Or(cmp.Compare(v.Epoch, o.Epoch), cmp.Compare(v.N, o.N))
}

// IsZero reports whether v belongs to no visit.
func (v VisitID) IsZero() bool { return v == VisitID{} }

// String is the form logs and the crawl log use: epoch-counter.
func (v VisitID) String() string { return fmt.Sprintf("%d-%d", v.Epoch, v.N) }

// VisitRequest asks a frontier for up to Max visits.
type VisitRequest struct {
	Fetcher string // the fetcher's name, for logs and for the frontier's view of who holds what
	Max     int    // visits wanted, at least 1
	// Downloads asks for the right to send requests to the host of Origin and nothing else: one
	// visit without URLs, with what is known of Origin's robots.txt. That is how dataset files are
	// fetched under the host's own delay.
	Downloads bool
	Origin    canon.Origin // with Downloads
}

// Grants is a frontier's answer to Take: the visits granted, possibly none.
type Grants struct {
	Visits []Visit
	Wait   time.Duration // with no visits: ask again after this long at the earliest; 0 = at once
	Now    time.Time     // the frontier's clock, by which traces tell when requests were sent
}

// Visit is the right to send requests to one host, and the work to do under it. At most one visit
// per host is outstanding at any moment: that is what keeps the crawl polite however many
// fetchers there are.
type Visit struct {
	ID     VisitID
	Shard  int
	Host   canon.Host
	URLs   []VisitURL
	Robots []Robots     // what the frontier knows of each origin the URLs need
	Aux    []AuxRequest // requests other parts need under this host's visit; done before the URLs
	// Least time from the end of a response to the next start, already the maximum of all that asks
	Delay time.Duration
	// Lease is how long requests may be started, counted by the fetcher from the moment it *sent*
	// its Take, by the frontier from its answer and 2 % longer.
	Lease time.Duration
	// Hurried says that a configured delay under one second may be used whatever the address is: a
	// host of the seeds, or one the operator listed. Otherwise the fetcher keeps at least a second
	// unless the address dialled is private.
	Hurried bool
	// DelaySource is who asks for Delay: see HostInfo.
	DelaySource string
}

// MaxAttempts is how often a URL is tried before it counts as failed.
const MaxAttempts = 3

// VisitURL is one URL to fetch in a visit.
type VisitURL struct {
	URL       canon.URL
	FoundOn   canon.URL // the page that first led here; empty for a seed
	Depth     int       // links from a seed
	Redirects int       // redirects in a row that led here
	Attempts  int       // attempts that failed before this one
	// A copy is held that was answered with these: ask for the page only if it is another now.
	ETag         string
	LastModified string
	// Keep: a copy is held that is to stay should the page turn out to be gone (4xx) now. It is
	// asked for once more before the copy is removed; then Keep is not set.
	Keep bool
	// Failed is the Rule of the last attempt's result if that attempt failed, else "".
	Failed string
}

// Renew asks the shard's owner to prolong visits.
type Renew struct {
	Fetcher string
	Visits  []VisitID
}

// Renewed answers Renew: visits in Lost are over, all others have Lease again, counted from
// when Renew was sent.
type Renewed struct {
	Lost  []VisitID
	Lease time.Duration
}

// RobotsState says what may be done with an origin (RFC 9309 §2.3.1).
type RobotsState uint8

const (
	RobotsUnknown RobotsState = iota // never fetched: the visit begins with it
	RobotsParsed                     // 2xx: follow the rules in Body
	// 4xx but 402 and 429, or no end of redirects: everything is allowed
	RobotsUnavailable
	RobotsUnreachable // 402, 429, 5xx, network: nothing is allowed
	RobotsPending     // a redirect led to another host; an errand is on its way
)

// String is the word `curtsy hosts` shows.
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

// Robots is what is known of an origin's robots.txt. It travels both ways: fetcher → frontier
// as a fact just fetched, frontier → fetcher as what to go by. Age and Fresh are relative to
// the moment of sending.
type Robots struct {
	Origin canon.Origin
	State  RobotsState
	Status int // HTTP status of the last answer, 0 if there was none
	// At most robots.MaxBytes, content-decoded; empty in a visit when large (then ask by Digest).
	Body   []byte
	Digest []byte        // SHA-256 of the body, 32 bytes; empty when there is none
	Age    time.Duration // since it was fetched
	// How much longer it may be used without asking again; ≤ 0: refresh first.
	Fresh         time.Duration
	CrawlDelay    time.Duration // for our product token
	HasCrawlDelay bool
	ETag          string
	LastModified  string
	Reason        string        // for people: "dns: no such host", "HTTP 503"
	Location      string        // with RobotsPending: the URL on another host to ask
	RetryAfter    time.Duration // what a 429 or 503 asked for
	Renewed       bool          // a 304: Body is empty and the stored copy lives on
	Redirects     int           // redirects followed so far
	// ProbeData, frontier → fetcher: /data.txt of this origin is due to be asked for, if
	// its rules allow that.
	ProbeData bool
	// Rights are the files that say more of the use of its pages. As a fact of its own they come in
	// a Robots without a state, which says nothing of robots.txt.
	Rights []RightsFile
}

// Answer is what came of an errand.
type Answer struct {
	Aux AuxRequest
	// AuxRobots: the state for Errand.Origin; RobotsPending: Location says
	// where the next hop leads
	Robots Robots
	Probe  Probe // AuxData, AuxNested: what came of it

	Claim   Claim   // AuxClaim
	Sample  Sample  // AuxSample
	Sitemap Sitemap // AuxSitemap
	RUP     RUP     // AuxRUP

	SecurityTxt *SecurityTxt // AuxSecurityTxt; else nil
	LLMSTxt     *LLMSTxt     // AuxLLMSTxt; else nil
	KeyFile     *KeyFile     // AuxIndexNow; else nil
	Feed        *Feed        // AuxFeed; else nil
}

// What asking an origin for a file such as its security.txt led to.
const (
	FileFound      = "found"
	FileNone       = "none"       // the site has none
	FileUnreadable = "unreadable" // not to be had, or of no use: Reason
)

// SecurityTxt is what an origin's security.txt says, as it is answered, kept and shown.
type SecurityTxt struct {
	State    string    `json:"state"`
	Reason   string    `json:"reason,omitempty"` // for people
	Contacts []string  `json:"contacts,omitempty"`
	Expires  time.Time `json:"expires,omitzero"` // what it says is stale after that
}

// KeyFile is what asking for a key file of IndexNow led to.
type KeyFile struct {
	Key    string // that it holds; empty: none
	Reason string // for people: why
	Again  bool   // it could not be had now, and may be had later
}

// Feed is what reading a feed led to. Its entries went to the logs of their shards as Links before.
type Feed struct {
	Status      int    // HTTP status, 0 without an answer
	Read        bool   // to its end, or as far as feeds are read
	NotModified bool   // answered 304: what it said stands
	Again       bool   // it could not be had now, and may be had later
	Reason      string // for people: why it was not read, or not to its end
	Entries     int    // that are the site's to tell of, in scope or not
	Skipped     int    // without a usable URL, or not for this site to tell of
	Digest      uint64 // of its entries and their dates
	ETag        string
	// At most 64 bytes, else empty.
	LastModified string
	Scope        uint64        // Spec.ScopeHash of the crawl its entries were judged by
	MinInterval  time.Duration // for how long it asks not to be read again (<ttl>)
	// The hub that tells of its changes, and what it is called there (WebSub §4); empty: none.
	Hub, Self canon.URL
}

// LLMSTxtPath is where an origin has its llms.txt.
const LLMSTxtPath = "/llms.txt"

// LLMSTxt is what an origin's llms.txt led to, as it is answered, kept and shown. Its links went to
// the logs of their shards before.
type LLMSTxt struct {
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"` // for people
	Title  string `json:"title,omitempty"`
	Links  int    `json:"links"` // that it has
	Within int    `json:"in_scope"`
	// Fresh is how long it need not be asked for again; as an answer only.
	Fresh time.Duration `json:"-"`
}

// ClaimKind is what an origin's robots.txt says of its being a mirror (formats §2.4).
type ClaimKind uint8

// The kinds.
const (
	ClaimUnknown ClaimKind = iota // its robots.txt could not be had: Reason
	ClaimNone                     // no usable Host line, or no robots.txt
	ClaimSelf                     // a Host line matches the origin itself
	ClaimTarget                   // Target
)

// Claim is what an origin's robots.txt says of its being a mirror.
type Claim struct {
	Kind   ClaimKind
	Target canon.Origin // ClaimTarget
	Digest []byte       // robots.Digest of the file; empty without a file
	Reason string       // for people

	// What only a frontier can tell, and answers without a request:
	Main canon.Origin // the main host of which the origin is known to be a mirror
	URLs int          // how many pages of the origin are stored, up to some thousands
	Led  int          // redirects of other hosts that led to it
}

// Sample is a page fetched to be compared.
type Sample struct {
	Status int    // HTTP status; 0: not fetched: Reason
	Digest uint64 // as in Result
	// Near-duplicate hash of the text: pages that say nearly the same differ in few bits; 0 when
	// there is too little text.
	Likeness uint64
	Reason   string // begins with the Reason code: "robots", "dns: no such host"
	Location string // of a redirect, which is not followed: where to
}

// Sitemap is what reading a sitemap led to. Its entries went to the logs of their
// shards as Links before.
type Sitemap struct {
	Status      int    // HTTP status, 0 without an answer
	Read        bool   // to its end, or as far as sitemaps are read
	NotModified bool   // answered 304: nothing was read, what it said stands
	Form        string // urlset, index, text, feed
	// For this site to tell, in scope or not; also with Read unset, when it could
	// not be read to its end.
	Entries      int
	Skipped      int // without usable URL, or not for this site to tell
	ETag         string
	LastModified string
	Reason       string // for people: why it was not read, or not to its end
	Again        bool   // it could not be had now, and may be had a little later
	Scope        uint64 // Spec.ScopeHash of the crawl its entries were judged by
}

// RUP is what came of asking a site about its updates. The report of a GetIndex goes into the log
// before, as a Report.
type RUP struct {
	Status int // HTTP status, 0 without an answer
	// For people: why it did not work out; empty when it did. Begins with "robots" when
	// its rules forbid it.
	Reason     string
	Retry      bool          // trouble that may pass: no answer, 429 or 5xx
	RetryAfter time.Duration // what a 429 or 503 asked for
	Body       []byte        // /rupinfo.txt, at most rup.MaxInfo bytes
	// /rupinfo.txt: how long it may be used without asking again; 0: not said
	Fresh    time.Duration
	Key      string // Register: the registration key; never logged
	Sequence uint64 // GetSequenceNumber
	Entries  int    // GetIndex: changes it told of that are the site's to tell
	Refused  int    // GetIndex: others
}

// ProbeState is what asking for a well-known file led to.
type ProbeState uint8

// The states of a probe.
const (
	ProbeNone    ProbeState = iota // nothing asked yet
	ProbeRead                      // there is one; it was handed to the indexer
	ProbeAbsent                    // there is none
	ProbeFailed                    // it could not be had; an earlier copy stays
	ProbeRefused                   // robots.txt forbids it
	ProbePending                   // a redirect led to another host: Location
)

// String is the word `curtsy hosts` shows; nothing for ProbeNone.
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

// Probe is what came of asking an origin for /data.txt (formats §5.1).
type Probe struct {
	Origin    canon.Origin
	State     ProbeState
	Status    int           // HTTP status, 0 without an answer
	Fresh     time.Duration // when to ask again, from now
	Reason    string        // for people
	Location  string        // with ProbePending
	Redirects int           // redirects followed so far
}
