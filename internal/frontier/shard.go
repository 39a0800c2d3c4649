package frontier

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Shard is one shard of the frontier: the parts that the packages implement, and what connects
// them. It applies the shard's log and returns its status. The caller of its methods holds the
// ledger's lock, unless a method's comment says otherwise.
type Shard struct {
	account     *shard.Account
	datafiles   *wellknown.DataFiles
	features    *hosts.Features
	history     *shard.History
	robotsProxy *wellknown.RobotsProxy
	ledger      *hosts.Ledger
	links       *shard.Links
	mirrors     *mirrors.Mirrors
	passes      *shard.Passes
	polite      *polite.Polite
	recrawl     *urls.Recrawl
	rupsites    *updates.RUPSites
	indexnow    *updates.IndexNow
	feeds       *wellknown.Feeds
	websub      *updates.WebSub
	sitemaps    *wellknown.Sitemaps
	timeline    *schedule.Timeline
	urls        *urls.URLs
	visits      *schedule.Visits

	traces *tracing.Crawl // nil: none are made

	was hosts.Meta // Meta as it was in the file when it was opened

	opened time.Time // when the file was read
	clock  watchClock

	// Checkpoints.
	copies     int      // number made in this epoch
	chain      chain    // the last of them that was recorded
	unreadable []string // those named in the ownership record that could not be read
}

// newShard makes a shard whose file is still to be opened.
func newShard(id int, path string, j judge.Judge, log *slog.Logger) *Shard {
	s := &Shard{}
	s.wire(hosts.Options{ID: id, Path: path, Log: log, Judge: j})
	return s
}

// openShard opens the file of a shard, creates it when there is none, and loads its hosts.
func openShard(dir string, id int, j judge.Judge, epoch uint64, owner string, valid func() bool, log *slog.Logger) (*Shard, error) {
	s := newShard(id, filepath.Join(dir, hosts.FileName(id)), j, log.With("shard", id))
	s.ledger.Own(epoch, valid)
	if err := s.ledger.OpenFile(false); err != nil {
		return nil, err
	}
	if err := s.ledger.Guarded(func() error { return s.load(owner) }); err != nil {
		if s.ledger.Tx != nil {
			s.ledger.Tx.Rollback() // Close waits for it
		}
		err = s.ledger.Blame(err)
		s.ledger.CloseFile()
		return nil, err
	}
	return s, nil
}

func (s *Shard) load(owner string) error {
	if err := s.ledger.Begin(true); err != nil {
		return err
	}
	now := time.Now()
	s.opened = now
	s.clock.seen(now.Round(0), 0)
	if err := s.ledger.LoadHosts(); err != nil {
		return err
	}
	if err := s.features.LoadAux(); err != nil {
		return err
	}
	if err := s.ledger.LoadOutbox(); err != nil {
		return err
	}
	s.urls.LoadLater()
	if err := s.features.Load(now); err != nil {
		return err
	}
	if behind := s.ledger.Meta.Written - now.UnixMilli(); s.ledger.Meta.Written > 0 && behind > clockJump.Milliseconds() {
		by := time.Duration(behind) * time.Millisecond
		if err := s.ledger.ShiftEvicted(-by); err != nil {
			return err
		}
		s.recrawl.ClockWas(by)
	}
	if err := s.clampTimes(now, 0); err != nil {
		return err
	}
	if err := s.judgeAnew(); err != nil {
		return err
	}
	if err := s.passes.Begin(); err != nil {
		return err
	}
	s.followHosts(nil, now)
	s.allSlowed(now) // the spec may have a longer delay than the last owner's
	s.evictAnew()
	s.was = s.ledger.Meta
	s.ledger.Opened(owner)
	for _, h := range s.ledger.Hosts {
		s.ledger.Unschedule(h)
	}
	return nil
}

// afterReboot queues the last fetched URLs again when the machine has failed. It is for a broker on
// the same machine: messages that it acknowledged in the last seconds may never have reached a
// disk. The caller holds mu.
func (s *Shard) afterReboot() error {
	boot := hosts.BootID()
	if s.ledger.Meta.BootID == boot {
		return nil
	}
	if s.ledger.Meta.BootID != "" && !s.was.Clean {
		s.ledger.Log.Warn("the machine was restarted without a clean stop: fetching the pages of the last seconds again")
		if err := s.requeueSince(time.UnixMilli(s.ledger.Meta.Written).Add(-10 * time.Second)); err != nil {
			return err
		}
	}
	s.ledger.Booted(boot)
	return nil
}

// justVisited makes every host count as visited at last. An owner must do this when it does not
// know the last visits.
func (s *Shard) justVisited(last time.Time) {
	// for evicted hosts that were never visited
	s.ledger.DelayAll(last)
	for _, h := range s.ledger.Hosts {
		s.hostVisited(h, last)
		s.ledger.Unschedule(h)
	}
}

// hostVisited makes a host count as visited at last.
func (s *Shard) hostVisited(h *hosts.Host, last time.Time) {
	h.DelayUntil(last.Add(max(s.polite.DelayOf(h).D, h.Delay)), "")
}

// holdsHost reports whether some package refers to a host by its address.
func (s *Shard) holdsHost(h *hosts.Host) bool {
	return s.passes.Fills(h) || s.rupsites.Knows(h)
}

// hostLoaded applies to a loaded host what was applied to the hosts in memory while it was evicted:
// that they count as visited, that they were slowed down, that the clock was wrong.
func (s *Shard) hostLoaded(h *hosts.Host, now time.Time) {
	if s.ledger.Meta.DelayedUntil > 0 {
		s.hostVisited(h, time.UnixMilli(s.ledger.Meta.DelayedUntil))
	}
	if s.ledger.Slower(h) {
		s.polite.Slowed(h, now)
	}
	if at := s.ledger.SitemapsDue(h); !at.IsZero() && !now.Before(at) {
		s.features.AskSoon(h)
	}
	h.BoundTimes(now.Add(s.ledger.Phase.RemainingDelay(now)+s.longestWait(h)), now)
}

// close commits all changes and closes the file. Nothing is committed if the shard was just handed
// over. clean says that its owner leaves the shard in order, with no outstanding visit.
func (s *Shard) close(clean bool) error {
	s.ledger.Mu.Lock()
	defer s.ledger.Mu.Unlock()
	if s.ledger.DB == nil {
		return nil
	}
	var err error
	if clean || !s.ledger.Phase.Left || s.ledger.Unsaved() {
		s.ledger.Left(clean && s.ledger.Phase.InOrder(time.Now()) && len(s.visits.Outstanding) == 0)
		err = s.ledger.Guarded(func() error { return s.ledger.Commit(false) })
	}
	if s.ledger.Tx != nil {
		s.ledger.Tx.Rollback()
		s.ledger.EndTx()
	}
	err = errors.Join(err, s.ledger.CloseFile())
	for _, v := range s.visits.Outstanding {
		s.visits.AllSlots.Count(v.Host.Domain, -1)
	}
	s.visits.AllSlots.Expect(s.ledger.ID, nil)
	return err
}

// apply applies a batch of the shard's log in order. It takes the lock itself. An event that cannot
// be decoded is reported and skipped, because it can never succeed.
func (s *Shard) apply(batch []queue.Entry) error {
	for _, e := range batch {
		s.ledger.Mu.Lock()
		err := s.ledger.Guarded(func() error { return s.applyOne(e) })
		s.ledger.Mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Shard) applyOne(e queue.Entry) error {
	if err := s.ledger.Phase.MayWrite(); err != nil {
		return err
	}
	ev, err := crawl.DecodeEvent(e.Data)
	if err != nil {
		if errors.Is(err, crawl.ErrVersion) {
			return err
		}
		s.ledger.Log.Error("event skipped", "seq", e.Seq, "error", err)
	} else if err := s.applyEvent(&ev, e.Time); err != nil {
		return s.ledger.Fail(err)
	}
	s.ledger.Applied(e.Seq, e.Time, len(e.Data))
	if s.ledger.Changes >= hosts.CommitChanges {
		return s.ledger.Commit(true)
	}
	return nil
}

// applyEvent applies one event. sent is the server's time of the event.
func (s *Shard) applyEvent(ev *crawl.Event, sent time.Time) error {
	now := time.Now()
	if err := s.followClock(now); err != nil {
		return err
	}
	s.urls.CountEvent()
	s.ledger.Applying(sent)
	defer s.ledger.Applying(time.Time{})
	s.ledger.Phase.Saw(ev.Visit)
	// Determines how long facts stay fresh: never later than now, whatever the clocks show
	at := sent
	if at.IsZero() || at.After(now) {
		at = now
	}
	for i := range ev.Robots {
		if err := s.applyRobots(&ev.Robots[i], ev.Visit, at, now); err != nil {
			return err
		}
	}
	for i := range ev.Answers {
		if err := s.features.ApplyAnswer(&ev.Answers[i], at, now); err != nil {
			return err
		}
	}
	for i := range ev.Probes {
		p := &ev.Probes[i]
		if err := s.datafiles.ApplyProbe(p, at, now); err != nil {
			return err
		}
		if h, err := s.ledger.HostNamed(p.Origin.Host); err != nil {
			return err
		} else if h != nil && !ev.Visit.IsZero() && s.ledger.Meta.Lost.IsLost(ev.Visit) {
			if err := s.passes.ProbeLost(h, func(o *hosts.Origin) bool { return o.Origin == p.Origin }, now); err != nil {
				return err
			}
		}
	}
	take := s.links.Apply
	if ev.Forward {
		take = s.links.Receive
	}
	for i := range ev.Links {
		if i > 0 && ev.Links[i].FoundOn.Host() != ev.Links[i-1].FoundOn.Host() {
			// a message of another visit, which was forwarded together with the previous one
			s.urls.CountEvent()
		}
		if err := take(&ev.Links[i], now); err != nil {
			return err
		}
	}
	for i := range ev.Reports {
		if err := s.rupsites.ApplyReport(&ev.Reports[i], now); err != nil {
			return err
		}
	}
	for i := range ev.Reported {
		if err := s.indexnow.Apply(&ev.Reported[i], now); err != nil {
			return err
		}
	}
	for i := range ev.WebSub {
		if err := s.websub.Apply(&ev.WebSub[i], now); err != nil {
			return err
		}
	}
	for i := range ev.Aux {
		if err := s.features.AddAux(ev.Aux[i], now); err != nil {
			return err
		}
	}
	for _, u := range ev.StoreFailed {
		if err := s.applyStoreFailed(canon.URL(u)); err != nil {
			return err
		}
	}
	for i := range ev.Missing {
		if err := s.applyMissing(ev.Missing[i]); err != nil {
			return err
		}
	}
	for i := range ev.Removed {
		if err := s.applyUnstored(ev.Removed[i], crawl.Refused, crawl.ReasonNoindex, "unavailable_after", now); err != nil {
			return err
		}
	}
	for i := range ev.Unreadable {
		if err := s.applyUnstored(ev.Unreadable[i], crawl.Failed, crawl.ReasonUnreadable, whyUnreadable, now); err != nil {
			return err
		}
	}
	for _, what := range ev.Retry {
		if err := s.passes.ApplyRetry(what); err != nil {
			return err
		}
	}
	for _, u := range ev.Refetch {
		if err := s.passes.ApplyRefetch(u, sent); err != nil {
			return err
		}
	}
	for i := range ev.Audits {
		s.ledger.LogAudit(ev.Audits[i].Bounded())
	}
	if ev.StoreLost != "" {
		if err := s.passes.ApplyStoreLost(ev.StoreLost, now); err != nil {
			return err
		}
	}
	for i := range ev.Traces {
		if err := s.timeline.Apply(&ev.Traces[i], ev.Visit); err != nil {
			return err
		}
	}
	if ev.Outcome != nil {
		// Only for running visits, because the log may be read again.
		traced := s.traces != nil && s.visits.Outstanding[ev.Visit] != nil
		if err := s.applyOutcome(ev, now); err != nil {
			return err
		}
		if traced {
			s.traces.Visit(s.ledger.ID, ev.Visit).Applied(ev.Outcome, now, time.Now())
		}
	}
	return s.mirrors.Flush(now)
}

// position is the position in the log up to which it was applied.
func (s *Shard) position() queue.Position {
	if s.ledger.Meta.Seq == 0 {
		return queue.Position{}
	}
	return queue.Position{Seq: s.ledger.Meta.Seq, Time: time.Unix(0, s.ledger.Meta.SeqTime)}
}

// keepCommitted commits at intervals until ctx ends, ends visits whose lease is over, and notifies
// match when something becomes due. It takes the lock itself.
func (s *Shard) keepCommitted(ctx context.Context) error {
	t := time.NewTicker(hosts.CommitEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		s.ledger.Mu.Lock()
		now := time.Now()
		err := s.ledger.Guarded(func() error {
			if err := s.followClock(now); err != nil {
				return err
			}
			return s.upkeep(now)
		})
		s.visits.ReportBudget(now)
		soon := now.Add(5 * time.Second)
		evicted := s.ledger.Phase.MayRead() && s.ledger.Phase.MayWrite() == nil && !s.ledger.NextEvicted().IsZero() && s.ledger.NextEvicted().Before(soon)
		if !evicted && (len(s.ledger.Due) == 0 || s.ledger.Due[0].When.After(soon)) {
			s.ledger.Budget.GiveBack(s.ledger.ID) // no pages are needed soon
		}
		s.ledger.Mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// upkeep does periodic work that is due, and commits.
func (s *Shard) upkeep(now time.Time) error {
	if err := s.visits.Expire(now); err != nil {
		return err
	}
	if err := s.features.Upkeep(now); err != nil {
		return err
	}
	return s.ledger.Commit(true)
}
