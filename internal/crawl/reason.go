package crawl

// Reason is the documented code for why a URL is not stored.
type Reason string

// The reasons. docs/reference/reasons.md lists them with what an operator can do. The table of
// meanings below has what follows from each: a new reason is a constant here, a row there, a row on
// that page, and the place that assigns it.
const (
	// Refused.
	ReasonRobots  Reason = "robots"  // its robots.txt forbids it
	ReasonNoindex Reason = "noindex" // fetched, and the page asks not to be kept
	ReasonUsage   Reason = "usage"   // its site forbids all that the crawl is for (--purpose)
	ReasonPayment Reason = "payment" // 402: its site wants money for it, which is never paid
	// Outside the crawl's scope (after the scope was narrowed).
	ReasonScope     Reason = "scope"
	ReasonDepth     Reason = "depth"      // deeper than --max-depth
	ReasonHostLimit Reason = "host-limit" // --max-pages-per-host is reached
	ReasonTrap      Reason = "trap"       // looks like an endless space of URLs
	ReasonType      Reason = "type"       // of a type that the crawl does not keep (--types)
	ReasonTooLarge  Reason = "too-large"  // a document about datasets, too large to be kept
	ReasonCatalogue Reason = "catalogue"  // a catalogue of datasets longer than --max-catalogue
	ReasonRDF       Reason = "rdf"        // linked data in a form that is not read: Turtle, RDF/XML
	ReasonAddress   Reason = "address"    // the address dialled may not be (private, link-local, …)
	ReasonRedirects Reason = "redirects"  // too many redirects in a row
	ReasonPorts     Reason = "ports"      // more ports of one host than anyone needs
	ReasonMirror    Reason = "mirror"     // its host is a mirror of another
	ReasonHosts     Reason = "hosts"      // more names of its registered domain than are taken in
	ReasonForgotten Reason = "forgotten"  // taken out of the crawl by `curtsy forget`
	ReasonPlanned   Reason = "planned"    // it would be asked for; the crawl is only planned

	// Redirected.
	ReasonRedirect Reason = "redirect"
	// Its robots.txt calls a parameter meaningless: the URL without it counts.
	ReasonCleanParam Reason = "clean-param"

	// Failed (and, with Retry, the reason of the last attempt).
	ReasonHTTP4xx     Reason = "http-4xx"
	ReasonHTTP5xx     Reason = "http-5xx"
	ReasonHTTPOther   Reason = "http-other" // a status outside 200–599, or one we cannot use
	ReasonOverload    Reason = "overload"   // 429 or 503
	ReasonDNS         Reason = "dns"
	ReasonConnect     Reason = "connect"
	ReasonTLS         Reason = "tls"
	ReasonTimeout     Reason = "timeout"
	ReasonNetwork     Reason = "network"  // reset, closed early, truncated
	ReasonProtocol    Reason = "protocol" // the answer was not HTTP, or broke it
	ReasonTooSlow     Reason = "slow"     // under the minimum rate
	ReasonHeaders     Reason = "headers"  // header block over the limit
	ReasonEncoding    Reason = "encoding" // a body that cannot be decoded
	ReasonLocation    Reason = "location" // a redirect to nowhere usable
	ReasonStoreFailed Reason = "store-failed"
	// A PDF or another document of which nothing can be read within the limits.
	ReasonDocument   Reason = "document"
	ReasonUnreadable Reason = "unreadable" // reading it ended the indexer, or would have
)

// Trait is something that follows from a reason. Traits are combined with |.
type Trait uint16

// The traits. The first six name the settings that may let such a URL in again. A reason
// with none of them was not decided by a setting, or is undone by a pass of its own (hosts,
// mirror, forgotten).
const (
	// Scope, --max-depth, --max-pages-per-host: the URL is judged anew.
	UndoneBySpec    Trait = 1 << iota
	UndoneByAddress       // --allow-private and --contact
	UndoneByResolve       // --resolve of its host, which may lead to another server
	UndoneByAgent         // --agent: other rules may hold
	UndoneByPurpose       // --purpose: its site may allow another use
	UndoneByTypes         // --types: it may be of one that is kept now
	// It may be gone at the next attempt: `curtsy retry HOST` makes one.
	MayPass
	// --recrawl fetches such a URL again, although it is not stored and did not fail
	Recrawled
	// The main host's URL would be refused as well: a mirror does not hand this one on.
	SharedByMain
	// The copy of the page that is held goes; without it, the result says nothing against the copy.
	EndsCopy
	// Its site, or somebody here, wanted it so: a seed with this reason was not missed.
	Intended
)

// unreached is what all failures have in common that left us without a server which can be asked.
const unreached = UndoneByResolve | MayPass

// meanings has a row for each reason: the class of the URLs that have it, and what follows from it.
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
	ReasonUnreadable:  {Failed, 0},
}

// Has reports whether all of the traits follow from r. Nothing follows from a
// reason that is not known.
func (r Reason) Has(t Trait) bool { return meanings[r].traits&t == t }

// Class is the class of the URLs that have the reason r; Queued when r is not known.
func (r Reason) Class() Class { return meanings[r].class }
