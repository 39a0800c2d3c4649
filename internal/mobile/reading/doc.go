// Package reading is the language of Curtsy's page reader, the mobile robot that a crawl sends to a
// site's own machine: the [Input] that tells it what to read, and the [Record] that it sends for
// each document.
//
//	known := reading.MakeTable(hashes)
//	in := reading.Input{Token: "curtsy", Want: reading.Pages, MaxSize: 10 << 20, Known: known}
//	octets, err := in.Encode()
//
//	record, err := reading.ParseRecord(octets)
//	switch record.Kind {
//	case reading.Document: …
//
// A crawl tells the robot which documents it has stored, as a [Table] of [KnownHash]es. Of such a
// document only the path travels.
//
// Both sides distrust each other, so each field has a limit, and each value has one spelling. The
// package is compiled into the robot. It therefore imports next to nothing, and above all neither
// fmt nor encoding/json.
package reading

// MaxPath is the longest path of a document, in octets: that of the longest canonical URL. The path
// includes the query, if the document has one.
const MaxPath = 2048

// validPath reports whether s is the path of a document in canonical spelling, as far as its octets
// show. It may have a query.
func validPath(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '#' {
			return false
		}
	}
	return s != "" && s[0] == '/' && len(s) <= MaxPath
}

// refusal is an error with its reason.
type refusal struct {
	kind error
	why  string
}

func (r *refusal) Error() string { return r.kind.Error() + ": " + r.why }

func (r *refusal) Unwrap() error { return r.kind }
