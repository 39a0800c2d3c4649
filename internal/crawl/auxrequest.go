package crawl

import (
	"maps"
	"slices"
	"strconv"

	"github.com/curtsy/curtsy/pkg/canon"
)

// AuxKind says what an errand is for. A new kind is a constant here and a row in auxNames.
type AuxKind uint8

const (
	// AuxRobots fetches the next hop of another origin's robots.txt redirect.
	AuxRobots AuxKind = 1
	// AuxData fetches the next hop of another origin's /data.txt redirect, under the rules of
	// the host it leads to.
	AuxData AuxKind = 2
	// AuxClaim asks what URL's origin says of itself in its robots.txt, for the mirror database
	// (formats §2.4).
	AuxClaim AuxKind = 3
	// AuxSample fetches a page, if the rules of its origin allow, to compare it with the same
	// page of Origin (formats §2.4 step 3).
	AuxSample AuxKind = 4
	// AuxSitemap reads a sitemap that Origin's robots.txt vouches for.
	AuxSitemap AuxKind = 5
	// AuxTwin is between frontiers and costs no request: Origin and URL's origin are www.h and
	// h, the same site perhaps (design §7). Hop says what is wanted: see the Twin constants.
	AuxTwin AuxKind = 6
	// AuxNested reads the data.txt of a directory in which Origin's own /data.txt, or one nested
	// in it, says that there are datasets (docs/formats.md §5.4). It is on Origin itself. Hop is
	// how deep it is nested, from 1. Its answer is a Probe.
	AuxNested AuxKind = 7
	// AuxRUP asks for Origin's /rupinfo.txt, at URL, or with Form for an action of its RUP-CGI
	// (formats §6.2).
	AuxRUP AuxKind = 8
	// AuxSecurityTxt asks for Origin's /.well-known/security.txt (RFC 9116).
	AuxSecurityTxt AuxKind = 9
	// AuxLLMSTxt reads Origin's /llms.txt, whose links are taken for those of a page (formats
	// §8.22).
	AuxLLMSTxt AuxKind = 10
	// AuxIndexNow asks for the key file of Origin at URL (formats §8.33).
	AuxIndexNow AuxKind = 11
	// AuxFeed reads the feed at URL that pages of Origin announce. Hop is the depth of what it
	// names: one more than that of the page.
	AuxFeed AuxKind = 12
	// AuxWebSub asks the hub at URL for the topic About, or no more for it (WebSub §5.1): Hop is
	// twice the number of the callback, and one more to unsubscribe. Its answer is a RUP.
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

// String is the word that logs use.
func (k AuxKind) String() string {
	if name, ok := auxNames[k]; ok {
		return name
	}
	return "unknown " + strconv.Itoa(int(k))
}

// AuxKinds are all kinds, in order. Each has a row in the frontier's table and, but for
// AuxTwin, in the fetcher's.
func AuxKinds() []AuxKind { return slices.Sorted(maps.Keys(auxNames)) }

// What AuxTwin wants of URL's origin.
const (
	TwinAsk    = 0 // to say what it is known as and how large it is; answered by a Claim
	TwinYield  = 1 // to be the mirror, if its own pages bear that out
	TwinYields = 2 // nothing: Origin has become its mirror, and it is to be none itself
)

// AuxRequest is a request that another part needs under this host's visit. It is answered by an
// event to ReplyShard. (Kind, URL, Origin) identifies it: asked twice, it is done once.
type AuxRequest struct {
	Kind   AuxKind
	URL    canon.URL
	Origin canon.Origin // on whose behalf
	// Which redirect in a row this is, from 1. AuxSitemap: how many indexes led here.
	// AuxFeed: the depth of what it names.
	Hop        int
	ReplyShard int

	// AuxSitemap, AuxFeed: as it was answered last, put in when the errand is granted; not
	// part of what identifies it.
	ETag         string
	LastModified string
	About        canon.URL // AuxWebSub: the topic
	// AuxRUP, AuxWebSub: the parameters to post, application/x-www-form-urlencoded; empty: a
	// GET of /rupinfo.txt. It may hold a registration key, so it is never logged, and put in when
	// the errand is granted; not part of what identifies it.
	Form string
}
