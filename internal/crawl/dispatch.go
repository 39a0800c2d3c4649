package crawl

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// A site may name a server to which robots travel (formats §3). A dispatch is one robot that is
// sent there on behalf of an origin, for the documents below one path. It is an auxiliary request
// of the kind AuxDispatch, in a visit to the server's host. The pages that the robot found carry a
// visit of the site's own shard, which is reserved when the request is queued.

// SendsRobots reports whether mobile robots may be sent. They bring pages whose distance from a
// seed is unknown, so with a limit of depth none are, as no sitemaps are read then.
func (s *Spec) SendsRobots() bool { return s.SendRobots && s.MaxDepth < 0 && !s.PlanOnly }

// MayUseServer reports whether robots may be sent to a server on behalf of a site: the server is of
// the same registered domain, or it is listed (RobotServers). server is a URL of AgentServerURL.
func (s *Spec) MayUseServer(site canon.Host, server canon.URL) bool {
	if server.Host().Registered() == site.Registered() {
		return true
	}
	_, address, _ := strings.Cut(AgentAddress(server), "://")
	return slices.ContainsFunc(s.RobotServers, func(entry string) bool {
		return strings.EqualFold(entry, string(server.Host())) || strings.EqualFold(entry, address)
	})
}

// AgentServerURL is the URL that stands for the server of a Mobile-agent-server line, as the URL of
// an auxiliary request: its host is visited like any other. ok is false if robots cannot be sent
// there, because the scheme is neither atp nor atps.
func AgentServerURL(target string) (u canon.URL, ok bool) {
	scheme, server, ok := strings.Cut(target, "://")
	secure, port := scheme == "atps", ":434" // formats §3.1
	if secure {
		port = ":435"
	}
	if !ok || !secure && scheme != "atp" {
		return "", false
	}
	if i := strings.LastIndexByte(server, ':'); i < strings.LastIndexByte(server, ']') || i < 0 {
		server += port
	}
	if secure {
		u, err := canon.Parse("https://" + server + "/")
		return u, err == nil
	}
	u, err := canon.Parse("http://" + server + "/")
	return u, err == nil
}

// AgentAddress is the address that AgentServerURL made u of, always with a port.
func AgentAddress(u canon.URL) string {
	scheme, port := "atp", ":80"
	if u.Scheme() == "https" {
		scheme, port = "atps", ":443"
	}
	server := strings.TrimSuffix(string(u.Root())[strings.Index(string(u), "//")+2:], "/")
	if i := strings.LastIndexByte(server, ':'); i < strings.LastIndexByte(server, ']') || i < 0 {
		server += port
	}
	return scheme + "://" + server
}

// The states of a dispatch.
const (
	DispatchRunning = "running" // the robot was accepted; an answer with it reports progress
	DispatchDone    = "done"    // all that the robot found has arrived
	// The robot or the connection ended early, and what arrived counts; see Reason.
	DispatchCut = "cut"
	// The server could not be reached, or has no room now. It may later; see RetryAfter.
	DispatchFailed = "failed"
	// The server does not accept the robot (401, 403, 404, ...), or what it sent is no bundle.
	DispatchRefused = "refused"
	DispatchDropped = "dropped" // the dispatch is not wanted any more; nothing was sent
)

// Dispatch is what happened to a dispatch, or how far it is. Counts are those of the whole dispatch
// so far, whichever fetcher carried out its parts. So an answer that comes twice, or late, has no
// further effect.
type Dispatch struct {
	State      string        // one of the constants above
	Status     int           // of the response that refused it; 0: none
	Reason     string        // for people; empty: it went well
	RetryAfter time.Duration // with DispatchFailed: what the server asks for

	// AgentID is the name of the run at the server. Whoever knows it may fetch the results, so it
	// is never logged. Offset and Skip are where results continue that were not published yet: at
	// an octet of the compressed stream at which a frame of zstd begins, and a number of
	// decompressed octets behind it.
	AgentID string
	Offset  int64
	Skip    int64

	Began     time.Time // when the robot was sent, by the clock of the fetcher
	Requests  int       // to the server
	Sent      int64     // bytes to the server
	Received  int64     // bytes from the server
	Documents int64     // that the robot listed
	Pages     int64     // that arrived, and were published
	// Unchanged are those that the robot did not send, because the stored copy is still valid.
	Unchanged int64
	// Ignored are those that may not be used: closed, out of scope, not below the path.
	Ignored int64

	// Visit and Limit are those of the plan (DispatchPlan.Visit and Pages). With them, an owner of
	// the shard that does not know of the dispatch can continue with it.
	Visit VisitID
	Limit int64

	// Sample, with DispatchDone and DispatchCut, is what the server sent of some pages that are
	// compared with those that the site serves.
	Sample []DispatchSample
}

// MaxDispatchSamples limits Dispatch.Sample.
const MaxDispatchSamples = 1000

// DispatchSample is a page as a mobile robot brought it. Of one that it called unchanged, only the
// digest of the stored copy is known.
type DispatchSample struct {
	URL        canon.URL
	Digest     uint64 // as in Result
	Likeness   uint64 // as in Sample
	Directives uint8  // as in Page
	Type       string // media type; empty: neither it nor the directives are known
}

func (d *Dispatch) fields(c *codec) {
	c.text(1, &d.State)
	c.int(2, &d.Status)
	c.text(3, &d.Reason)
	c.duration(4, &d.RetryAfter)
	c.text(5, &d.AgentID)
	c.long(6, &d.Offset)
	c.long(7, &d.Skip)
	c.stamp(8, &d.Began)
	c.int(9, &d.Requests)
	c.long(10, &d.Sent)
	c.long(11, &d.Received)
	c.long(12, &d.Documents)
	c.long(13, &d.Pages)
	c.long(14, &d.Unchanged)
	c.long(15, &d.Ignored)
	for s := range each(c, 16, &d.Sample) {
		s.fields(c)
	}
	d.Visit.field(c, 17)
	c.long(18, &d.Limit)
}

func (s *DispatchSample) fields(c *codec) {
	c.url(1, &s.URL)
	c.uint(2, &s.Digest)
	c.uint(3, &s.Likeness)
	c.enum(4, &s.Directives)
	c.text(5, &s.Type)
}

// DispatchQuery asks the owner of a site's shard for the plan of a dispatch.
type DispatchQuery struct {
	Origin canon.Origin
	About  canon.URL // the path, on Origin
	Hop    int       // the number of the dispatch
	After  []byte    // DispatchPlan.Next of the part before; empty: the first part
}

func (q *DispatchQuery) fields(c *codec) {
	c.origin(1, &q.Origin)
	c.url(2, &q.About)
	c.int(3, &q.Hop)
	c.bytes(4, &q.After)
}

// DispatchPlan is what a dispatch is carried out with. It comes in parts; all except Known and Next
// are the same in each.
type DispatchPlan struct {
	Wanted bool    // otherwise nothing is sent, and the request is answered with DispatchDropped
	Visit  VisitID // of the pages and results
	Robots Robots  // of the origin; its body is left out if it is large, as in a Visit
	// Pages is how many pages the whole dispatch may store, those in Before included; 0: there is
	// no limit.
	Pages int64

	// The run that was begun, and where its results continue; see Dispatch. Empty: none was.
	AgentID      string
	Offset, Skip int64

	// Before is what was reported of it before, without a Sample. Visit and Limit are always set,
	// so that a fetcher continues from it.
	Before Dispatch

	Known []KnownPage // some of the URLs below the path that the shard knows
	Next  []byte      // asks for the next part; empty: this is the last one
}

// MaxKnownPages limits the known pages in one part of a plan.
const MaxKnownPages = 12 << 10

// KnownPage is a URL of which something is known.
type KnownPage struct {
	Path   uint64 // the first 8 bytes of the SHA-256 of its path and query
	Digest uint64 // of the stored copy, as in Result; 0: none is stored
	Depth  int
}

// PathHash is KnownPage.Path of a path with its query.
func PathHash(pathQuery string) uint64 {
	sum := sha256.Sum256([]byte(pathQuery))
	return binary.BigEndian.Uint64(sum[:])
}

func (p *DispatchPlan) fields(c *codec) {
	c.version(1)
	c.bool(2, &p.Wanted)
	p.Visit.field(c, 3)
	for range c.one(4) {
		p.Robots.fields(c)
	}
	c.long(5, &p.Pages)
	c.text(6, &p.AgentID)
	c.long(7, &p.Offset)
	c.long(8, &p.Skip)
	for range c.one(9) {
		p.Before.fields(c)
	}
	for k := range each(c, 10, &p.Known) {
		k.fields(c)
	}
	c.bytes(11, &p.Next)
}

func (k *KnownPage) fields(c *codec) {
	c.uint(1, &k.Path)
	c.uint(2, &k.Digest)
	c.int(3, &k.Depth)
}

// AppendDispatchQuery encodes a DispatchQuery.
func AppendDispatchQuery(b []byte, m DispatchQuery) []byte {
	c := writer(b)
	m.fields(&c)
	return c.out
}

// DecodeDispatchQuery decodes a DispatchQuery.
func DecodeDispatchQuery(b []byte) (m DispatchQuery, err error) {
	c := reader(b)
	for c.more() {
		m.fields(&c)
	}
	return m, c.err("dispatch query")
}

// AppendDispatchPlan encodes a DispatchPlan.
func AppendDispatchPlan(b []byte, m DispatchPlan) []byte {
	c := writer(b)
	m.fields(&c)
	return c.out
}

// DecodeDispatchPlan decodes a DispatchPlan.
func DecodeDispatchPlan(b []byte) (m DispatchPlan, err error) {
	c := reader(b)
	for c.more() {
		m.fields(&c)
	}
	return m, c.err("dispatch plan")
}
