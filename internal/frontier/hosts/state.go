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

const EntryOverhead = 64 // what a message of the log takes beside its data, about

// Mark is the last checkpoint that a shard's state knows to be recorded.
type Mark struct {
	Name    string `json:"name"`
	Applied int64  `json:"applied"` // meta.Applied in it
	Size    int64  `json:"size"`    // as stored, compressed
}

// When the spec has changed in what URLs are judged by, a pass judges all there are anew: what a
// narrower spec forbids is refused, what another one lets in is queued. Until it has been
// everywhere a grant looks at each URL itself, so that nothing is fetched that the spec of now
// forbids, and the crawl is not done.
//
// Which setting may undo which reason is said in the table of reasons
// (internal/crawl/reason.go). The reasons forgotten, mirror and hosts have passes of their own
// (packages passes and mirrors, domains.go).

// Judging is that pass. It is part of the shard's state.
type Judging struct {
	// What the URLs were judged by last; nil in a file from before this was kept.
	By      *judge.Settings `json:"by,omitempty"`
	Running bool            `json:"running,omitempty"`
	Next    []byte          `json:"next,omitempty"` // the key to go on from
	// What they were judged by before the pass, and maybe before one that it took the place of.
	Was *judge.Settings `json:"was,omitempty"`
}

// Opened reports that addresses may be dialled now that might not before.
func (m *Judging) Opened() bool {
	return m.By.AllowPrivate && !m.Was.AllowPrivate || m.By.Contact && !m.Was.Contact
}

// Led reports that h is looked for elsewhere than before.
func (m *Judging) Led(h *Host) bool {
	return !slices.Equal(m.By.Resolves(h.Name), m.Was.Resolves(h.Name))
}

const MirrorPending = 256 // messages not yet sent at which that pauses

// PassStretch is how many records are looked at before others may have the shard.
const PassStretch = 1000

// InStretches calls some until ctx ends, each time under the lock: at once again while there is
// more to do, after others had the shard for as long as it took, and else from commit to commit.
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

// Planning is a pass over all URLs after the spec has changed in what says when they are asked for
// again. It is part of the shard's state.
type Planning struct {
	// What they were planned by; "": they were not, or what they were planned for is ignored.
	Spec    string `json:"spec,omitempty"`
	Running bool   `json:"running,omitempty"`
	Next    []byte `json:"next,omitempty"` // the key to go on from
}

// lostStore remembers that page stores of this shard were lost: whose pages are to be fetched
// again, and how far that has got. It is part of the shard's state.
type lostStore struct {
	Seen []string `json:"seen,omitempty"` // identities of the stores begun since, the last ones
	// Mark is the newest visit granted when the last loss was told of. What it or an earlier one
	// has stored may be gone, whenever its outcome comes; pages of later visits are in the new
	// store, which had begun by then.
	Mark    crawl.VisitID `json:"mark,omitzero"`
	Running bool          `json:"running,omitempty"` // URLs are being put back into their queues
	Next    []byte        `json:"next,omitempty"`    // the key to go on from
}

// IsLost reports whether what that visit stored may be gone.
func (l *lostStore) IsLost(id crawl.VisitID) bool {
	return !l.Mark.IsZero() && id.Compare(l.Mark) <= 0
}

// At is t, or nil for the zero time.
func At(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Summary is what a pass over all hosts finds.
type Summary struct {
	At        time.Time
	Cost      time.Duration
	DueSoon   int64 // URLs due within hold-max
	Outlook   crawl.Outlook
	Postponed []crawl.PostponedHost
	Again     int64     // URLs that are asked for again
	Next      time.Time // when the first of them is due
}

// SortedHosts are the hosts in memory by their numbers.
func (s *Ledger) SortedHosts() []*Host {
	return slices.SortedFunc(maps.Values(s.Hosts), func(a, b *Host) int { return cmp.Compare(a.Name, b.Name) })
}
