package crawl

import (
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Reason is the documented code of the reason why a URL is not stored.
type Reason string

// The reasons. docs/reference/reasons.md lists them with what an operator can do. The table
// meanings below has the consequences of each. A new reason is a constant here, a row in the table,
// a row on that page, and the place that assigns it.
const (
	// Refused.
	ReasonRobots  Reason = "robots"  // its robots.txt forbids it
	ReasonNoindex Reason = "noindex" // fetched, and the page must not be stored
	ReasonUsage   Reason = "usage"   // its site forbids all purposes of the crawl (--purpose)
	ReasonPayment Reason = "payment" // 402: its site asks for money, which is never paid
	// Outside the crawl's scope, after the scope was narrowed.
	ReasonScope     Reason = "scope"
	ReasonDepth     Reason = "depth"      // deeper than --max-depth
	ReasonHostLimit Reason = "host-limit" // --max-pages-per-host is reached
	ReasonTrap      Reason = "trap"       // looks like an endless space of URLs
	ReasonType      Reason = "type"       // of a type that the crawl does not store (--types)
	ReasonTooLarge  Reason = "too-large"  // a document about datasets over the limit
	ReasonCatalogue Reason = "catalogue"  // a catalogue of datasets longer than --max-catalogue
	ReasonRDF       Reason = "rdf"        // linked data that describes no dataset, or in Notation3
	ReasonAddress   Reason = "address"    // its address is not allowed (private, link-local, …)
	ReasonRedirects Reason = "redirects"  // too many redirects in a row
	ReasonPorts     Reason = "ports"      // too many ports of one host
	ReasonMirror    Reason = "mirror"     // its host is a mirror of another
	ReasonHosts     Reason = "hosts"      // too many names of its registered domain
	ReasonForgotten Reason = "forgotten"  // removed from the crawl by `curtsy forget`
	ReasonPlanned   Reason = "planned"    // it would be fetched, but the crawl is only planned
	ReasonSiteRule  Reason = "site-rule"  // fetched, and a site rule skips the page (--sites)

	// Redirected.
	ReasonRedirect Reason = "redirect"
	// Its robots.txt declares a parameter irrelevant, so the URL without it is used.
	ReasonCleanParam Reason = "clean-param"

	// Failed (and, with Retry, the reason of the last attempt).
	ReasonHTTP4xx     Reason = "http-4xx"
	ReasonHTTP5xx     Reason = "http-5xx"
	ReasonHTTPOther   Reason = "http-other" // a status outside 200–599, or an unusable one
	ReasonOverload    Reason = "overload"   // 429 or 503
	ReasonDNS         Reason = "dns"
	ReasonConnect     Reason = "connect"
	ReasonTLS         Reason = "tls"
	ReasonTimeout     Reason = "timeout"
	ReasonNetwork     Reason = "network"  // reset, closed early, truncated
	ReasonProtocol    Reason = "protocol" // the response was not HTTP, or invalid
	ReasonTooSlow     Reason = "slow"     // under the minimum rate
	ReasonHeaders     Reason = "headers"  // header block over the limit
	ReasonEncoding    Reason = "encoding" // a body that cannot be decoded
	ReasonLocation    Reason = "location" // a redirect without a usable target
	ReasonStoreFailed Reason = "store-failed"
	// A PDF or another document that cannot be read within the limits.
	ReasonDocument   Reason = "document"
	ReasonRendering  Reason = "rendering"  // what its scripts need could not be requested
	ReasonUnreadable Reason = "unreadable" // reading it crashed the indexer, or would have
)

// Trait is a consequence of a reason. Traits are combined with |.
type Trait uint16

// The traits. The first seven name the settings that may accept such a URL again. A reason without
// any of them does not depend on a setting, or has a pass of its own (hosts, mirror, forgotten).
const (
	// Scope, --max-depth, --max-pages-per-host: the URL is decided again.
	UndoneBySpec    Trait = 1 << iota
	UndoneByAddress       // --allow-private and --contact
	UndoneByResolve       // --resolve of its host, which may lead to another server
	UndoneByAgent         // --agent: other rules may apply
	UndoneByPurpose       // --purpose: its site may allow another use
	UndoneByTypes         // --types: its type may be stored now
	UndoneBySites         // --sites: other rules may want the page
	// The problem may be temporary: `curtsy retry HOST` makes another attempt.
	MayPass
	// --recrawl fetches such a URL again, although it is not stored and did not fail.
	Recrawled
	// The URL of the main host would be refused as well, so a mirror does not forward this one.
	SharedByMain
	// The stored copy of the page is deleted. Without this trait the copy stays.
	EndsCopy
	// Its site or the operator wants it so. A seed with this reason is not a problem.
	Intended
)

// unreached are the common traits of failures without a reachable server.
const unreached = UndoneByResolve | MayPass

// meanings has a row for each reason: the class of its URLs, and its consequences.
var meanings = map[Reason]struct {
	class  Class
	traits Trait
}{
	ReasonRobots:    {Refused, UndoneByAgent | Recrawled | EndsCopy},
	ReasonNoindex:   {Refused, Recrawled | EndsCopy | Intended},
	ReasonUsage:     {Refused, UndoneByAgent | UndoneByPurpose | Recrawled | EndsCopy},
	ReasonPayment:   {Refused, UndoneByAgent | Recrawled | EndsCopy},
	ReasonScope:     {Refused, UndoneBySpec | SharedByMain | EndsCopy},
	ReasonDepth:     {Refused, UndoneBySpec | SharedByMain | EndsCopy},
	ReasonHostLimit: {Refused, UndoneBySpec | EndsCopy},
	ReasonTrap:      {Refused, UndoneBySpec | SharedByMain | EndsCopy},
	ReasonType:      {Refused, UndoneByTypes | EndsCopy},
	ReasonTooLarge:  {Refused, EndsCopy},
	ReasonCatalogue: {Refused, EndsCopy},
	ReasonRDF:       {Refused, EndsCopy},
	ReasonAddress:   {Refused, UndoneByAddress | UndoneByResolve},
	ReasonRedirects: {Refused, Recrawled | SharedByMain | EndsCopy},
	ReasonPorts:     {Refused, SharedByMain | EndsCopy},
	ReasonMirror:    {Refused, EndsCopy | Intended},
	ReasonHosts:     {Refused, EndsCopy},
	ReasonForgotten: {Refused, SharedByMain | EndsCopy | Intended},
	ReasonPlanned:   {Refused, Intended},
	ReasonSiteRule:  {Refused, UndoneBySites | Recrawled | EndsCopy | Intended},

	ReasonRedirect:   {Redirected, Recrawled | EndsCopy},
	ReasonCleanParam: {Redirected, EndsCopy},

	ReasonHTTP4xx:     {Failed, EndsCopy},
	ReasonHTTP5xx:     {Failed, MayPass},
	ReasonHTTPOther:   {Failed, 0},
	ReasonOverload:    {Failed, MayPass},
	ReasonDNS:         {Failed, unreached},
	ReasonConnect:     {Failed, unreached},
	ReasonTLS:         {Failed, unreached},
	ReasonTimeout:     {Failed, unreached},
	ReasonNetwork:     {Failed, unreached},
	ReasonProtocol:    {Failed, MayPass},
	ReasonTooSlow:     {Failed, MayPass},
	ReasonHeaders:     {Failed, 0},
	ReasonEncoding:    {Failed, 0},
	ReasonLocation:    {Failed, 0},
	ReasonStoreFailed: {Failed, MayPass},
	ReasonDocument:    {Failed, UndoneByTypes | MayPass | EndsCopy},
	ReasonRendering:   {Failed, unreached},
	ReasonUnreadable:  {Failed, 0},
}

// Has reports whether r has all of the traits. An unknown reason has none.
func (r Reason) Has(t Trait) bool { return meanings[r].traits&t == t }

// Class is the class of URLs with the reason r; Queued if r is unknown.
func (r Reason) Class() Class { return meanings[r].class }

// reasonWords describe each reason in a few words. The reference has more about each.
var reasonWords = map[Reason]string{
	ReasonRobots:    "its robots.txt forbids it",
	ReasonNoindex:   "the page forbids storing it",
	ReasonUsage:     "its site does not allow this use (--purpose)",
	ReasonPayment:   "the site asks for payment",
	ReasonPlanned:   "would be requested",
	ReasonScope:     "outside the scope",
	ReasonDepth:     "deeper than --max-depth",
	ReasonHostLimit: "beyond --max-pages-per-host",
	ReasonTrap:      "looks like an endless set of URLs",
	ReasonType:      "a type that is not stored (--types)",
	ReasonTooLarge:  "a dataset document that is too large",
	ReasonRDF:       "linked data in an unsupported format",
	ReasonCatalogue: "a dataset catalogue that is too long (--max-catalogue)",
	ReasonAddress:   "an address that may not be dialled",
	ReasonRedirects: "too many redirects in a row",
	ReasonPorts:     "too many ports of one host",
	ReasonMirror:    "stored under the main host's address",
	ReasonHosts:     "too many names of one domain",
	ReasonForgotten: "removed with curtsy forget",
	ReasonSiteRule:  "a site rule skips the page (--sites)",

	ReasonRedirect:   "redirects to another URL",
	ReasonCleanParam: "a parameter without meaning",

	ReasonHTTP4xx:     "the server answered 4xx, such as 404",
	ReasonHTTP5xx:     "the server answered 5xx",
	ReasonHTTPOther:   "the server answered another status",
	ReasonOverload:    "429 or 503 three times",
	ReasonDNS:         "the host name has no address",
	ReasonConnect:     "no connection",
	ReasonTLS:         "no secure connection",
	ReasonTimeout:     "no answer in time",
	ReasonNetwork:     "the connection broke",
	ReasonProtocol:    "the answer was not HTTP",
	ReasonTooSlow:     "the answer came too slowly",
	ReasonHeaders:     "headers past the limit",
	ReasonEncoding:    "a body that cannot be decoded",
	ReasonLocation:    "a redirect to nowhere",
	ReasonDocument:    "a document that cannot be read",
	ReasonRendering:   "what its scripts need could not be requested",
	ReasonStoreFailed: "our own disk could not store it",
	ReasonUnreadable:  "quarantined: reading it ended our process",
}

// Words describes r in a few words. It is empty if r is unknown.
func (r Reason) Words() string { return reasonWords[r] }

// Reasons are all reasons in alphabetical order.
func Reasons() []Reason { return slices.Sorted(maps.Keys(reasonWords)) }

// MaxDetail limits the detail of a reason that is stored with a URL or an origin, in bytes. Details
// are written by strangers: a rule of a robots.txt may have 500 KiB, and a Content-Type 64 KiB.
const MaxDetail = 256

// ShortDetail returns s, or the beginning of s with a note of its length, in MaxDetail bytes at
// most. Fetchers send, and frontiers store, no more than this.
func ShortDetail(s string) string {
	if len(s) <= MaxDetail {
		return s
	}
	mark := "… (cut, " + strconv.Itoa(len(s)) + " bytes)"
	n := MaxDetail - len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}
