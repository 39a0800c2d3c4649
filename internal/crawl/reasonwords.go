package crawl

import (
	"maps"
	"slices"
)

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
	ReasonStoreFailed: "our own disk could not store it",
	ReasonUnreadable:  "quarantined: reading it ended our process",
}

// Words describes r in a few words. It is empty if r is unknown.
func (r Reason) Words() string { return reasonWords[r] }

// Reasons are all reasons in alphabetical order.
func Reasons() []Reason { return slices.Sorted(maps.Keys(reasonWords)) }
