package frontier

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// When a shard's changes are committed: whichever comes first. Nothing waits for a commit, since granting does not.
const (
	commitEvery   = 250 * time.Millisecond
	commitChanges = 4000
)

// shard is one shard of the frontier: its file, its hosts, its outstanding visits. All methods expect mu held unless
// they say otherwise.
//
// Between two commits one writable transaction stays open and everything is read and written through it. A crash
// therefore loses exactly what the log still holds: the events after the applied sequence.
type shard struct {
	id    int
	names crawl.Names
	path  string
	log   *slog.Logger
	out   io.Writer // the crawl log, or nil
	epoch uint64
	valid func() bool // may we act as the owner now

	mu      sync.Mutex // guards everything below
	at      time.Time  // the broker's time of the event being applied, or zero
	budget  *budget
	j       judge     // what URLs are judged by
	judged  time.Time // when URLs were judged anew last
	db      *bolt.DB
	tx      *bolt.Tx
	m       meta
	was     meta  // m as the file was found
	changes int   // since the last commit
	broken  error // set when a transaction failed: memory and file differ, the shard must be opened anew

	hosts  map[canon.Host]*host
	byID   map[hostID]*host
	dirty  []*host
	due    schedule
	later  time.Time // when the first waiting URL is due; zero = none
	recent recent

	visits   map[crawl.VisitID]*visit // those of earlier epochs came with the shard
	visitN   uint64
	inFlight int64     // URLs in outstanding visits
	ghosts   []ghost   // visits that expired lately: their fetchers may still tell of pages
	quiet    time.Time // no visit before this
	spent    time.Time // the page budget was found spent: no page before this
	summary  summary   // of all hosts, kept for a while
	caughtUp bool      // the log as it was when we began has been applied
	visited  bool      // the log that was read at the start tells of visits
	// unaware is for how long the last owner may go on, not knowing that he is that no more. Own has waited for it, unless
	// the ownership record was lost.
	unaware time.Duration
	sure    bool      // after quiet, no visit is under way but those in visits
	frozen  bool      // being handed over: nothing is granted or renewed any more
	carried []carried // visits that came with the shard, until it is known whether they are all there are

	copies     int      // images made in this epoch
	copySoon   bool     // a checkpoint is due whatever the log holds
	unreadable []string // checkpoints that the record names, or named, and that could not be read

	mirrors    map[mirrorRef]struct{} // origins with a mirror record
	settling   map[mirrorRef]struct{} // of them, those whose URLs are being gone through
	mirrorsDue time.Time              // when the first of them is due; zero: none
	forwards   []forwarded            // to be handed on when the event is applied
	aliases    []crawl.Page           // to be told to the indexer then
	retries    []sitemapRetryAt
	toAsk      []*host   // to be asked after their sitemaps, or not, whatever their robots.txt says
	askedAll   time.Time // when hosts were looked through for those

	sites      map[canon.Origin]*rupSite // that tell of their updates, or are being asked whether they do
	sitesDue   time.Time                 // when the first of them is due; zero: none
	replanning bool                      // some may be gone through, since all their pages are asked for again
	sooner     int64                     // URLs that updates brought forward, or were new in them
	secret     []byte                    // of the addresses they are told; nil: they are told none

	outbox      []outMessage // not yet sent, in order
	committedTo uint64       // outbox number up to which the commit is done
	sent        []uint64     // sent, to be deleted with the next commit
	digests     map[string]robotsRef
	lines       []byte // crawl log lines of this transaction
	rate        rate

	met    *metrics      // nil in a Reader
	notify chan struct{} // signalled (not closed) when something may be due earlier than thought; nil in a Reader
	// Signalled when the outbox may have something committed to send: events, pages.
	outbnd, pagesOut chan struct{}
}

type robotsRef struct {
	id     hostID
	origin canon.Origin
}

// openShard opens the file of a shard, creating it when there is none, and loads its hosts.
func openShard(dir string, id int, names crawl.Names, j judge, epoch uint64, owner string, valid func() bool, log *slog.Logger) (*shard, error) {
	s := &shard{
		id: id, names: names, path: filepath.Join(dir, fileName(id)), log: log.With("shard", id), epoch: epoch,
		valid: valid, j: j,
		hosts: map[canon.Host]*host{}, byID: map[hostID]*host{}, visits: map[crawl.VisitID]*visit{},
		digests: map[string]robotsRef{},
		outbnd:  make(chan struct{}, 1), pagesOut: make(chan struct{}, 1),
	}
	db, err := openDB(s.path, false)
	if err != nil {
		return nil, err
	}
	s.db = db
	if err := s.load(owner); err != nil {
		if s.tx != nil {
			s.tx.Rollback() // Close waits for it
		}
		db.Close()
		return nil, err
	}
	return s, nil
}

func (s *shard) load(owner string) error {
	tx, err := s.db.Begin(true)
	if err != nil {
		return err
	}
	s.tx = tx
	if s.m, err = loadMeta(tx); err != nil {
		return err
	}
	now := time.Now()
	err = loadHosts(tx, func(h *host) error {
		s.hosts[h.Name] = h
		s.byID[h.ID] = h
		return nil
	})
	if err != nil {
		return err
	}
	err = tx.Bucket(bucketErrands).ForEach(func(k, _ []byte) error {
		e, err := crawl.DecodeErrand(k[4:])
		if err != nil {
			return err
		}
		if h := s.byID[hostID(binary.BigEndian.Uint32(k))]; h != nil {
			h.errands = append(h.errands, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.loadOutbox(); err != nil {
		return err
	}
	s.committedTo = s.m.Outbox
	if s.carried, err = takeVisits(tx); err != nil {
		return err
	}
	s.loadLater()
	s.loadMirrors(now)
	if err := s.loadSitemaps(now); err != nil {
		return err
	}
	if err := s.loadSites(now); err != nil {
		return err
	}
	if err := s.judgeAnew(); err != nil {
		return err
	}
	if err := s.beginPasses(); err != nil {
		return err
	}
	s.was = s.m
	s.m.Epoch, s.m.Owner, s.m.Clean = s.epoch, owner, false
	s.changes++
	for _, h := range s.hosts {
		s.reschedule(h, now)
	}
	return nil
}

// afterReboot re-queues the last fetches when the machine went down under us. It is for a broker on this very machine: what
// that acknowledged in the last seconds may never have reached a disk. The caller holds mu.
func (s *shard) afterReboot() error {
	boot := bootID()
	if s.m.BootID == boot {
		return nil
	}
	if s.m.BootID != "" && !s.was.Clean {
		s.log.Warn("the machine was restarted without a clean stop: fetching the last seconds' pages again")
		if err := s.requeueSince(time.UnixMilli(s.m.Written).Add(-10 * time.Second)); err != nil {
			return err
		}
	}
	s.m.BootID = boot
	s.changes++
	return nil
}

// justVisited treats every host as visited at last: what an owner must do when it cannot know better.
func (s *shard) justVisited(last, now time.Time) {
	for _, h := range s.hosts {
		if t := last.Add(max(s.delayOf(h).d, h.Delay)); h.Due.Before(t) {
			h.Due, h.DueReason = t, ""
			s.touch(h)
		}
		s.reschedule(h, now)
	}
}

// close commits what there is and closes the file, unless what there is was handed over. clean says that the shard is left
// in order, by its owner: no visit is outstanding then.
func (s *shard) close(clean bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	var err error
	if clean || !s.frozen || s.changes > 0 {
		s.m.Clean = clean && s.inOrder(time.Now()) && len(s.visits) == 0
		err = s.commit(false)
	}
	if s.tx != nil {
		s.tx.Rollback()
		s.tx = nil
	}
	err = errors.Join(err, s.db.Close())
	s.db = nil
	return err
}

// inOrder reports whether visits has every visit that may be under way.
func (s *shard) inOrder(now time.Time) bool { return s.sure && !now.Before(s.quiet) && s.broken == nil }

// fail marks the shard broken: its transaction is in doubt, and only opening the file anew puts memory and disk in
// step again.
func (s *shard) fail(err error) error {
	if s.broken == nil {
		s.broken = fmt.Errorf("shard %d (%s): %w", s.id, s.path, err)
	}
	return s.broken
}

// commit writes changed hosts and the shard's state, and ends the transaction; with again it begins the next.
func (s *shard) commit(again bool) error {
	if s.broken != nil {
		return s.broken
	}
	if s.changes == 0 && again {
		return nil
	}
	for _, h := range s.dirty {
		h.dirty = false
		if err := h.save(s.tx); err != nil {
			return s.fail(err)
		}
	}
	s.dirty = s.dirty[:0]
	ob := s.tx.Bucket(bucketOutbox)
	for _, n := range s.sent {
		if err := ob.Delete(binary.BigEndian.AppendUint64(nil, n)); err != nil {
			return s.fail(err)
		}
	}
	s.sent = s.sent[:0]
	s.m.Written = time.Now().UnixMilli()
	if err := s.m.save(s.tx); err != nil {
		return s.fail(err)
	}
	// The crawl log is written before the commit: after a crash a line may stand there twice (its visit tells), but
	// none is missing.
	if len(s.lines) > 0 && s.out != nil {
		if _, err := s.out.Write(s.lines); err != nil {
			s.log.Warn("crawl log: lines lost", "error", err)
		}
		s.lines = s.lines[:0]
	}
	began := time.Now()
	if err := s.tx.Commit(); err != nil {
		s.tx.Rollback()
		s.tx = nil
		return s.fail(err)
	}
	s.met.commit.Observe(time.Since(began).Seconds())
	s.tx, s.changes = nil, 0
	s.committedTo = s.m.Outbox
	signal(s.outbnd)
	signal(s.pagesOut)
	if !again {
		return nil
	}
	tx, err := s.db.Begin(true)
	if err != nil {
		return s.fail(err)
	}
	s.tx = tx
	return nil
}

// touch marks a host's record as changed.
func (s *shard) touch(h *host) {
	s.changes++
	if !h.dirty {
		h.dirty = true
		s.dirty = append(s.dirty, h)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// apply applies a batch of the shard's log in order. It takes the lock itself. An event that cannot be decoded can
// never succeed: it is reported and passed over.
func (s *shard) apply(batch []queue.Entry) error {
	for _, e := range batch {
		s.mu.Lock()
		err := s.applyOne(e)
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *shard) applyOne(e queue.Entry) error {
	if s.broken != nil {
		return s.broken
	}
	if s.tx == nil {
		return errClosed
	}
	ev, err := crawl.DecodeEvent(e.Data)
	if err != nil {
		if errors.Is(err, crawl.ErrVersion) {
			return err
		}
		s.log.Error("event passed over", "seq", e.Seq, "error", err)
	} else if err := s.applyEvent(&ev, e.Time); err != nil {
		return s.fail(err)
	}
	s.m.Seq, s.m.SeqTime = e.Seq, e.Time.UnixNano()
	s.m.Applied += int64(len(e.Data)) + entryOverhead
	s.changes++
	if s.changes >= commitChanges {
		return s.commit(true)
	}
	return nil
}

var errClosed = errors.New("frontier: shard is closed")

// applyEvent applies one event. sent is the server's time of it.
func (s *shard) applyEvent(ev *crawl.Event, sent time.Time) error {
	now := time.Now()
	s.at, s.visited = sent, s.visited || !ev.Visit.IsZero()
	at := sent // for how long facts stay fresh: never later than now, whatever the clocks say
	if at.IsZero() || at.After(now) {
		at = now
	}
	for i := range ev.Robots {
		if err := s.applyRobots(&ev.Robots[i], ev.Visit, at, now); err != nil {
			return err
		}
	}
	for i := range ev.Answers {
		if err := s.applyAnswer(&ev.Answers[i], at, now); err != nil {
			return err
		}
	}
	for i := range ev.Probes {
		p := &ev.Probes[i]
		if err := s.applyProbe(p, at, now); err != nil {
			return err
		}
		if h := s.hosts[p.Origin.Host]; h != nil && !ev.Visit.IsZero() && s.m.Lost.isLost(ev.Visit) {
			if err := s.probeLost(h, func(o *origin) bool { return o.Origin == p.Origin }, now); err != nil {
				return err
			}
		}
	}
	for i := range ev.Links {
		if err := s.applyLinks(&ev.Links[i], now); err != nil {
			return err
		}
	}
	for i := range ev.Reports {
		if err := s.applyReport(&ev.Reports[i], now); err != nil {
			return err
		}
	}
	for i := range ev.Errands {
		if err := s.addErrand(ev.Errands[i], now); err != nil {
			return err
		}
	}
	for _, u := range ev.StoreFailed {
		if err := s.applyStoreFailed(canon.URL(u)); err != nil {
			return err
		}
	}
	for i := range ev.Missing {
		if err := s.applyMissing(ev.Missing[i], now); err != nil {
			return err
		}
	}
	for i := range ev.Removed {
		if err := s.applyRemoved(ev.Removed[i], now); err != nil {
			return err
		}
	}
	if ev.StoreLost != "" {
		if err := s.applyStoreLost(ev.StoreLost, now); err != nil {
			return err
		}
	}
	if ev.Outcome != nil {
		if err := s.applyOutcome(ev, now); err != nil {
			return err
		}
	}
	return s.flushMirrors(now)
}

// position is where the log was applied to.
func (s *shard) position() queue.Position {
	if s.m.Seq == 0 {
		return queue.Position{}
	}
	return queue.Position{Seq: s.m.Seq, Time: time.Unix(0, s.m.SeqTime)}
}

// keepCommitted commits at intervals until ctx ends, drops visits whose lease is over, and wakes takers when
// something falls due. It takes the lock itself.
func (s *shard) keepCommitted(ctx context.Context) error {
	t := time.NewTicker(commitEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		s.mu.Lock()
		now := time.Now()
		s.expire(now)
		err := s.mirrorUpkeep(now)
		if err == nil {
			if err = s.sitemapUpkeep(now); err != nil {
				err = s.fail(err)
			}
		}
		if err == nil {
			err = s.sitesUpkeep(now)
		}
		if err == nil {
			err = s.commit(true)
		}
		s.tellBudget(now)
		if soon := now.Add(5 * time.Second); len(s.due) == 0 || s.due[0].when.After(soon) {
			s.budget.giveBack(s.id) // no use for more pages soon
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}
