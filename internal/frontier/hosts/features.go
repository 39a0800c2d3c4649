package hosts

import (
	"maps"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/times"
)

// Features are those of one shard, and the errands they want.
type Features struct {
	ledger *Ledger

	ToAsk  []HostID // hosts whose origins a pass is to ask once more (asking.go)
	askAll HostID   // and all from this one on; 0: it has no more to ask
	asked  []func() // who wants to know when that pass is over

	// What features do, by kind and all in order.
	List  []Feature
	Kinds map[crawl.AuxKind]AuxKind
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

// Feature is a part of a shard that keeps something of its own beside the URLs. What it does not do
// is nil. A feature stands in files of its own and is known to the others by its line in features
// alone.
type Feature struct {
	// Aux are the kinds of errands that are its own.
	Aux map[crawl.AuxKind]AuxKind
	// Ask asks an origin for what the feature wants to know of it, unless that was done lately
	// (AskOrigin).
	Ask func(h *Host, i int, now time.Time) error
	// MirrorChanged follows an origin's becoming a mirror, or none any more. It is asked
	// afterwards.
	MirrorChanged func(h *Host, i int, now time.Time) error
	// Respec follows another spec, and begins with the one the file is opened with.
	Respec func() error
	// Load reads what it keeps in memory, after the file was opened, and again after its times
	// there were moved.
	Load func(now time.Time) error
	// Upkeep does what is due by the clock.
	Upkeep func(now time.Time) error
	// Pass is what it does to all hosts or URLs, in stretches.
	Pass Pass
	// Times walks the times it keeps in the file (package times).
	Times times.In
	// Past says that nothing follows from those times: they stay when the clock is set, since they
	// are many.
	Past bool
}

// Load has the features read what they keep in memory.
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

// Upkeep has the features do what is due by the clock.
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

// Respec has the features follow another spec.
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

// MirrorChanged has the features follow an origin's becoming a mirror, or none any more.
func (s *Features) MirrorChanged(h *Host, i int, now time.Time) error {
	for j := range s.List {
		if turned := s.List[j].MirrorChanged; turned != nil {
			if err := turned(h, i, now); err != nil {
				return err
			}
		}
	}
	return nil
}
