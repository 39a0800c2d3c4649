package frontier

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue"
)

// TestRestoredFromDeltas: a shard whose owner is lost with its disk is restored from a delta
// checkpoint. Its base is kept as long as it is needed, and not longer; a missing base is treated
// like a missing checkpoint.
func TestRestoredFromDeltas(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := oneShard(t)
		c.opt.Deltas = restore.Deltas{Least: 1} // also for small files
		a := c.start("a")
		c.settled("a")
		s := c.script()
		isDelta := func(name string) bool { p, ok := restore.ParseName(name); return ok && p.Full > 0 }
		s.workUntil("two deltas in a row", func() bool {
			r := c.record(0)
			return isDelta(r.Checkpoint) && isDelta(r.Previous)
		})
		a.kill()
		delete(c.by, "a")
		r := c.record(0)
		last, before := restore.Recorded(r)
		for _, name := range c.checkpoints() {
			if p, _ := restore.ParseName(name); !last.Needs(p) && !before.Needs(p) {
				t.Logf("%s is left over", name) // its owner was killed before it removed it
			}
		}
		c.opt.Checkpoint = 1 << 30
		b := c.start("b")
		s.compare()
		until(t, time.Minute, "what no checkpoint of the record needs is gone", func() bool {
			last, before := restore.Recorded(c.record(0))
			return !slices.ContainsFunc(c.checkpoints(), func(name string) bool {
				p, _ := restore.ParseName(name)
				return !last.Needs(p) && !before.Needs(p)
			})
		})
		b.kill()
		delete(c.by, "b")
		if !isDelta(c.record(0).Checkpoint) {
			t.Fatalf("%+v", c.record(0))
		}
		// The full one is lost, and with it all its deltas.
		for _, name := range c.checkpoints() {
			if p, _ := restore.ParseName(name); p.Full == 0 && p.N == last.Full {
				if err := c.snapshots().Delete(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
		}
		checkpoints, err := restore.OpenCheckpoints(t.Context(), restore.Options{Queue: c.q, Names: crawl.Names(c.spec.Name)})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "x")
		if err := checkpoints.Fetch(t.Context(), r.Checkpoint, path); !errors.Is(err, queue.ErrNoSnapshot) {
			t.Errorf("fetched without what it stands on: %v", err)
		}
		// A checkpoint that names itself as its base cannot be read either.
		self := restore.Name{Epoch: 9, N: 4, Full: 3}.String()
		delta := slices.Concat([]byte("curtsy: pages changed since another checkpoint, 1\n"), []byte{byte(len(self))}, []byte(self), make([]byte, 8+4))
		if _, err := c.snapshots().Put(t.Context(), self, 10, func(w io.Writer) error { _, err := w.Write(delta); return err }); err != nil {
			t.Fatal(err)
		}
		if err := checkpoints.Fetch(t.Context(), self, path); !errors.Is(err, queue.ErrNoSnapshot) || !strings.Contains(err.Error(), "malformed") {
			t.Errorf("fetched what stands on itself: %v", err)
		}
	})
}

// TestDeltaWithoutItsBase: if the base of a checkpoint is deleted while its owner runs, the owner
// makes a full one, and the log is not purged before.
func TestDeltaWithoutItsBase(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := oneShard(t)
		// So that only the loss causes another full one
		c.opt.Deltas = restore.Deltas{Least: 1, Times: 1 << 20}
		c.start("a")
		c.settled("a")
		s := c.script()
		s.workUntil("a delta", func() bool {
			last, before := restore.Recorded(c.record(0))
			return last.Full > 0 && before.N > 0
		})
		lost, _ := restore.Recorded(c.record(0))
		for _, name := range c.checkpoints() {
			if p, _ := restore.ParseName(name); p.Full == 0 && lost.Needs(p) {
				if err := c.snapshots().Delete(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.workUntil("what is recorded stands", func() bool {
			r := c.record(0)
			last, _ := restore.Recorded(r)
			return last.N > lost.N && restore.Stands(r.Checkpoint, c.checkpoints())
		})
		s.workUntil("two that stand, and a log cut behind the first", func() bool {
			r, names := c.record(0), c.checkpoints()
			_, before := restore.Recorded(r)
			return restore.Stands(r.Checkpoint, names) && restore.Stands(r.Previous, names) && c.firstOfLog() == before.Seq
		})
		s.compare()
	})
}
