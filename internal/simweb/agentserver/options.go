package agentserver

import (
	"cmp"
	"time"

	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/atp"
)

// Document is a document of the site.
type Document struct {
	Path   string // canonical, without a query
	Type   string // its Content-Type; "" states none
	Header []string
	Body   []byte
}

// Options are what a server needs to know. Address, Origin and Documents must be set.
type Options struct {
	Address atp.Address // of this server; tickets must name it
	Origin  string      // of the site; tickets must name it
	// Documents returns the documents that robots.txt opens to a product token, as they are now, in
	// the order of the octets of their paths. It is called concurrently.
	Documents func(token string) []Document
	Log       *requestlog.Log // of the simulated web; nil: nothing is logged
	// CrawlDelay is the delay that the host of the server requests from a product token, if the
	// crawl must know it because the site itself is on this host; nil: none.
	CrawlDelay func(token string) time.Duration
	Behavior
}

// Behavior is how a server works and fails. The zero value is an honest and fast server that knows
// all keys.
type Behavior struct {
	Seed  int64
	Keys  []string // the keys that may send robots, as in mobile.KeyText; empty: all
	Slots int      // robots at the same time; 0: 1

	Block int           // octets of results that are compressed together; 0: 16 KiB
	Pace  time.Duration // time for each document; 0: none
	Rate  int           // octets a second of the response to a FETCH; 0: no limit

	Busy       int           // so many robots are refused at first, with 503 and a Retry-After
	RetryAfter time.Duration // of these refusals; 0: 30 s
	Cuts       int           // so many responses to FETCH are cut somewhere, with a reset
	// Forgets is how often the server restarts without its files: before the second FETCH of a run.
	Forgets int

	Hostile Hostile
}

// Hostile is a way to cheat.
type Hostile string

// The ways. A server does nothing else wrong at the same time.
const (
	Honest Hostile = ""
	// Invented adds pages that the site does not have, with links to more of them.
	Invented Hostile = "invented"
	// Elsewhere sends pages with paths that are not below the path that it was asked for, or that
	// look like those of another site.
	Elsewhere Hostile = "elsewhere"
	// Altered sends other content for each page, AlteredTenth for about one page in ten.
	Altered      Hostile = "altered"
	AlteredTenth Hostile = "altered-tenth"
	// Unmarked leaves out the header lines and tags that forbid to index pages.
	Unmarked Hostile = "unmarked"
	// TooMany ignores how many pages it may send, and which ones are known.
	TooMany Hostile = "too-many"
	// Garbage sends no stream of results: random octets, frames of unknown kinds, or records of
	// unknown kinds.
	Garbage Hostile = "garbage"
	// Endless sends lines of the log and pages without an end, as fast as they are read.
	Endless Hostile = "endless"
	// Drip sends a line of the log now and then, without an end.
	Drip Hostile = "drip"
	// Bomb sends records of nearly 32 MiB that are compressed to a few octets.
	Bomb Hostile = "bomb"
	// WrongID answers DISPATCH without an Agent-Id, with an invalid one, or with one that it does
	// not know later.
	WrongID Hostile = "wrong-id"
	// WrongRange answers a FETCH from an octet on with the stream from its beginning.
	WrongRange Hostile = "wrong-range"
)

// Ways are all ways to cheat.
func Ways() []Hostile {
	return []Hostile{Invented, Elsewhere, Altered, AlteredTenth, Unmarked, TooMany, Garbage, Endless, Drip, Bomb, WrongID, WrongRange}
}

func (b Behavior) withDefaults() Behavior {
	b.Slots = cmp.Or(max(b.Slots, 0), 1)
	b.Block = cmp.Or(max(b.Block, 0), 16<<10)
	b.RetryAfter = cmp.Or(max(b.RetryAfter, 0), 30*time.Second)
	return b
}
