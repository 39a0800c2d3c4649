package frontier

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// withDeltas makes checkpoints of small files deltas, too.
func withDeltas(t *testing.T) {
	was := deltaLeast
	deltaLeast = 0
	t.Cleanup(func() { deltaLeast = was })
}

// TestDeltasMakeTheFile: the deltas of a running shard, applied one after the other, give its file
// exactly; each has the size of the change; and full checkpoints are made from time to time.
func TestDeltasMakeTheFile(t *testing.T) {
	withDeltas(t)
	b := newBench(t, testSpec("http://a.example/"))
	path := filepath.Join(t.TempDir(), "copy")
	wholes, deltas := 0, 0
	for round := range 60 {
		l := crawl.Links{Depth: 1, FoundOn: "http://a.example/"}
		n := 20
		if round == 0 {
			n = 20_000
		}
		for i := range n {
			l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://h%d.example/page-%d-%d.html", i%50, round, i)))
		}
		b.event(crawl.Event{Links: []crawl.Links{l}})
		im, err := b.s.image()
		if err != nil {
			t.Fatal(err)
		}
		var reported, whole bytes.Buffer
		next, err := im.writeTo(&reported)
		if err == nil {
			_, err = im.tx.WriteTo(&whole)
		}
		if err != nil {
			t.Fatal(err)
		}
		im.tx.Rollback()
		if im.against == nil {
			wholes++
			if !bytes.Equal(reported.Bytes(), whole.Bytes()) {
				t.Fatal("a whole copy is none")
			}
			if err := os.WriteFile(path, reported.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			deltas++
			if reported.Len() > whole.Len()/3 {
				t.Errorf("round %d: a delta of %d bytes for a file of %d", round, reported.Len(), whole.Len())
			}
			if err := os.WriteFile(path+".0", reported.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if base, err := baseOfFile(path + ".0"); err != nil || base != b.s.chain.name {
				t.Fatalf("a delta to %q (%v), want %s", base, err, b.s.chain.name)
			}
			if err := applyDelta(path, path+".0"); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, whole.Bytes()) {
				t.Fatalf("round %d: %d bytes, want %d (%v), or others", round, len(got), whole.Len(), err)
			}
		}
		b.s.chain = next
	}
	if wholes < 2 || deltas < 10 {
		t.Errorf("%d whole ones, %d deltas", wholes, deltas)
	}
}

// FuzzDelta applies any content of the store: the result is a file of some length, or an error.
func FuzzDelta(f *testing.F) {
	var good bytes.Buffer
	d, _ := newDiffer(&good, &chain{name: "0-1-0-1-1"}, deltaPage)
	_, _ = d.Write(make([]byte, deltaPage))
	_ = d.end()
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()-1])
	f.Add([]byte(deltaMagic))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, v []byte) {
		base, size, err := deltaBase(bufio.NewReader(bytes.NewReader(v)))
		if err != nil && !errors.Is(err, errDelta) || size > 64*deltaPage {
			return
		}
		path := filepath.Join(dir, "x")
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.WriteFile(path+".0", v, 0o600)); err != nil {
			t.Fatal(err)
		}
		aerr := applyDelta(path, path+".0")
		if aerr != nil && !errors.Is(aerr, errDelta) || aerr == nil && (err != nil || base == "") {
			t.Errorf("base %q, %v; applied: %v", base, err, aerr)
		}
		if st, err := os.Stat(path); aerr == nil && (err != nil || st.Size() != size) {
			t.Errorf("a file of %d bytes, want %d", st.Size(), size)
		}
	})
}

// TestRestoredFromDeltas: a shard whose owner is lost with its disk is restored from a delta
// checkpoint. Its base is kept as long as it is needed, and not longer; a missing base is treated
// like a missing checkpoint.
func TestRestoredFromDeltas(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		withDeltas(t)
		c := oneShard(t)
		a := c.start("a")
		c.settled("a")
		s := c.script()
		isDelta := func(name string) bool { p, ok := parseCheckpoint(name); return ok && p.full > 0 }
		s.workUntil("two deltas in a row", func() bool {
			r := c.record(0)
			return isDelta(r.Checkpoint) && isDelta(r.Previous)
		})
		a.kill()
		delete(c.by, "a")
		r := c.record(0)
		last, before := recorded(r)
		for _, name := range c.checkpoints() {
			if p, _ := parseCheckpoint(name); !last.needs(p) && !before.needs(p) {
				t.Logf("%s is left over", name) // its owner was killed before it removed it
			}
		}
		c.opt.Checkpoint = 1 << 30
		b := c.start("b")
		s.compare()
		until(t, time.Minute, "what no checkpoint of the record needs is gone", func() bool {
			last, before := recorded(c.record(0))
			return !slices.ContainsFunc(c.checkpoints(), func(name string) bool {
				p, _ := parseCheckpoint(name)
				return !last.needs(p) && !before.needs(p)
			})
		})
		b.kill()
		delete(c.by, "b")
		if !isDelta(c.record(0).Checkpoint) {
			t.Fatalf("%+v", c.record(0))
		}
		// The full one is lost, and with it all its deltas.
		for _, name := range c.checkpoints() {
			if p, _ := parseCheckpoint(name); p.full == 0 && p.n == last.full {
				if err := c.snapshots().Delete(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
		}
		f := &Frontier{snapshots: c.snapshots()}
		path := filepath.Join(t.TempDir(), "x")
		if err := f.fetch(t.Context(), r.Checkpoint, path); !errors.Is(err, queue.ErrNoSnapshot) {
			t.Errorf("fetched without what it stands on: %v", err)
		}
		removeAll(path)
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		// A checkpoint that names itself as its base cannot be read either.
		self := checkpointName{shard: 0, epoch: 9, n: 4, full: 3}
		var reported bytes.Buffer
		d, err := newDiffer(&reported, &chain{name: self.String()}, 0)
		if err == nil {
			err = d.end()
		}
		if err == nil {
			_, err = c.snapshots().Put(t.Context(), self.String(), 10, func(w io.Writer) error { _, err := w.Write(reported.Bytes()); return err })
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.fetch(t.Context(), self.String(), path); !errors.Is(err, queue.ErrNoSnapshot) || !strings.Contains(err.Error(), "malformed") {
			t.Errorf("fetched what stands on itself: %v", err)
		}
	})
}

// TestDeltaWithoutItsBase: if the base of a checkpoint is deleted while its owner runs, the owner
// makes a full one, and the log is not purged before.
func TestDeltaWithoutItsBase(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		withDeltas(t)
		defer func(was int64) { deltasOf = was }(deltasOf)
		deltasOf = 1 << 20 // so that only the loss causes another full one
		c := oneShard(t)
		c.start("a")
		c.settled("a")
		s := c.script()
		s.workUntil("a delta", func() bool {
			last, before := recorded(c.record(0))
			return last.full > 0 && before.n > 0
		})
		lost, _ := recorded(c.record(0))
		for _, name := range c.checkpoints() {
			if p, _ := parseCheckpoint(name); p.full == 0 && lost.needs(p) {
				if err := c.snapshots().Delete(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.workUntil("what is recorded stands", func() bool {
			r := c.record(0)
			last, _ := recorded(r)
			return last.n > lost.n && stands(r.Checkpoint, c.checkpoints())
		})
		s.workUntil("two that stand, and a log cut behind the first", func() bool {
			r, names := c.record(0), c.checkpoints()
			_, before := recorded(r)
			return stands(r.Checkpoint, names) && stands(r.Previous, names) && c.firstOfLog() == before.seq
		})
		s.compare()
	})
}
