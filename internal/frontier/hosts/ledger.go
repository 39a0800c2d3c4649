package hosts

import (
	"cmp"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Ledger is the hosts of one shard, and the file they are stored in. The caller of its methods must
// have locked Mu, unless a method's comment says otherwise. The file of a Reader's Ledger is
// read-only.
type Ledger struct {
	*store.File

	// The settings by which URLs are accepted or refused.
	Judge judge.Judge

	Domains
	Places
	Eviction

	Budget *budget.Budget
	Spent  time.Time // no page is granted before this time, because the budget was used up
	// Reserved is how many pages of the budget are reserved for mobile robots that are out.
	Reserved int64

	Aliases []crawl.Page // alias updates to send to the indexer with the next commit

	hooks Hooks

	// For people.
	Rate     Rate    // URLs finished
	Requests Rate    // requests sent
	Summary  Summary // of all hosts; it is reused for a while
}

// Options describe the shard of a Ledger.
type Options struct {
	ID    int
	Path  string // of its file
	Log   *slog.Logger
	Judge judge.Judge // what its URLs are decided by
	Hooks Hooks
}

// Hooks are what a Ledger calls in packages that stand above it. All are called with Mu held.
type Hooks struct {
	// Schedule puts hosts whose time may have changed back into the schedule.
	Schedule func(now time.Time)
	// Accept applies links that a feature found.
	Accept func(l *crawl.Links, now time.Time) error
	// ReadRobots applies a robots.txt that an auxiliary request fetched.
	ReadRobots func(f *crawl.Robots, visit crawl.VisitID, at, now time.Time) error
	// Uses reports that a package keeps a pointer to a host, which therefore stays in memory. It is
	// not asked about a host with a visit, auxiliary requests or a mirror's record.
	Uses func(h *Host) bool
	// Loaded is called with a visited host that was loaded into memory again.
	Loaded func(h *Host, now time.Time)
}

// New returns the Ledger of a shard whose file is still to be opened.
func New(o Options) *Ledger {
	s := &Ledger{Judge: o.Judge, hooks: o.Hooks}
	s.File = store.New(store.Options{
		ID: o.ID, Path: o.Path, Log: o.Log,
		Hooks: store.Hooks{BeforeCommit: s.beforeCommit, AfterUse: s.afterUse},
	})
	s.Domains = Domains{Loaded: map[string]*Domain{}, file: s.File}
	s.Eviction = Eviction{
		Hosts: map[canon.Host]*Host{}, ByID: map[store.HostID]*Host{},
		file: s.File, domains: &s.Domains, places: &s.Places, judge: &s.Judge, hooks: o.Hooks,
		index: evictedIndex{file: s.File},
	}
	return s
}

// beforeCommit writes the hosts and domains that changed.
func (s *Ledger) beforeCommit() error {
	if err := s.PutAway(); err != nil {
		return err
	}
	return s.Domains.save()
}

// afterUse updates the positions of changed hosts in the schedule, after an event, a tick or a
// grant.
func (s *Ledger) afterUse() {
	if len(s.misplaced) > 0 {
		s.hooks.Schedule(time.Now())
	}
}

// Accept applies links that a feature found.
func (s *Ledger) Accept(l *crawl.Links, now time.Time) error { return s.hooks.Accept(l, now) }

// ReadRobots applies a robots.txt that an auxiliary request fetched.
func (s *Ledger) ReadRobots(f *crawl.Robots, visit crawl.VisitID, at, now time.Time) error {
	return s.hooks.ReadRobots(f, visit, at, now)
}

// Attach gives the Ledger what all shards of a process share. crawlLog may be nil.
func (s *Ledger) Attach(crawlLog io.Writer, b *budget.Budget, m *store.Metrics) {
	s.Share(crawlLog, m)
	s.Budget = b
}

// Show adds a host that was read from a file which is open for reading only.
func (s *Ledger) Show(h *Host) {
	h.belongTo(&s.Eviction)
	s.Hosts[h.Name], s.ByID[h.ID] = h, h
}

// SetJudge makes URLs be decided by j from now on. What was summed up before counts no more.
func (s *Ledger) SetJudge(j judge.Judge) {
	s.Judge = j
	s.Outdate()
}

// Outdate makes the next answer about all hosts be computed again.
func (s *Ledger) Outdate() { s.Summary = Summary{} }

// Summarised keeps what a pass over all hosts has found.
func (s *Ledger) Summarised(m Summary) *Summary {
	s.Summary = m
	return &s.Summary
}

// NoPagesUntil makes no page be granted before t, because the page budget had none left.
func (s *Ledger) NoPagesUntil(t time.Time) { s.Spent = t }

// ReservePages reserves n more pages of the budget for mobile robots that are out; fewer if n is
// negative.
func (s *Ledger) ReservePages(n int64) { s.Reserved += n }

// AddAlias adds a message for the indexer about an alias, or about a page that is to be dropped.
func (s *Ledger) AddAlias(p crawl.Page) { s.Aliases = append(s.Aliases, p) }

// TakeAliases returns the messages that AddAlias collected, and forgets them.
func (s *Ledger) TakeAliases() (list []crawl.Page) {
	list, s.Aliases = s.Aliases, nil
	return list
}

// TakeUnscheduled returns the hosts in memory that may belong elsewhere in the schedule, and counts
// them as scheduled. The slice is good until the next call of Unschedule.
func (s *Ledger) TakeUnscheduled() []*Host {
	return slices.DeleteFunc(s.take(), func(h *Host) bool { return s.ByID[h.ID] != h })
}

// SortedHosts returns the hosts in memory in the order of their names.
func (s *Ledger) SortedHosts() []*Host {
	return slices.SortedFunc(maps.Values(s.Hosts), func(a, b *Host) int { return cmp.Compare(a.Name, b.Name) })
}
