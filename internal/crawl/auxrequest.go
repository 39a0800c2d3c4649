package crawl

import (
	"maps"
	"slices"
	"strconv"

	"github.com/curtsy/curtsy/pkg/canon"
)

// AuxKind is the kind of an auxiliary request. A new kind is a constant here and a row in auxNames.
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
	About        canon.URL // AuxWebSub: the topic
	// Form has, for AuxRUP and AuxWebSub, the parameters to post in
	// application/x-www-form-urlencoded. Empty: a GET of /rupinfo.txt. It may contain a
	// registration key, so it is never logged. It is added when the request is granted, and does
	// not identify it.
	Form string
}
