package store

import (
	"errors"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/times"
)

// A phase advances from stage to stage, and the stage defines what is allowed.
func TestPhase(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	after := func(d time.Duration) time.Time { return began.Add(d) }
	const term = 7 * time.Second
	opened := func(found Start, unaware time.Duration) Phase {
		var p Phase
		p.Begin(found, unaware)
		return p
	}
	read := func(found Start, unaware time.Duration) Phase {
		p := opened(found, unaware)
		p.CaughtUp(found, began)
		return p
	}
	change := func(p Phase, f func(*Phase)) Phase { f(&p); return p }
	full := errors.New("no space left on device")
	for _, tt := range []struct {
		name    string
		p       Phase
		now     time.Time
		stage   stage
		grants  bool
		active  bool
		inOrder bool
		write   error
	}{
		{"new", opened(StartNew, 0), began, stageReading, false, false, false, nil},
		{"left in order, its log not read", opened(StartClean, 0), began, stageReading, false, false, true, nil},
		{"not left in order, its log not read", opened(StartLease, 0), began, stageReading, false, false, false, nil},
		{"left in order", read(StartClean, 0), began, stageGranting, true, true, true, nil},
		{"its fetchers are dead", read(StartDelay, 0), began, stageGranting, true, true, true, nil},
		{"a lease is owed", read(StartLease, 0), after(times.OwnerLease - 1), stageUnaccounted, false, true, false, nil},
		{"a lease was owed", read(StartLease, 0), after(times.OwnerLease), stageGranting, true, true, true, nil},
		{"its record was lost", read(StartLease, term), after(times.OwnerLease + term - 1), stageUnaccounted, false, true, false, nil},
		{"its record was lost, and all has passed", read(StartLease, term), after(times.OwnerLease + term), stageGranting, true, true, true, nil},
		{"rewound", change(read(StartClean, 0), (*Phase).Rewound), began, stageReading, false, false, false, nil},
		{"leaving", change(read(StartClean, 0), (*Phase).Leave), began, stageLeaving, false, false, true, nil},
		{"leaving early", change(opened(StartClean, 0), (*Phase).Leave), began, stageLeaving, false, false, true, nil},
		{"leaving while it owes", change(read(StartLease, 0), (*Phase).Leave), began, stageLeaving, false, false, false, nil},
		{"rewound while leaving", change(change(read(StartClean, 0), (*Phase).Leave), (*Phase).Rewound), began, stageLeaving, false, false, false, nil},
		{"closed", change(read(StartClean, 0), (*Phase).close), began, stageClosed, false, false, true, errClosed},
		{"failed", change(read(StartClean, 0), func(p *Phase) { p.Err = full }), began, stageGranting, false, false, false, full},
		{"failed and closed", change(read(StartClean, 0), func(p *Phase) { p.Err = full; p.close() }), began, stageClosed, false, false, false, full},
	} {
		p := &tt.p
		if got := p.stage(tt.now); got != tt.stage {
			t.Errorf("%s: stage %v, want %v", tt.name, got, tt.stage)
		}
		if p.MayGrant(tt.now) != tt.grants || p.Active() != tt.active || p.InOrder(tt.now) != tt.inOrder || !errors.Is(p.MayWrite(), tt.write) {
			t.Errorf("%s: grants %v, active %v, in order %v, %v", tt.name, p.MayGrant(tt.now), p.Active(), p.InOrder(tt.now), p.MayWrite())
		}
		if p.MayRenew() != (tt.stage < stageLeaving) || p.MayRead() != (tt.stage < stageClosed) {
			t.Errorf("%s: renews %v, may be read %v", tt.name, p.MayRenew(), p.MayRead())
		}
	}
}

// A shard without an earlier owner may grant at once, unless its log has visits.
func TestPhaseOfANewShard(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var p Phase
	p.Begin(StartNew, 0)
	p.Saw(crawl.VisitID{})
	if got := p.CaughtUp(StartNew, now); got != StartClean || !p.MayGrant(now) {
		t.Errorf("with seeds alone it owes %v", got)
	}
	p.Rewound()
	p.Saw(crawl.VisitID{Epoch: 1, N: 1})
	p.Saw(crawl.VisitID{})
	if got := p.CaughtUp(StartNew, now); got != StartLease || p.MayGrant(now) {
		t.Errorf("with a visit in its log it owes %v", got)
	}
}
