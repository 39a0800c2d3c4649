package hosts

import (
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// This file has the changes of a shard's state that other packages of the frontier ask for. The
// state changes in memory; the next commit writes it. A crash before that commit loses the change
// together with the position of the log, so a replay makes it again.

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
	return &Ledger{
		ID: o.ID, Path: o.Path, Log: o.Log, Judge: o.Judge, hooks: o.Hooks,
		Hosts: map[canon.Host]*Host{}, ByID: map[HostID]*Host{}, Domains: map[string]*Domain{},
		EventsOut: make(chan struct{}, 1), PagesOut: make(chan struct{}, 1),
	}
}

// Accept applies links that a feature found.
func (s *Ledger) Accept(l *crawl.Links, now time.Time) error { return s.hooks.Accept(l, now) }

// ReadRobots applies a robots.txt that an auxiliary request fetched.
func (s *Ledger) ReadRobots(f *crawl.Robots, visit crawl.VisitID, at, now time.Time) error {
	return s.hooks.ReadRobots(f, visit, at, now)
}

// Own makes the Ledger act for an owner of the shard: in that epoch, while valid returns true.
func (s *Ledger) Own(epoch uint64, valid func() bool) { s.Epoch, s.Valid = epoch, valid }

// Attach gives the Ledger what all shards of a process share. crawlLog may be nil.
func (s *Ledger) Attach(crawlLog io.Writer, b *budget.Budget, m *store.Metrics) {
	s.CrawlLog, s.Budget, s.Metrics = crawlLog, b, m
}

// OpenFile opens the shard's file, and creates it unless it is opened for reading only.
func (s *Ledger) OpenFile(readOnly bool) (err error) {
	s.DB, err = OpenDB(s.Path, readOnly)
	return err
}

// CloseFile closes the file. The transaction must have ended.
func (s *Ledger) CloseFile() error {
	db := s.DB
	s.DB = nil
	return db.Close()
}

// Begin begins the transaction through which everything is read, and written if write is true, and
// reads the shard's state.
func (s *Ledger) Begin(write bool) (err error) {
	if s.Tx, err = s.DB.Begin(write); err != nil {
		return err
	}
	if s.Meta, err = LoadMeta(s.Tx); err != nil {
		return err
	}
	if !write {
		s.Epoch = s.Meta.Epoch
	}
	return nil
}

// Show adds a host that was read from a file which is open for reading only.
func (s *Ledger) Show(h *Host) {
	h.belongTo(s)
	s.Hosts[h.Name], s.ByID[h.ID] = h, h
}

// Opened notes in the state that owner has opened the file in this epoch.
func (s *Ledger) Opened(owner string) {
	s.Meta.Epoch, s.Meta.Owner, s.Meta.Clean = s.Epoch, owner, false
}

// Left notes whether the owner leaves the shard in order: without an outstanding visit, or with
// those that the file lists.
func (s *Ledger) Left(clean bool) { s.Meta.Clean = clean }

// Booted notes on which boot of the machine the file is written.
func (s *Ledger) Booted(id string) { s.Meta.BootID = id }

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

// Applying sets the broker's time of the event that is being applied; the zero time: none is.
func (s *Ledger) Applying(sent time.Time) { s.At = sent }

// Applied moves the position in the log behind an event of so many bytes.
func (s *Ledger) Applied(seq uint64, sent time.Time, bytes int) {
	s.Meta.Seq, s.Meta.SeqTime = seq, sent.UnixNano()
	s.Meta.Applied += int64(bytes) + EntryOverhead
}

// Rewind sets the position in the log back, because the log was found to begin again. It returns
// the time of the event that was applied last (Unix ns); 0: nothing was applied since the position
// was set back before. A checkpoint is due, because no log contains what a rewind does.
func (s *Ledger) Rewind(seq uint64, at time.Time) (applied int64) {
	applied = s.Meta.SeqTime
	s.Meta.Gen++
	s.Meta.Seq, s.Meta.SeqTime = seq, 0
	if !at.IsZero() {
		s.Meta.SeqTime = at.UnixNano()
	}
	s.WantCheckpoint()
	return applied
}

// WantCheckpoint makes a checkpoint due, however little the log holds.
func (s *Ledger) WantCheckpoint() { s.CopySoon = true }

// CheckpointBegun reports whether WantCheckpoint was called since the last checkpoint began, and
// clears it.
func (s *Ledger) CheckpointBegun() (wanted bool) {
	wanted, s.CopySoon = s.CopySoon, false
	return wanted
}

// CheckpointMade notes a checkpoint that its record names.
func (s *Ledger) CheckpointMade(m Mark) { s.Meta.Mark = m }

// CommitTime makes the next commit write the state even if only its time has changed.
func (s *Ledger) CommitTime() { s.Saved = nil }

// DelayAll makes every host that is not in memory count as visited at a time.
func (s *Ledger) DelayAll(last time.Time) {
	s.Meta.DelayedUntil = max(s.Meta.DelayedUntil, last.UnixMilli())
}

// ShiftDelayAll moves the time of DelayAll to a clock that is ahead by so much.
func (s *Ledger) ShiftDelayAll(by time.Duration) {
	if s.Meta.DelayedUntil > 0 {
		s.Meta.DelayedUntil += by.Milliseconds()
	}
}

// BoundDelayAll moves the time of DelayAll back to most, if it is later.
func (s *Ledger) BoundDelayAll(most time.Time) {
	s.Meta.DelayedUntil = min(s.Meta.DelayedUntil, most.UnixMilli())
}

// Arrived notes that a file was restored from the checkpoint mark names, and moves the times of the
// state to the clock here, as if none had passed since the checkpoint was made. It returns by how
// much the other times of the file have to be moved.
func (m *Meta) Arrived(mark Mark, now time.Time) (shift time.Duration) {
	shift = now.Sub(time.UnixMilli(m.Written))
	m.Mark = mark
	if m.DelayedUntil > 0 {
		m.DelayedUntil += shift.Milliseconds()
	}
	// A later time would look like a clock that was set back, and the times would be moved again.
	m.Written = min(m.Written, now.UnixMilli())
	return shift
}

// PacesChanged notes that an operator may have slowed hosts down. Hosts that are not in memory find
// out when they are loaded.
func (s *Ledger) PacesChanged() { s.Meta.Paces++ }

// EvictForRecrawl sets whether hosts are evicted until URLs and sitemaps are requested again.
func (s *Ledger) EvictForRecrawl(on bool) { s.Meta.EvictRecrawl = on }

// AskedSitemaps notes by which settings all origins were asked for their sitemaps; "": by none.
func (s *Ledger) AskedSitemaps(text string) { s.Meta.Sitemaps = text }

// AskedUpdates notes whether all origins were asked for /rupinfo.txt.
func (s *Ledger) AskedUpdates(on bool) { s.Meta.Updates = on }

// GrantedStrangers notes that visits were granted to processes that may outlive this one.
func (s *Ledger) GrantedStrangers() { s.Meta.Strangers = true }

// NextOrder returns the number of a URL that is accepted now.
func (s *Ledger) NextOrder() uint64 {
	s.Meta.Order++
	return s.Meta.Order
}

// NextVisit returns the identity of a new visit. It is never given twice: the epoch of each owner
// is another.
func (s *Ledger) NextVisit() crawl.VisitID {
	s.VisitN++
	return crawl.VisitID{Epoch: s.Epoch, N: s.VisitN}
}

// NoPagesUntil makes no page be granted before t, because the page budget had none left.
func (s *Ledger) NoPagesUntil(t time.Time) { s.Spent = t }

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
	all := s.Misplaced
	s.Misplaced = s.Misplaced[:0]
	for _, h := range all {
		h.misplaced = false
	}
	return slices.DeleteFunc(all, func(h *Host) bool { return s.ByID[h.ID] != h })
}

// Changed counts a change that another package wrote to the transaction by itself.
func (s *Ledger) Changed() { s.Changes++ }

// NamesOpened notes how far the pass has come that accepts such names by another limit: up to the
// key next; nil: through all of them, by the limit most.
func (s *Ledger) NamesOpened(next []byte, most int64) {
	if s.Meta.OpenedTo = next; next == nil {
		s.Meta.MaxHosts = most
	}
}

// Begin begins the pass that plans when URLs are requested again, by the settings in text; "": no
// URL is.
func (p *Planning) Begin(text string) {
	if p.Spec != text {
		*p = Planning{Spec: text, Running: text != ""}
	}
}

// Again makes the next Begin start the pass, whatever the settings are.
func (p *Planning) Again() { *p = Planning{} }

// Step moves the pass on to the key next; nil: it is done.
func (p *Planning) Step(next []byte) { p.Next, p.Running = next, next != nil }

// Begin begins the pass that decides all URLs again, by other settings than was, which may allow
// less or more.
func (m *Judging) Begin(by, was *judge.Settings) {
	if m.By = by; !m.Running {
		m.Was = was
	}
	m.Running, m.Next = true, nil
}

// DecidedBy notes what URLs are decided by, without a pass.
func (m *Judging) DecidedBy(by *judge.Settings) { m.By = by }

// DecidedBy notes the fingerprint of what URLs are decided by.
func (m *Meta) DecidedBy(fingerprint string) { m.Spec = fingerprint }

// Step moves the pass on to the key next; nil: it is done, and Step returns false.
func (m *Judging) Step(next []byte) (more bool) {
	if m.Next = next; next != nil {
		return true
	}
	m.Running, m.Was = false, nil
	return false
}

// maxStoresSeen is how many identities of page stores are remembered.
const maxStoresSeen = 64

// Begin notes that the page store before identity was lost, with the pages of all visits up to
// newest. It reports false if that is known already.
func (l *lostStore) Begin(identity string, newest crawl.VisitID) (news bool) {
	if slices.Contains(l.Seen, identity) {
		return false
	}
	l.Seen = append(l.Seen, identity)
	l.Seen = l.Seen[max(len(l.Seen)-maxStoresSeen, 0):]
	l.Mark, l.Running, l.Next = newest, true, nil
	return true
}

// Step moves the pass that queues the lost pages again on to the key next; nil: it is done.
func (l *lostStore) Step(next []byte) { l.Next, l.Running = next, next != nil }
