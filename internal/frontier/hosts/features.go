package hosts

import (
	"maps"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
)

// Features are the features of one shard, and their auxiliary requests.
type Features struct {
	ledger *Ledger

	ToAsk []store.HostID // hosts whose origins the pass is to ask (asking.go)
	// The pass also asks all hosts from this one on; 0: it does not, or not any more
	askAll store.HostID
	asked  []func() // called when the pass is over

	// The features in order, and their kinds of auxiliary requests.
	List  []Feature
	Kinds map[crawl.AuxKind]AuxKind

	caused Causes // nil: nothing is limited
}

// NewFeatures returns the features of one shard.
func NewFeatures(ledger *Ledger) *Features {
	return &Features{ledger: ledger}
}

// Register makes the tables of what the features do. It is called once.
func (s *Features) Register(all []Feature) {
	s.List, s.Kinds = all, map[crawl.AuxKind]AuxKind{}
	for i := range all {
		maps.Copy(s.Kinds, all[i].Aux)
	}
}

// Feature is a part of a shard with state of its own, beside the URLs. Functions that it does not
// need are nil. A feature has files of its own; other parts know it only by its line in the list of
// features.
type Feature struct {
	// Aux are its kinds of auxiliary requests.
	Aux map[crawl.AuxKind]AuxKind
	// Ask sends the requests to an origin that the feature wants, unless that was done lately
	// (AskOrigin).
	Ask func(h *Host, i int, now time.Time) error
	// MirrorChanged is called after an origin has become a mirror, or has ceased to be one.
	MirrorChanged func(h *Host, i int, now time.Time) error
	// Respec is called when the spec has changed, and once for the spec with which the file is
	// opened.
	Respec func() error
	// Load reads the feature's data in memory, after the file was opened, and again after the times
	// there were shifted.
	Load func(now time.Time) error
	// Upkeep does periodic work that is due.
	Upkeep func(now time.Time) error
	// Pass is the feature's pass over all hosts or URLs.
	Pass Pass
	// Times walks the feature's times in the file (package times).
	Times times.In
	// Past says that nothing depends on these times. They are not shifted when the clock is set,
	// because they are many.
	Past bool
}

// Load calls Load of all features.
func (s *Features) Load(now time.Time) error {
	for i := range s.List {
		if load := s.List[i].Load; load != nil {
			if err := load(now); err != nil {
				return err
			}
		}
	}
	return nil
}

// Upkeep calls Upkeep of all features.
func (s *Features) Upkeep(now time.Time) error {
	for i := range s.List {
		if upkeep := s.List[i].Upkeep; upkeep != nil {
			if err := upkeep(now); err != nil {
				return s.ledger.Fail(err)
			}
		}
	}
	return nil
}

// Respec calls Respec of all features.
func (s *Features) Respec() error {
	for i := range s.List {
		if respec := s.List[i].Respec; respec != nil {
			if err := respec(); err != nil {
				return err
			}
		}
	}
	return nil
}

// MirrorChanged calls MirrorChanged of all features.
func (s *Features) MirrorChanged(h *Host, i int, now time.Time) error {
	for j := range s.List {
		if changed := s.List[j].MirrorChanged; changed != nil {
			if err := changed(h, i, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// Some changes concern very many URLs: the loss of a page store, a spec that fetches pages again, a
// host that was forgotten. Passes over the records make such changes, in stretches between commits,
// so that neither grants nor the log wait for long. The progress of a pass is part of the shard's
// state; the pass continues after a crash, and at the shard's next owner.

// Pass is a pass over records.
type Pass struct {
	// Begin starts the pass if a new spec requires it; nil: no spec does.
	Begin func() error
	Some  func(now time.Time) (more bool, err error) // does the next stretch
	Left  func() bool                                // reports that the pass is not done yet
}
