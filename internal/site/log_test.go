package site

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"
)

func fileOf(content string) *record {
	r := record{stat: stat{size: int64(len(content))}}
	copy(r.sum[:], content)
	return &r
}

// baseline marks the first scan as complete, so that findings are changes.
func (r *rootOf) baseline() {
	r.t.Helper()
	r.must(r.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(metaBaseline, []byte("done")) }))
}

func (r *rootOf) commit(now time.Time, found ...finding) {
	r.t.Helper()
	for batch := range slices.Chunk(found, batchMax) {
		_, err := commit(r.db, now, batch)
		r.must(err)
	}
}

// The net effect of several changes of one file in a report.
func TestNetEffect(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]kind{
		"N": added, "C": changed, "D": deleted, "NC": added, "NCC": added, "ND": 0, "NCD": 0, "NDN": added, "NDND": 0,
		"CC": changed, "CD": deleted, "DN": changed, "DNC": changed, "DND": deleted, "CDN": changed,
	} {
		if got := together(kind(log[0]), kind(log[len(log)-1])); got != want {
			t.Errorf("%s: %q, want %q", log, got, want)
		}
	}
}

// Random findings are compared with a model: the net effect is the difference between the files
// before and after.
func TestFoldAgainstModel(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	r.baseline()
	rnd := rand.New(rand.NewPCG(1, 2))
	now := map[string]string{}
	apply := func() {
		var found []finding
		for range rnd.IntN(20) {
			rel := fmt.Sprintf("d%d/%d", rnd.IntN(3), rnd.IntN(8))
			if rnd.IntN(3) == 0 {
				found = append(found, finding{rel: rel})
				delete(now, rel)
				continue
			}
			content := fmt.Sprint(rnd.IntN(1000))
			found = append(found, finding{rel: rel, file: fileOf(content)})
			now[rel] = content
		}
		r.commit(time.Now(), found...)
		r.commit(time.Now(), found...) // as after a crash in which the transaction was committed
	}
	for range 30 {
		var since []byte
		r.must(r.db.View(func(tx *bolt.Tx) error { since = end(tx); return nil }))
		before := map[string]string{}
		for k, v := range now {
			before[k] = v
		}
		for range 1 + rnd.IntN(3) {
			apply()
		}
		got := map[string]kind{}
		r.must(r.db.View(func(tx *bolt.Tx) error {
			list, upTo, done, err := fold(tx, since, maxPaths, func(string) bool { return true })
			if !done || string(upTo) != string(end(tx)) {
				t.Errorf("done %v at %x, want the end, %x", done, upTo, end(tx))
			}
			for _, c := range list {
				got[c.rel] = c.kind
			}
			return err
		}))
		for rel, k := range got {
			_, was := before[rel]
			_, is := now[rel]
			if want := map[[2]bool]kind{{false, true}: added, {true, true}: changed, {true, false}: deleted}[[2]bool{was, is}]; k != want {
				t.Errorf("%s: %q, want %q", rel, k, want)
			}
		}
		for rel := range now {
			if before[rel] != now[rel] && got[rel] == 0 {
				t.Errorf("%s: not reported", rel)
			}
		}
		for rel := range before {
			if _, is := now[rel]; !is && got[rel] != deleted {
				t.Errorf("%s: %q, want deleted", rel, got[rel])
			}
		}
	}
}

// At the limit and beyond it: a report has 50,000 paths, and the next one continues.
func TestFoldLimit(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	r.baseline()
	var found []finding
	for i := range maxPaths + 1 {
		found = append(found, finding{rel: fmt.Sprint(i), file: fileOf("1")})
	}
	r.commit(time.Now(), found...)
	r.must(r.db.View(func(tx *bolt.Tx) error {
		list, upTo, done, err := fold(tx, nil, maxPaths, func(rel string) bool { return rel != "0" })
		if len(list) != maxPaths || !done || err != nil {
			t.Errorf("%d paths, done %v, %v; want all %d", len(list), done, err, maxPaths)
		}
		list, upTo, done, err = fold(tx, nil, maxPaths, func(string) bool { return true })
		if len(list) != maxPaths || done || err != nil {
			t.Errorf("%d paths, done %v, %v; want %d and more to come", len(list), done, err, maxPaths)
		}
		list, _, done, err = fold(tx, upTo, maxPaths, func(string) bool { return true })
		if len(list) != 1 || list[0].rel != fmt.Sprint(maxPaths) || !done || err != nil {
			t.Errorf("%+v, done %v, %v; want the last path", list, done, err)
		}
		return nil
	}))
	long := strings.Repeat("x", 800)
	found = found[:0]
	for i := range maxBytes/800 + 1 {
		found = append(found, finding{rel: fmt.Sprintf("%s%04d", long, i), file: fileOf("1")})
	}
	r.commit(time.Now(), found...)
	r.must(r.db.View(func(tx *bolt.Tx) error {
		list, _, done, err := fold(tx, nil, maxPaths, func(rel string) bool { return len(rel) > 800 })
		if len(list) < maxBytes/900 || len(list) > maxBytes/800 || done || err != nil {
			t.Errorf("%d long paths, done %v, %v", len(list), done, err)
		}
		return nil
	}))
}

// The lines stay in order when the clock is set back. Purging keeps the lines that a query or a
// robot still needs.
func TestLogTimeAndPurge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoot(t)
		defer r.db.Close()
		r.baseline()
		start := time.Now()
		r.commit(start, finding{rel: "a", file: fileOf("1")})
		r.commit(start.Add(-time.Hour), finding{rel: "b", file: fileOf("1")})
		r.commit(start.Add(48*time.Hour), finding{rel: "c", file: fileOf("1")})
		if got := fmt.Sprint(r.lines()); got != "[N a N b N c]" {
			t.Errorf("the log: %s", got)
		}
		keep := func(now time.Time) {
			r.must(r.db.Update(func(tx *bolt.Tx) error {
				from, err := keepFrom(tx, now, 24*time.Hour)
				if err != nil {
					return err
				}
				_, err = purge(tx, from)
				return err
			}))
		}
		keep(start.Add(24 * time.Hour))
		if got := fmt.Sprint(r.lines()); got != "[N a N b N c]" {
			t.Errorf("within the span: %s", got)
		}
		r.must(r.db.Update(func(tx *bolt.Tx) error {
			return registrations{tx}.putProgress("slow", progress{Since: position(uint64(start.UnixNano()))})
		}))
		keep(start.Add(30 * 24 * time.Hour))
		if got := fmt.Sprint(r.lines()); got != "[N a N b N c]" {
			t.Errorf("for a slow robot: %s", got)
		}
		r.must(r.db.Update(func(tx *bolt.Tx) error { return registrations{tx}.putProgress("slow", progress{Since: end(tx)}) }))
		keep(start.Add(30 * 24 * time.Hour))
		if got := fmt.Sprint(r.lines()); got != "[N c]" {
			t.Errorf("after its report: %s", got)
		}
		// A regression: a machine without a clock begins in 1970.
		r.must(r.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketProgress).Delete([]byte("slow")) }))
		keep(time.Unix(60, 0))
		if got := fmt.Sprint(r.lines()); got != "[N c]" {
			t.Errorf("before the machine knows the time: %s", got)
		}
	})
}

// A process that ends at any commit loses no change and adds none. The file as it was after each
// commit is opened again, and a scan finds the remaining changes.
func TestCrashAtEveryCommit(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	for i := range 40 {
		r.write(fmt.Sprintf("d%d/%d", i%4, i), "1")
	}
	r.scan()
	r.write("d0/0", "2")
	r.must(os.Remove(r.path("d1/1")))
	r.must(os.RemoveAll(r.path("d2")))
	for i := range 3 * batchMax {
		r.write(fmt.Sprintf("more/%d", i), "1")
	}
	want := func() []string {
		list := []string{"C d0/0", "D d1/1"}
		for i := 2; i < 40; i += 4 {
			list = append(list, fmt.Sprintf("D d2/%d", i))
		}
		for i := range 3 * batchMax {
			list = append(list, fmt.Sprintf("N more/%d", i))
		}
		slices.Sort(list)
		return list
	}()
	var copies []string
	snapshot := func([]kind) {
		name := filepath.Join(t.TempDir(), "copy.db")
		out, err := os.Create(name)
		r.must(err)
		defer out.Close()
		r.must(r.db.View(func(tx *bolt.Tx) error { _, err := tx.WriteTo(out); return err }))
		copies = append(copies, name)
	}
	tr := r.tree()
	tr.count = snapshot
	r.must(tr.all(t.Context()))
	if len(copies) < 4 {
		t.Fatalf("only %d commits", len(copies))
	}
	for i, name := range copies {
		again := &rootOf{t: t, dir: r.dir, file: name}
		again.open()
		again.scan()
		if got := again.net(); !slices.Equal(got, want) {
			t.Errorf("after commit %d: %d changes, want %d", i, len(got), len(want))
		}
		if got := len(again.lines()); got != len(want) {
			t.Errorf("after commit %d: the log has %d lines, want %d", i, got, len(want))
		}
		again.db.Close()
	}
}

// After a crash during the first scan, the remaining files are not changes.
func TestCrashBeforeBaseline(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	for i := range 3 * batchMax {
		r.write(fmt.Sprint(i), "1")
	}
	tr := r.tree()
	n := 0
	tr.count = func([]kind) {
		if n++; n == 2 {
			panic(io.EOF)
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no crash")
			}
		}()
		_ = tr.all(t.Context())
	}()
	r.scan()
	r.want()
	if left, err := below(r.db, "", 10*batchMax); err != nil || len(left) != 3*batchMax {
		t.Errorf("%d files known, %v", len(left), err)
	}
}
