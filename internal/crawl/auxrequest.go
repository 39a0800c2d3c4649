package crawl

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/curtsy/curtsy/pkg/canon"
)

// AuxKind is the kind of an auxiliary request. A new kind is a constant here, a row in auxNames,
// and a field of Answer. For a file that a spec may want of each origin, OriginFiles
// and the functions below it have its contents.
type AuxKind uint8

const (
	// AuxRobots follows a redirect of another origin's robots.txt.
	AuxRobots AuxKind = 1
	// AuxData follows a redirect of another origin's /data.txt, if the rules of the target allow
	// it.
	AuxData AuxKind = 2
	// AuxClaim fetches the robots.txt of URL's origin, to see what it claims about being a mirror
	// (formats §2.4).
	AuxClaim AuxKind = 3
	// AuxSample fetches a page, if the rules of its origin allow it, to compare it with the same
	// page of Origin (formats §2.4 step 3).
	AuxSample AuxKind = 4
	// AuxSitemap reads a sitemap that Origin's robots.txt names.
	AuxSitemap AuxKind = 5
	// AuxTwin is a message between frontiers and needs no request. Origin and URL's origin are
	// www.h and h, which may be the same site (design §7). Hop is one of the Twin constants.
	AuxTwin AuxKind = 6
	// AuxNested reads the data.txt of a directory of Origin. Origin's own /data.txt, or another
	// nested one, names the directory (formats §5.4). Hop is the depth of nesting, from 1. The
	// answer is a Probe.
	AuxNested AuxKind = 7
	// AuxRUP fetches Origin's /rupinfo.txt at URL or, with Form, requests an action of its RUP-CGI
	// (formats §6.2).
	AuxRUP AuxKind = 8
	// AuxSecurityTxt fetches Origin's /.well-known/security.txt (RFC 9116).
	AuxSecurityTxt AuxKind = 9
	// AuxLLMSTxt reads Origin's /llms.txt, whose links are treated as those of a page (formats
	// §8.22).
	AuxLLMSTxt AuxKind = 10
	// AuxIndexNow fetches the key file of Origin at URL (formats §8.33).
	AuxIndexNow AuxKind = 11
	// AuxFeed reads the feed at URL that pages of Origin announce. Hop is the depth of its entries:
	// one more than that of the page.
	AuxFeed AuxKind = 12
	// AuxWebSub asks the hub at URL to subscribe or unsubscribe the topic About (WebSub §5.1). Hop
	// is twice the number of the callback, and one more to unsubscribe. The answer is a RUP.
	AuxWebSub AuxKind = 13
	// AuxDispatch sends a mobile robot to the server that URL stands for (AgentServerURL), on
	// behalf of Origin, for the documents below About. Hop is the number of the dispatch. Answers
	// with DispatchRunning report its progress.
	AuxDispatch AuxKind = 14
	// AuxVerify fetches the page at URL, if the rules of its origin allow it, to compare it with
	// what a mobile robot brought. Hop is the number of the dispatch. The answer is a Sample.
	AuxVerify AuxKind = 15
)

// auxNames has a row for each kind.
var auxNames = map[AuxKind]string{
	AuxRobots:  "robots",
	AuxData:    "data",
	AuxClaim:   "claim",
	AuxSample:  "sample",
	AuxSitemap: "sitemap",
	AuxTwin:    "twin",
	AuxNested:  "nested",
	AuxRUP:     "rup",

	AuxSecurityTxt: "security-txt",
	AuxLLMSTxt:     "llms-txt",
	AuxIndexNow:    "indexnow",
	AuxFeed:        "feed",
	AuxWebSub:      "websub",
	AuxDispatch:    "dispatch",
	AuxVerify:      "verify",
}

// String is the word in logs.
func (k AuxKind) String() string {
	if name, ok := auxNames[k]; ok {
		return name
	}
	return "unknown " + strconv.Itoa(int(k))
}

// AuxKinds are all kinds in their order. Each has a row in the frontier's table. Each, except
// AuxTwin, has one in the fetcher's table.
func AuxKinds() []AuxKind { return slices.Sorted(maps.Keys(auxNames)) }

// What AuxTwin asks URL's origin.
const (
	TwinAsk    = 0 // to answer with a Claim: what it is a mirror of, and how large it is
	TwinYield  = 1 // to become the mirror, if its own pages confirm it
	TwinYields = 2 // to stay the main host, because Origin has become its mirror
)

// AuxRequest is an auxiliary request: a request to a host that is not for a page. A visit of the
// host sends it, and an event for ReplyShard has the answer. Kind, URL and Origin identify it: if
// it is asked twice, it is sent once.
type AuxRequest struct {
	Kind   AuxKind
	URL    canon.URL
	Origin canon.Origin // on whose behalf
	// Hop is the number of the redirect in a row, from 1. For AuxSitemap it is the number of
	// indexes that led here, and for AuxFeed the depth of the entries.
	Hop        int
	ReplyShard int

	// ETag and LastModified are, for AuxSitemap and AuxFeed, those of the last response. They are
	// added when the request is granted, and do not identify it.
	ETag         string
	LastModified string
	// About is, for AuxWebSub, the topic, and for AuxDispatch the path, on Origin.
	About canon.URL
	// Form has, for AuxRUP and AuxWebSub, the parameters to post in
	// application/x-www-form-urlencoded. Empty: a GET of /rupinfo.txt. It may contain a
	// registration key, so it is never logged. It is added when the request is granted, and does
	// not identify it.
	Form string
}

// Answer is the answer to an auxiliary request.
type Answer struct {
	Aux AuxRequest
	// Robots, of AuxRobots, is the state for the Origin of the request. With RobotsPending its
	// Location is the target of the next redirect.
	Robots Robots
	Probe  Probe // AuxData, AuxNested

	Claim   Claim   // AuxClaim
	Sample  Sample  // AuxSample
	Sitemap Sitemap // AuxSitemap
	RUP     RUP     // AuxRUP

	SecurityTxt *SecurityTxt // AuxSecurityTxt; else nil
	LLMSTxt     *LLMSTxt     // AuxLLMSTxt; else nil
	KeyFile     *KeyFile     // AuxIndexNow; else nil
	Feed        *Feed        // AuxFeed; else nil
	Dispatch    *Dispatch    // AuxDispatch; else nil
}

func (a *Answer) fields(c *codec) {
	if c.at == 1 {
		a.Aux = AuxRequest{}
	}
	for range c.one(1) {
		a.Aux.fields(c)
	}
	for range c.one(2) {
		a.Robots.fields(c)
	}
	for range c.one(3) {
		a.Probe.fields(c)
	}
	for range c.one(4) {
		a.Claim.fields(c)
	}
	for range c.one(5) {
		a.Sample.fields(c)
	}
	for range c.one(6) {
		a.Sitemap.fields(c)
	}
	for range c.one(7) {
		a.RUP.fields(c)
	}
	optional(c, 8, &a.SecurityTxt, (*SecurityTxt).fields)
	optional(c, 9, &a.LLMSTxt, (*LLMSTxt).fields)
	optional(c, 10, &a.KeyFile, (*KeyFile).fields)
	optional(c, 11, &a.Feed, (*Feed).fields)
	optional(c, 12, &a.Dispatch, (*Dispatch).fields)
}

// optional is a nested message that is omitted if p is nil, as in most answers.
func optional[T any](c *codec, field int, p **T, fields func(*T, *codec)) {
	if c.at == field {
		*p = new(T)
	}
	if *p == nil {
		return
	}
	for range c.one(field) {
		fields(*p, c)
	}
}

// The results of fetching a file such as security.txt.
const (
	FileFound      = "found"
	FileNone       = "none"       // the site has none
	FileUnreadable = "unreadable" // it could not be fetched, or is unusable; see Reason
)

// OriginFiles are the contents of the files that a spec may want of each origin, in the store and
// for people. They are replaced, never changed in place.
type OriginFiles struct {
	SecurityTxt *SecurityTxt `json:"security_txt,omitempty"` // nil: not requested yet
	LLMSTxt     *LLMSTxt     `json:"llms_txt,omitempty"`     // nil: not requested yet
}

// OriginFilesDue are the times before which they are not requested again, in the store.
type OriginFilesDue struct {
	SecurityTxtDue time.Time `json:"security_txt_due,omitzero"`
	LLMSTxtDue     time.Time `json:"llms_txt_due,omitzero"`
}

// All are the times, to be read or changed.
func (d *OriginFilesDue) All() []*time.Time {
	return []*time.Time{
		&d.SecurityTxtDue,
		&d.LLMSTxtDue,
	}
}

// FileNote describes for people what is known of one file of an origin.
type FileNote struct {
	Name   string // of the file
	State  string // FileFound or another state; empty: not requested yet
	Found  string // its contents, if it was found
	Reason string
}

// Notes has a note for each kind of file, always in the same order.
func (f *OriginFiles) Notes() []FileNote {
	return []FileNote{
		f.SecurityTxt.note(),
		f.LLMSTxt.note(),
	}
}

// SecurityTxt is the contents of an origin's security.txt, in answers, in the store and for people.
type SecurityTxt struct {
	State    string    `json:"state"`
	Reason   string    `json:"reason,omitempty"` // for people
	Contacts []string  `json:"contacts,omitempty"`
	Expires  time.Time `json:"expires,omitzero"` // when it expires
}

func (s *SecurityTxt) fields(c *codec) {
	c.text(1, &s.State)
	c.text(2, &s.Reason)
	texts(c, 3, &s.Contacts)
	c.stamp(4, &s.Expires)
}

func (s *SecurityTxt) note() FileNote {
	n := FileNote{Name: "security.txt"}
	if s == nil {
		return n
	}
	n.State, n.Found, n.Reason = s.State, strings.Join(s.Contacts, " "), s.Reason
	if !s.Expires.IsZero() {
		n.Found += ", expires " + s.Expires.Local().Format(time.DateOnly)
	}
	return n
}

// LLMSTxt is the result of reading an origin's llms.txt, in answers, in the store and for people.
// Its links were sent to the logs of their shards before.
type LLMSTxt struct {
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"` // for people
	Title  string `json:"title,omitempty"`
	Links  int    `json:"links"` // that it has
	Within int    `json:"in_scope"`
	// Fresh is how long it need not be fetched again. It is only set in answers.
	Fresh time.Duration `json:"-"`
}

func (m *LLMSTxt) fields(c *codec) {
	c.text(1, &m.State)
	c.text(2, &m.Reason)
	c.text(3, &m.Title)
	c.int(4, &m.Links)
	c.int(5, &m.Within)
	c.duration(6, &m.Fresh)
}

func (m *LLMSTxt) note() FileNote {
	n := FileNote{Name: "llms.txt"}
	if m == nil {
		return n
	}
	n.State, n.Found, n.Reason = m.State, humanize.Comma(int64(m.Links))+" links", m.Reason
	if m.Links == 1 {
		n.Found = "1 link"
	}
	n.Found += ", " + strconv.Itoa(m.Within) + " in scope"
	return n
}
