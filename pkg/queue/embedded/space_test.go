package embedded

import (
	"github.com/curtsy/curtsy/internal/simnet"

	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

func TestStoreSize(t *testing.T) {
	tests := []struct {
		free, total, used, want int64
	}{
		{100 * gib, 200 * gib, 0, 90 * gib}, // 5 % stay free
		{8 * gib, 10 * gib, 0, 7 * gib},     // 1 GiB stays free
		{gib, 10 * gib, 0, gib / 2},         // the floor would leave nothing: half
		{gib, 10 * gib, 3 * gib, 3 * gib},   // the existing store counts as free space
		{128 * mib, 10 * gib, 0, 64 * mib},  // the smallest store
		{128*mib - 2, 10 * gib, 0, 0},
	}
	for _, x := range tests {
		got, err := room(x.free, x.total, x.used, "/data")
		if got != x.want || (err == nil) != (x.want > 0) {
			t.Errorf("room(%d, %d, %d) = %d, %v; want %d", x.free, x.total, x.used, got, err, x.want)
		}
		if err != nil && (!errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), "/data has 127 MiB free")) {
			t.Errorf("%v", err)
		}
	}
	if got, err := roomFor(t.TempDir()); err != nil || got < MinStore {
		t.Errorf("roomFor(temp dir) = %d, %v", got, err)
	}
}

func TestBudget(t *testing.T) {
	tests := []struct {
		store  int64
		shards int
		events int64
		pages  int64
	}{
		{100 * gib, 4, 256 * mib, gib},
		{100 * gib, 256, 256 * mib, gib},
		{gib, 4, 165 * mib, 330 * mib},
		{144 * mib, 4, 18 * mib, 37 * mib},
		{128 * mib, 4, 16 * mib, 32 * mib},
	}
	for _, x := range tests {
		events, pages := Budget(x.store, x.shards)
		if events/mib != x.events/mib || pages/mib != x.pages/mib {
			t.Errorf("Budget(%d MiB, %d) = %d and %d MiB, want %d and %d", x.store/mib, x.shards, events/mib, pages/mib, x.events/mib, x.pages/mib)
		}
	}
}

// Whatever the size of the store is, everything that a crawl needs can be created, and still exists
// after a restart with less space.
func TestBudgetFits(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		for _, store := range []int64{MinStore, 100 * mib, gib, 20 * gib} {
			for _, shards := range []int{1, 4, 40} {
				dir := t.TempDir()
				s := start(t, Options{Dir: dir, MaxStore: store})
				js := connect(t, s)
				events, pages := Budget(s.MaxStore(), shards)
				add := func(name string, size int64) {
					if _, err := js.AddStream(&nats.StreamConfig{Name: name, MaxBytes: size}); err != nil {
						t.Errorf("%d MiB, %d shards, %s of %d KiB: %v", store/mib, shards, name, size>>10, err)
					}
				}
				for i := range shards {
					add(fmt.Sprint("EVENTS-", i), events)
				}
				add("PAGES", pages)
				add("BUCKET", 8*mib)
				s.Shutdown()
				s = start(t, Options{Dir: dir, MaxStore: MinStore})
				if _, err := connect(t, s).StreamInfo("PAGES"); err != nil {
					t.Errorf("after a restart with %d MiB: %v", MinStore/mib, err)
				}
				s.Shutdown()
			}
		}
	})
}
