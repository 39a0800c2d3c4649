package crawl

import (
	"maps"
	"slices"
	"strconv"

	"github.com/curtsy/curtsy/pkg/canon"
)

// ErrandKind says what an errand is for. A new kind is a constant here and a row in errandNames.
type ErrandKind uint8

const (
	// ErrandRobots fetches the next hop of another origin's robots.txt redirect.
	ErrandRobots ErrandKind = 1
	// ErrandData fetches the next hop of another origin's /data.txt redirect, under the rules of
	// the host it leads to.
	ErrandData ErrandKind = 2
	// ErrandClaim asks what URL's origin says of itself in its robots.txt, for the mirror database
	// (protocols §2.4).
	ErrandClaim ErrandKind = 3
	// ErrandSample fetches a page, if the rules of its origin allow, to compare it with the same
	// page of Origin (§2.4 step 3).
	ErrandSample ErrandKind = 4
	// ErrandSitemap reads a sitemap that Origin's robots.txt vouches for.
	ErrandSitemap ErrandKind = 5
	// ErrandTwin is between frontiers and costs no request: Origin and URL's origin are www.h and
	// h, the same site perhaps (design §7). Hop says what is wanted: see the Twin constants.
	ErrandTwin ErrandKind = 6
	// ErrandNested reads the data.txt of a directory in which Origin's own /data.txt, or one nested
	// in it, says that there are datasets (docs/formats.md §5.4). It is on Origin itself. Hop is
	// how deep it is nested, from 1. Its answer is a Probe.
	ErrandNested ErrandKind = 7
	// ErrandRUP asks for Origin's /rupinfo.txt, at URL, or with Form for an action of its RUP-CGI
	// (protocols §6.2).
	ErrandRUP ErrandKind = 8
	// ErrandSecurityTxt asks for Origin's /.well-known/security.txt (RFC 9116).
	ErrandSecurityTxt ErrandKind = 9
	// ErrandLLMSTxt reads Origin's /llms.txt, whose links are taken for those of a page (signals.md
	// §6 row 22).
	ErrandLLMSTxt ErrandKind = 10
	// ErrandIndexNow asks for the key file of Origin at URL (signals.md §6 row 33).
	ErrandIndexNow ErrandKind = 11
	// ErrandFeed reads the feed at URL that pages of Origin announce. Hop is the depth of what it
	// names: one more than that of the page.
	ErrandFeed ErrandKind = 12
	// ErrandWebSub asks the hub at URL for the topic About, or no more for it (WebSub §5.1): Hop is
	// twice the number of the callback, and one more to unsubscribe. Its answer is a RUP.
	ErrandWebSub ErrandKind = 13
)

// errandNames has a row for each kind.
var errandNames = map[ErrandKind]string{
	ErrandRobots:  "robots",
	ErrandData:    "data",
	ErrandClaim:   "claim",
	ErrandSample:  "sample",
	ErrandSitemap: "sitemap",
	ErrandTwin:    "twin",
	ErrandNested:  "nested",
	ErrandRUP:     "rup",

	ErrandSecurityTxt: "security-txt",
	ErrandLLMSTxt:     "llms-txt",
	ErrandIndexNow:    "indexnow",
	ErrandFeed:        "feed",
	ErrandWebSub:      "websub",
}

// String is the word that logs use.
func (k ErrandKind) String() string {
	if name, ok := errandNames[k]; ok {
		return name
	}
	return "unknown " + strconv.Itoa(int(k))
}

// ErrandKinds are all kinds, in order. Each has a row in the frontier's table and, but for
// ErrandTwin, in the fetcher's.
func ErrandKinds() []ErrandKind { return slices.Sorted(maps.Keys(errandNames)) }

// What ErrandTwin wants of URL's origin.
const (
	TwinAsk    = 0 // to say what it is known as and how large it is; answered by a Claim
	TwinYield  = 1 // to be the mirror, if its own pages bear that out
	TwinYields = 2 // nothing: Origin has become its mirror, and it is to be none itself
)

// Errand is a request that another part needs under this host's visit. It is answered by an event
// to ReplyShard. (Kind, URL, Origin) identifies it: asked twice, it is done once.
type Errand struct {
	Kind   ErrandKind
	URL    canon.URL
	Origin canon.Origin // on whose behalf
	// Which redirect in a row this is, from 1. ErrandSitemap: how many indexes led here.
	// ErrandFeed: the depth of what it names.
	Hop        int
	ReplyShard int

	// ErrandSitemap, ErrandFeed: as it was answered last, put in when the errand is granted; not
	// part of what identifies it.
	ETag         string
	LastModified string
	About        canon.URL // ErrandWebSub: the topic
	// ErrandRUP, ErrandWebSub: the parameters to post, application/x-www-form-urlencoded; empty: a
	// GET of /rupinfo.txt. It may hold a registration key, so it is never logged, and put in when
	// the errand is granted; not part of what identifies it.
	Form string
}
