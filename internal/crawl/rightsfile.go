package crawl

import (
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// RightsFile is a file of an origin, other than robots.txt, that states what its pages may be used
// for. It is /.well-known/tdmrep.json, or a licence document on the same origin that robots.txt
// names (formats §8.17, §8.19). Only crawls with purposes other than search fetch it. Like Robots,
// it is sent from the fetcher to the frontier and back.
type RightsFile struct {
	URL   canon.URL
	State RightsState
	// Body is one S2 block of at most 1 MiB. In a visit it is empty if it is large; then the
	// fetcher requests it by Digest.
	Body   []byte
	Digest []byte        // SHA-256 of Body; empty if there is none
	Fresh  time.Duration // how much longer it is valid; ≤ 0: it must be fetched again first
	Reason string        // for people: why there is none, or why it could not be fetched
}

// RightsState is the result of fetching a RightsFile.
type RightsState uint8

// The states.
const (
	RightsUnknown RightsState = iota // not fetched yet
	RightsNone                       // the site has none
	RightsRead                       // Body
	RightsLost                       // it could not be fetched
)

// TDMRepPath is the path of tdmrep.json.
const TDMRepPath = "/.well-known/tdmrep.json"

// MaxAparts is how many RightsFiles of one origin are fetched and stored.
const MaxAparts = 4
