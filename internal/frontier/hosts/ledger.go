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

// Ledger is the state of one shard. The caller of its methods must have locked Mu, unless a
// method's comment says otherwise. The file of a Reader's Ledger is read-only.
type Ledger struct {
	ID       int
	Path     string
	Log      *slog.Logger
	CrawlLog io.Writer // the crawl log, or nil
	Epoch    uint64
	Valid    func() bool // reports whether we may act as the owner now

	Mu sync.Mutex // guards everything below

	// The file, and how far its owner has got with it.
	DB      *boltfile.File
	Tx      *bolt.Tx
	blocks  blocks // of Tx (blocks.go)
	Meta    Meta
	Saved   []byte // Meta as it was committed last
	Changes int    // number of writes, done or due, since then
	Phase   Phase
	At      time.Time // the broker's time of the event being applied; zero between events

	// The settings by which URLs are accepted or refused.
	Judge judge.Judge

	// Hosts in memory (residence.go) and their domains (domains.go).
	Hosts    map[canon.Host]*Host
	ByID     map[HostID]*Host
	dirty    []*Host // hosts that differ from their records
	loaded   []*Host // hosts loaded since the last commit
	resident int     // number of hosts in memory that were never visited
	staying  int     // number of hosts in memory that were visited and must not be evicted
	// Evictable hosts that stay because memory is free; some may have been evicted since
	idle     []*Host
	evicting bool     // BucketEvicted may have entries
	waiting  bool     // BucketWaiting may have entries
	ToEvict  []HostID // hosts of an older file that are still to be evicted
	lately   lately   // hosts that were evicted lately (lately.go)

	Domains      map[string]*Domain
	dirtyDomains []*Domain
	looseDomains []*Domain // domains that may no longer be needed in memory

	// When a host may be visited next.
	Due Schedule
	// Hosts whose position in Due must be updated; some may have been evicted since
	Misplaced []*Host

	VisitN uint64 // number of the last visit granted
	Budget *budget.Budget
	Spent  time.Time // no page is granted before this time, because the budget was used up

	CopySoon bool // a checkpoint is due, whatever the log holds

	Aliases []crawl.Page // alias updates to send to the indexer then

	// Messages to other shards and to the indexers that were not sent yet.
	Outbox       []OutMessage // not yet sent, in order
	pendingBytes int          // total size of Outbox
	crammed      bool         // Outbox was too large at the last commit
	// Links found in this transaction for other shards, as one event for each shard
	forward     map[int][]byte
	CommittedTo uint64   // outbox number up to which the commit is done
	sent        []uint64 // messages that were sent, to be deleted with the next commit
	// Signalled when the outbox may have something committed to send: events, pages.
	EventsOut, PagesOut chan struct{}

	hooks Hooks

	// For people.
	Lines []byte // crawl log lines of this transaction
	// Time of the oldest line that the crawl log may already contain; zero: none
	repeated time.Time
	// Removes the lines that the crawl log contains; nil: not read yet
	without func(lines []byte) []byte
	Rate    Rate // URLs finished
	// Requests sent.
	Requests Rate
	Summary  Summary        // of all hosts; it is reused for a while
	Metrics  *store.Metrics // nil in a Reader
}
