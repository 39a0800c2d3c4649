package fetcher

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/pkg/queue"
)

// own makes a frontier the owner of a shard.
func (d *desk) own(shard int, owner string) {
	d.t.Helper()
	b, _ := json.Marshal(queue.Record{Epoch: 2, Owner: owner})
	if _, err := d.kv.Put(d.t.Context(), "frontier."+string(rune('0'+shard)), b); err != nil {
		d.t.Fatal(err)
	}
}

// A frontier that is frozen or cut off does not answer. Meanwhile the slots are used for others.
func TestDeadFrontierHoldsNoHands(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, _ := slowSite(t, 0)
		d := newDesk(t, 4)
		var asked atomic.Int64
		for i, owner := range []string{"dead1", "dead2", "dead3"} {
			d.subscribe(d.name.VisitRequest(owner), func(*nats.Msg) { asked.Add(1) })
			d.own(i+1, owner)
		}
		startFetcher(t, d, testSpec(4, addr), Options{Slots: 2})
		for asked.Load() < 3 {
			time.Sleep(time.Millisecond)
		}
		var slowest time.Duration
		const visits = 30
		for range visits {
			began := time.Now()
			d.outcome(d.grant(manyURLs(t, 1)))
			slowest = max(slowest, time.Since(began))
		}
		if slowest > time.Second { // the dead ones have 2 s to answer
			t.Errorf("a visit waited %v for a hand", slowest)
		}
	})
}

// The answer to a request for visits may arrive when the fetcher is being stopped. The visits are
// returned. Otherwise nobody could visit their hosts until the lease ends.
func TestStopGivesBackWhatIsGranted(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, n := slowSite(t, 0)
		d := newDesk(t, 1)
		d.slow = 300 * time.Millisecond
		_, stop := startFetcher(t, d, testSpec(1, addr), Options{})
		id := d.grant(manyURLs(t, 2))
		for !d.handing.Load() {
			time.Sleep(time.Millisecond)
		}
		start := time.Now()
		stop()
		if took := time.Since(start); took > 300*time.Millisecond {
			t.Errorf("stopping took %v", took)
		}
		if out := d.outcome(id); classes(out) != "returned returned" || out.Requests != 0 || n.Load() != 0 {
			t.Errorf("%s after %d requests", classes(out), n.Load())
		}
	})
}

// An invalid visit, from whatever frontier, does not end the process.
func TestVisitOfNoShard(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, n := slowSite(t, 0)
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{Slots: 1})
		v := manyURLs(t, 1)
		v.Shard = 7
		d.grant(v)
		d.outcome(d.grant(manyURLs(t, 1)))
		if n.Load() != 1 {
			t.Errorf("%d requests", n.Load())
		}
	})
}
