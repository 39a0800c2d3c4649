package crawl

import (
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// RightsFile is a file of an origin that says what its pages may be used for, apart from
// robots.txt: its /.well-known/tdmrep.json, or a licence document that robots.txt names on the same
// origin (formats §8.17, §8.19). It is asked for only by crawls for more than search. Like Robots
// it travels both ways.
type RightsFile struct {
	URL   canon.URL
	State RightsState
	// One S2 block of at most 1 MiB; empty in a visit when large (then ask by Digest).
	Body   []byte
	Digest []byte        // SHA-256 of Body; empty when there is none
	Fresh  time.Duration // how much longer it holds; ≤ 0: ask again first
	Reason string        // for people: why there is none, or why it could not be had
}

// RightsState is what asking for such a file led to.
type RightsState uint8

// The states.
const (
	RightsUnknown RightsState = iota // never asked for
	RightsNone                       // the site has none
	RightsRead                       // Body
	RightsLost                       // nobody knows: it could not be had
)

// TDMRepPath is where an origin has its tdmrep.json.
const TDMRepPath = "/.well-known/tdmrep.json"

// MaxAparts is how many such files of one origin are asked for, and kept.
const MaxAparts = 4
