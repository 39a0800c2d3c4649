package hosts

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/judge"
)

const EntryOverhead = 64 // approximate size of a log message beside its data

// Mark is the last recorded checkpoint that a shard's state knows of.
type Mark struct {
	Name    string `json:"name"`
	Applied int64  `json:"applied"` // Meta.Applied in the checkpoint
	Size    int64  `json:"size"`    // stored size, compressed
}

// When a setting of the spec that decides about URLs has changed, a pass decides about all known
// URLs again: it refuses URLs that a narrower spec forbids and queues URLs that a wider one
// permits. Until the pass has reached the end, a grant checks each URL itself, so that nothing is
// fetched that the current spec forbids. The crawl is not done before the pass is.
//
// The table of reasons (internal/crawl/reason.go) defines which setting may undo which reason. The
// reasons forgotten, mirror and hosts have passes of their own (shard.Passes, package mirrors,
// domains.go).

// Judging is the state of that pass. It is part of the shard's state.
type Judging struct {
	// The settings of the last pass; nil in a file from before they were stored.
	By      *judge.Settings `json:"by,omitempty"`
	Running bool            `json:"running,omitempty"`
	Next    []byte          `json:"next,omitempty"` // the key with which to continue
	// The settings before the pass, or before an earlier pass that this one replaced.
	Was *judge.Settings `json:"was,omitempty"`
}

// Opened reports that addresses are permitted now that were forbidden before.
func (m *Judging) Opened() bool {
	return m.By.AllowPrivate && !m.Was.AllowPrivate || m.By.Contact && !m.Was.Contact
}

// Led reports that h is now resolved to other addresses than before.
func (m *Judging) Led(h *Host) bool {
	return !slices.Equal(m.By.Resolves(h.Name), m.Was.Resolves(h.Name))
}

const MirrorPending = 256 // number of unsent messages at which a mirrors pass pauses

// PassStretch is the number of records that a pass handles before it releases the shard's lock.
const PassStretch = 1000

// InStretches calls some repeatedly until ctx ends, each time with the lock. While some reports
// more work, the next call follows after as long as the last one took, so that others get the lock
// half of the time. Otherwise the next call follows after CommitEvery.
func (s *Ledger) InStretches(ctx context.Context, some func(now time.Time) (more bool, err error)) error {
	for wait := CommitEvery; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		s.Mu.Lock()
		began := time.Now()
		more := false
		err := s.Guarded(func() (err error) {
			more, err = some(began)
			return err
		})
		wait = CommitEvery
		if more {
			wait = max(time.Since(began), time.Millisecond)
		}
		s.Mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// Planning is the state of a pass over all URLs after a setting has changed that determines when
// URLs are fetched again. It is part of the shard's state.
type Planning struct {
	// The settings of the last plan; "": there is no plan, or it is ignored.
	Spec    string `json:"spec,omitempty"`
	Running bool   `json:"running,omitempty"`
	Next    []byte `json:"next,omitempty"` // the key with which to continue
}

// lostStore records that page stores of this shard were lost, which pages must be fetched again
// because of that, and how far the pass has got. It is part of the shard's state.
type lostStore struct {
	Seen []string `json:"seen,omitempty"` // identities of the last stores that began since
	// Mark is the newest visit that was granted when the last loss was reported. Pages that this or
	// an earlier visit stored may be gone, whenever its outcome arrives. Pages of later visits are
	// in the new store, because it had begun before them.
	Mark    crawl.VisitID `json:"mark,omitzero"`
	Running bool          `json:"running,omitempty"` // URLs are being put back into their queues
	Next    []byte        `json:"next,omitempty"`    // the key with which to continue
}

// IsLost reports whether pages that the visit stored may be gone.
func (l *lostStore) IsLost(id crawl.VisitID) bool {
	return !l.Mark.IsZero() && id.Compare(l.Mark) <= 0
}

// At returns a pointer to t in UTC, or nil for the zero time.
func At(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Summary is the result of a pass over all hosts.
type Summary struct {
	At        time.Time
	Cost      time.Duration
	DueSoon   int64 // URLs due within hold-max
	Outlook   crawl.Outlook
	Postponed []crawl.PostponedHost
	Again     int64     // number of URLs that will be fetched again
	Next      time.Time // when the first of them is due
}

// SortedHosts returns the hosts in memory in the order of their names.
func (s *Ledger) SortedHosts() []*Host {
	return slices.SortedFunc(maps.Values(s.Hosts), func(a, b *Host) int { return cmp.Compare(a.Name, b.Name) })
}
