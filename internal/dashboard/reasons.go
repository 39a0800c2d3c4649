package dashboard

import (
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
)

// reasonWords are what a reason means in a few words; docs/reference/reasons.md has more of each.
var reasonWords = map[crawl.Reason]string{
	crawl.ReasonRobots:    "its robots.txt forbids it",
	crawl.ReasonNoindex:   "the page asks not to be kept",
	crawl.ReasonUsage:     "it may not be used for search",
	crawl.ReasonPayment:   "the site wants to be paid for it",
	crawl.ReasonPlanned:   "would be asked for",
	crawl.ReasonScope:     "outside the scope",
	crawl.ReasonDepth:     "deeper than --max-depth",
	crawl.ReasonHostLimit: "beyond --max-pages-per-host",
	crawl.ReasonTrap:      "looks like an endless space of URLs",
	crawl.ReasonType:      "of a type that is not kept (--types)",
	crawl.ReasonTooLarge:  "too large a document about datasets",
	crawl.ReasonRDF:       "linked data in a form that is not read",
	crawl.ReasonCatalogue: "too long a catalogue of datasets (--max-catalogue)",
	crawl.ReasonAddress:   "an address that may not be dialled",
	crawl.ReasonRedirects: "too many redirects in a row",
	crawl.ReasonPorts:     "one host under too many ports",
	crawl.ReasonMirror:    "kept under the main host's address",
	crawl.ReasonHosts:     "too many names of one domain",
	crawl.ReasonForgotten: "taken out with curtsy forget",

	crawl.ReasonRedirect:   "it led elsewhere",
	crawl.ReasonCleanParam: "a parameter that means nothing",

	crawl.ReasonHTTP4xx:     "the server says there is nothing",
	crawl.ReasonHTTP5xx:     "the server had an error",
	crawl.ReasonHTTPOther:   "the server said something odd",
	crawl.ReasonOverload:    "429 or 503 three times",
	crawl.ReasonDNS:         "its name has no address",
	crawl.ReasonConnect:     "no connection",
	crawl.ReasonTLS:         "no safe connection",
	crawl.ReasonTimeout:     "no answer in time",
	crawl.ReasonNetwork:     "the connection broke",
	crawl.ReasonProtocol:    "the answer was not HTTP",
	crawl.ReasonTooSlow:     "the answer came too slowly",
	crawl.ReasonHeaders:     "headers past the limit",
	crawl.ReasonEncoding:    "a body that cannot be decoded",
	crawl.ReasonLocation:    "a redirect to nowhere",
	crawl.ReasonDocument:    "a document of which nothing can be read",
	crawl.ReasonStoreFailed: "our own disk would not take it",
	crawl.ReasonUnreadable:  "set aside: reading it ended our process",
}

// allReasons are the reasons there are, in the order of the alphabet.
var allReasons = func() (all []string) {
	for r := range reasonWords {
		all = append(all, string(r))
	}
	slices.Sort(all)
	return all
}()

// reasonWord says what a reason means; of one that is not known nothing.
func reasonWord(reason string) string { return reasonWords[crawl.Reason(reason)] }
