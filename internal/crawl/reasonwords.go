package crawl

import (
	"maps"
	"slices"
)

// reasonWords say in a few words what a reason means; the reference has more of each.
var reasonWords = map[Reason]string{
	ReasonRobots:    "its robots.txt forbids it",
	ReasonNoindex:   "the page asks not to be indexed",
	ReasonUsage:     "the site does not allow this use (--purpose)",
	ReasonPayment:   "the site asks for payment",
	ReasonPlanned:   "would be fetched",
	ReasonScope:     "outside the scope",
	ReasonDepth:     "deeper than --max-depth",
	ReasonHostLimit: "beyond --max-pages-per-host",
	ReasonTrap:      "looks like an endless series of URLs",
	ReasonType:      "of a type that is not kept (--types)",
	ReasonTooLarge:  "a dataset document that is too large",
	ReasonRDF:       "linked data in a format that is not read",
	ReasonCatalogue: "a catalogue that is too long (--max-catalogue)",
	ReasonAddress:   "an address that may not be used (--allow-private)",
	ReasonRedirects: "too many redirects in a row",
	ReasonPorts:     "too many ports of one host",
	ReasonMirror:    "stored under the address of its main host",
	ReasonHosts:     "too many hosts of one domain",
	ReasonForgotten: "removed by curtsy forget",

	ReasonRedirect:   "redirects to another URL",
	ReasonCleanParam: "has a parameter that robots.txt calls meaningless",

	ReasonHTTP4xx:     "the server answered 4xx, for example 404",
	ReasonHTTP5xx:     "the server had an error (5xx)",
	ReasonHTTPOther:   "the server sent an unexpected status code",
	ReasonOverload:    "the server was overloaded (429 or 503) three times",
	ReasonDNS:         "the host name has no address",
	ReasonConnect:     "no connection to the server",
	ReasonTLS:         "no secure connection (TLS)",
	ReasonTimeout:     "no answer in time",
	ReasonNetwork:     "the connection broke",
	ReasonProtocol:    "the answer was not valid HTTP",
	ReasonTooSlow:     "the answer came too slowly",
	ReasonHeaders:     "the header of the answer was too large",
	ReasonEncoding:    "the body could not be decoded",
	ReasonLocation:    "a redirect without a usable target",
	ReasonDocument:    "a document that could not be read",
	ReasonStoreFailed: "our own disk did not accept it",
	ReasonUnreadable:  "quarantined: reading it ended our process",
}

// Words say what r means; of a reason that is not known nothing.
func (r Reason) Words() string { return reasonWords[r] }

// Reasons are all reasons there are, in alphabetical order.
func Reasons() []Reason { return slices.Sorted(maps.Keys(reasonWords)) }
