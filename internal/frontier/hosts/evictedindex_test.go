package hosts

import (
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// TestEvictedIndex: hosts with work are found in the order of their times, and new ones in the
// order of their numbers. A host that is evicted no more has no record and no entry left.
func TestEvictedIndex(t *testing.T) {
	t.Parallel()
	x := &testLedger(t, testPath(t)).index
	at := func(s int64) time.Time { return time.Unix(1_700_000_000+s, 0) }
	var visited, fresh []*Host
	for id, until := range map[store.HostID]time.Time{1: at(30), 2: at(10), 3: {}, 4: at(20)} {
		visited = append(visited, &Host{ID: id, Name: canon.Host("v.example"), Pace: Pace{Due: at(0)}, URLCounts: URLCounts{Queued: 5}})
		if err := x.put(visited[len(visited)-1], until); err != nil {
			t.Fatal(err)
		}
	}
	for id := store.HostID(12); id >= 10; id-- {
		fresh = append(fresh, &Host{ID: id, Name: canon.Host("n.example"), Fresh: true, URLCounts: URLCounts{Queued: int64(id) - 10}})
		if err := x.put(fresh[len(fresh)-1], time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	late, err := x.after(at(10))
	if err != nil || !slices.Equal(late, []store.HostID{4, 1}) {
		t.Errorf("evicted until later: %v, %v", late, err)
	}
	if id := x.firstWaiting(); id != 11 {
		t.Errorf("the first new host with work is %d", id)
	}
	byID := func(id store.HostID) *Host {
		all := append(slices.Clone(visited), fresh...)
		return all[slices.IndexFunc(all, func(h *Host) bool { return h.ID == id })]
	}
	for _, want := range []struct {
		id    store.HostID
		until time.Time
	}{{2, at(10)}, {4, at(20)}, {1, at(30)}} {
		id, until, err := x.first()
		if err != nil || id != want.id || !until.Equal(want.until) {
			t.Fatalf("first is %d at %v: %v, want %+v", id, until, err, want)
		}
		if err := x.drop(byID(id)); err != nil {
			t.Fatal(err)
		}
		if x.file.Tx.Bucket(store.BucketBlocks).Get(store.RecordKey(id)) != nil {
			t.Errorf("host %d still has a record", id)
		}
	}
	if id, _, err := x.first(); id != 0 || err != nil || x.timed {
		t.Errorf("none is left, but %d: %v, looked for again: %v", id, err, x.timed)
	}
	for _, h := range fresh {
		if err := x.drop(h); err != nil {
			t.Fatal(err)
		}
	}
	if id := x.firstWaiting(); id != 0 || x.waiting {
		t.Errorf("none is left, but %d, looked for again: %v", id, x.waiting)
	}
}
