package hosts

import (
	"io"
	"log/slog"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Ledger is the books of one shard. All its methods expect Mu held unless they say otherwise; a
// Reader has one whose file is read only.
type Ledger struct {
	ID       int
	Path     string
	Log      *slog.Logger
	CrawlLog io.Writer // the crawl log, or nil
	Epoch    uint64
	Valid    func() bool // may we act as the owner now

	Mu sync.Mutex // guards everything below

	// The file, and how far its owner is with it.
	DB      *boltfile.File
	Tx      *bolt.Tx
	blocks  blocks // of Tx (blocks.go)
	Meta    Meta
	Saved   []byte // m as it was committed last
	Changes int    // written, or to be written, since then
	Phase   Phase
	At      time.Time // the broker's time of the event being applied; zero between events

	// What URLs are judged by.
	Judge judge.Judge

	// Hosts in memory (residence.go) and their domains (domains.go).
	Hosts    map[canon.Host]*Host
	ByID     map[HostID]*Host
	dirty    []*Host  // they differ from their records
	loaded   []*Host  // taken into memory since the last commit
	resident int      // how many were never visited
	staying  int      // how many were, and may not rest
	idle     []*Host  // in memory since there was room; some may have left it since
	evicting bool     // hosts with work may rest on disk
	sleepers bool     // hosts with work may sleep on disk
	ToSleep  []HostID // hosts of an older file that are still to be put there
	lately   lately   // hosts that left memory (lately.go)

	Domains      map[string]*Domain
	dirtyDomains []*Domain
	looseDomains []*Domain // perhaps no longer needed in memory

	// When a host may be visited next.
	Due       Schedule
	Misplaced []*Host // to be put in their places in due; some may have left memory since

	VisitN uint64 // of the last one
	Budget *budget.Budget
	Spent  time.Time // no page is granted before: the budget had no room

	CopySoon bool // one is due whatever the log holds

	Aliases []crawl.Page // what to tell the indexer then

	// What is owed to other shards and to the indexer.
	Outbox       []OutMessage   // not yet sent, in order
	pendingBytes int            // bytes of them
	crammed      bool           // they were too many at the last commit
	forward      map[int][]byte // links of this transaction for other shards, as one event for each
	CommittedTo  uint64         // outbox number up to which the commit is done
	sent         []uint64       // sent, to be deleted with the next commit
	// Signalled when the outbox may have something committed to send: events, pages.
	EventsOut, PagesOut chan struct{}

	hooks Hooks

	// For people.
	Lines    []byte                    // crawl log lines of this transaction
	repeated time.Time                 // of the oldest that the crawl log may have; zero: none
	without  func(lines []byte) []byte // leaves those out; nil: not read yet
	Rate     Rate                      // of URLs finished
	// Of requests sent.
	Requests Rate
	Summary  Summary        // of all hosts, kept for a while
	Metrics  *store.Metrics // nil in a Reader
}
