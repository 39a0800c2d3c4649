package dashboard

import (
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
)

// reasonWords say in a few words what a reason means; the README has more of each.
var reasonWords = map[crawl.Reason]string{
	crawl.ReasonRobots:    "its robots.txt forbids it",
	crawl.ReasonNoindex:   "the page forbids storing it",
	crawl.ReasonUsage:     "it may not be used for search",
	crawl.ReasonPayment:   "the site asks for payment",
	crawl.ReasonPlanned:   "would be requested",
	crawl.ReasonScope:     "outside the scope",
	crawl.ReasonDepth:     "deeper than --max-depth",
	crawl.ReasonHostLimit: "beyond --max-pages-per-host",
	crawl.ReasonTrap:      "looks like an endless set of URLs",
	crawl.ReasonType:      "a type that is not stored (--types)",
	crawl.ReasonTooLarge:  "a dataset document that is too large",
	crawl.ReasonRDF:       "linked data in an unsupported format",
	crawl.ReasonCatalogue: "a dataset catalogue that is too long (--max-catalogue)",
	crawl.ReasonAddress:   "an address that may not be dialled",
	crawl.ReasonRedirects: "too many redirects in a row",
	crawl.ReasonPorts:     "too many ports of one host",
	crawl.ReasonMirror:    "stored under the main host's address",
	crawl.ReasonHosts:     "too many names of one domain",
	crawl.ReasonForgotten: "removed with curtsy forget",

	crawl.ReasonRedirect:   "redirects to another URL",
	crawl.ReasonCleanParam: "a parameter without meaning",

	crawl.ReasonHTTP4xx:     "the server answered 4xx, such as 404",
	crawl.ReasonHTTP5xx:     "the server answered 5xx",
	crawl.ReasonHTTPOther:   "the server answered another status",
	crawl.ReasonOverload:    "429 or 503 three times",
	crawl.ReasonDNS:         "the host name has no address",
	crawl.ReasonConnect:     "no connection",
	crawl.ReasonTLS:         "no secure connection",
	crawl.ReasonTimeout:     "no answer in time",
	crawl.ReasonNetwork:     "the connection broke",
	crawl.ReasonProtocol:    "the answer was not HTTP",
	crawl.ReasonTooSlow:     "the answer came too slowly",
	crawl.ReasonHeaders:     "headers past the limit",
	crawl.ReasonEncoding:    "a body that cannot be decoded",
	crawl.ReasonLocation:    "a redirect to nowhere",
	crawl.ReasonDocument:    "a document that cannot be read",
	crawl.ReasonStoreFailed: "our own disk could not store it",
	crawl.ReasonUnreadable:  "quarantined: reading it ended our process",
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
