package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mutation is a fault that is put into the product, to check that the simulation finds it.
type mutation struct {
	name     string
	file     string // below the root of the module
	old, new string
	promise  string // the promises by which it may be found, of those in fail
}

// mutations are checked by `make mutate`.
var mutations = []mutation{
	{"an indexer acknowledges before its commit", "pkg/queue/consume.go",
		"	s.handled = true\n	err := s.h(ctx, batch)\n",
		"	s.handled = true\n	for _, m := range msgs {\n		_ = m.Ack()\n	}\n	err := s.h(ctx, batch)\n",
		"stored-both search"},
	{"a renewed lease is one second too long", "internal/fetcher/renew.go",
		"			r.lease.Renew(sent, answer.Lease)\n",
		"			r.lease.Renew(sent+time.Second, answer.Lease)\n",
		"concurrent delay"},
	{"the time at which a host is due is not carried over a restart", "internal/frontier/hosts/due.go",
		"	Due time.Time `json:\"due,omitzero\"`\n",
		"	Due time.Time `json:\"-\"`\n",
		"delay retry-after"},
	{"an outbox message counts as sent before it is", "internal/frontier/store/outbox.go",
		"						err = send(lanes, m.Shard, data)\n",
		"						o.MarkSent(m.N)\n						err = send(lanes, m.Shard, data)\n",
		"outcome"},
	{"a new owner does not wait a lease", "internal/frontier/start.go",
		"	return store.StartLease\n}\n",
		"	return store.StartDelay\n}\n",
		"concurrent delay"},
	{"an owner ends a visit before its lease is over", "internal/frontier/schedule/grant.go",
		"		if v.Until.Before(now) {\n			over",
		"		if v.Until.Add(-2 * time.Second).Before(now) {\n			over",
		"concurrent delay"},
	{"an outcome is published before its pages", "internal/fetcher/publish/outcome.go",
		"	p.FlushPages()\n	feeds := p.publishFeeds()\n",
		"	defer p.FlushPages()\n	feeds := p.publishFeeds()\n",
		"stored-both search"},
	{"links of other shards are not in the transaction of the position", "internal/frontier/store/commit.go",
		"	if err := f.write(); err != nil {\n",
		"	forward := f.Outbox.forward\n	f.Outbox.forward = nil\n	defer func() {\n		if f.Outbox.forward = forward; f.Tx != nil {\n			f.Outbox.write()\n		}\n	}()\n	if err := f.write(); err != nil {\n",
		"outcome"},
	{"an older visit replaces a newer page", "internal/pages/put.go",
		"		if p.Visit.Compare(w.old.Visit) <= 0 && w.old.ID != 0 {\n",
		"		if p.Visit == w.old.Visit && w.old.ID != 0 {\n",
		"newest"},
	{"a Retry-After is forgotten when the visit ends", "internal/frontier/shard/outcomes.go",
		"if o.RetryAfter > 0 {",
		"if o.RetryAfter > 365*24*time.Hour {",
		"retry-after"},
	{"the gate is not passed after a robots.txt", "internal/fetcher/wire/client.go",
		"	delay := h.Delay()\n	h.Lease.addDelay(delay)",
		"	delay := h.Delay()\n	if h.Requests == 1 {\n		delay = 0\n	}\n	h.Lease.addDelay(delay)",
		"delay last-moment"},
	{"an outcome that comes twice counts twice", "internal/frontier/shard/results.go",
		"	if r.Visit.Compare(id) >= 0 {\n",
		"	if r.Visit.Compare(id) > 0 {\n",
		"attempts"},
	{"the seen set is forgotten after a restart", "internal/frontier/store/transaction.go",
		"	return Flush(t.known, t.records, t.ready)\n",
		"	return Flush(t.records, t.ready)\n",
		"seen-once fetched-once"},
	{"the cursor of search is moved without its segment", "internal/search/follow.go",
		"	if err := x.db.Update(func(tx *bolt.Tx) error { return x.write(tx, changes, raw, last) }); err != nil {\n",
		"	if err := x.db.Update(func(tx *bolt.Tx) error { return putCursor(tx, last) }); err != nil {\n		return 0, err\n	}\n	if err := x.db.Update(func(tx *bolt.Tx) error { return x.write(tx, changes, raw, last) }); err != nil {\n",
		"search"},
	{"a checkpoint is restored without the log after it", "internal/frontier/start.go",
		"		if err := s.apply(batch); err != nil {\n",
		"		if batch[len(batch)-1].Seq <= last {\n			batch = batch[len(batch)-1:]\n		}\n		if err := s.apply(batch); err != nil {\n",
		"outcome stored-both sum ends"},
	{"an owner renews visits that it does not know", "internal/frontier/schedule/grant.go",
		"		if v == nil || !s.ledger.Valid() || v.Until.Before(now) || vain(v) {\n",
		"		if v == nil {\n			continue\n		}\n		if !s.ledger.Valid() || v.Until.Before(now) || vain(v) {\n",
		"concurrent delay"},
	{"a feed acknowledges before its sink has confirmed", "internal/feed/step.go",
		"	if err := f.send(ctx, shard, r, &ack); err != nil {\n",
		"	if _, err := f.acknowledge(ctx, ack); err != nil {\n		return false, err\n	}\n	if err := f.send(ctx, shard, r, &ack); err != nil {\n",
		"feed feed-dead"},
	{"a feed sends no deletions", "internal/indexer/feeding.go",
		"		row = &crawl.PageRow{Removed: why}\n",
		"		return nil, \"\"\n",
		"feed"},
	{"a feeder keeps its position apart from the pages", "internal/feed/read.go",
		"	r.changes = slices.DeleteFunc(r.changes, func(c Change) bool { return c.ID == \"\" })\n	return &r, nil\n}\n",
		"	f.mu.Lock()\n	defer f.mu.Unlock()\n	last := max(kept[[2]any{f, shard}], r.pos.Cursor)\n	kept[[2]any{f, shard}] = last\n" +
			"	r.changes = slices.DeleteFunc(r.changes, func(c Change) bool { return c.ID == \"\" || uint64(c.Version)&(1<<32-1) <= last })\n" +
			"	return &r, nil\n}\n\nvar kept = map[[2]any]uint64{}\n",
		"feed"},
	{"a shard that is sent again is not swept", "internal/feed/step.go",
		"		return f.sink.Sweep(ctx, name, shard, r.pos.Generation)\n",
		"		return nil\n",
		"feed"},
	{"versions begin again with the page store", "internal/feed/read.go",
		"return generation<<32 + int64(seq)",
		"return int64(seq)",
		"feed-order"},
	{"a page is rendered without what a host has that nobody can visit now", "internal/fetcher/page/resource.go",
		"	case errors.As(err, &later), ctx.Err() != nil:\n",
		"	case ctx.Err() != nil && !errors.As(err, &later):\n",
		"render outcome search"},
	{"pages that were taken over are settled before they are stored", "internal/indexer/taking.go",
		"	err := s.handleAndAcknowledge(ctx, messages)\n	if err == nil {\n",
		"	for _, m := range batch {\n		s.intake.Settle(m)\n	}\n	err := s.handleAndAcknowledge(ctx, messages)\n	if err == nil && false {\n",
		"one-process stored-both search"},
}

// test is the test that finds a mutation.
func (m mutation) test() string {
	if strings.HasPrefix(m.promise, "feed") {
		return "TestFeedSimulation"
	}
	if strings.HasPrefix(m.promise, "one-process") {
		return "TestOneProcess"
	}
	if strings.HasPrefix(m.promise, "render") {
		return "TestRenderSimulation"
	}
	return "TestSimulation"
}

// foundFile has a line for each mutation: the first seed from 1 on that found it, and by which
// promise. The order of goroutines differs from run to run, so the same seed alone may need several
// tries, and a later search may end at another seed.
const foundFile = "testdata/mutations.txt"

// found reads foundFile: the lines by the names of the mutations.
func found(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(foundFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if name, how, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			lines[name] = how
		}
	}
	return lines
}

// keep writes how a mutation was found.
func (m mutation) keep(t *testing.T, seed, promise string) {
	t.Helper()
	lines := found(t)
	lines[m.name] = seed + ", " + promise
	var b strings.Builder
	for _, m := range mutations {
		if how, ok := lines[m.name]; ok {
			fmt.Fprintf(&b, "%s: %s\n", m.name, how)
		}
	}
	if err := os.MkdirAll(filepath.Dir(foundFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(foundFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestMutationsApply checks that each mutation still fits the product, and was found once.
func TestMutationsApply(t *testing.T) {
	if len(mutations) < 15 {
		t.Errorf("%d mutations, want fifteen", len(mutations))
	}
	all := found(t)
	for _, m := range mutations {
		_, promise, _ := strings.Cut(all[m.name], ", ")
		if promise == "" || !slices.Contains(strings.Fields(m.promise), promise) {
			t.Errorf("%s: %s has no line that says how it was found, by one of %s: run `make mutate MUTATE=%q`", m.name, foundFile, m.promise, m.name)
		}
		if _, err := m.apply(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// apply returns the text of the file with the mutation.
func (m mutation) apply() (string, error) {
	b, err := os.ReadFile(filepath.Join("../..", m.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(b), m.old); n != 1 {
		return "", fmt.Errorf("its old text is %d times in %s, want once", n, m.file)
	}
	return strings.Replace(string(b), m.old, m.new, 1), nil
}

// TestMutations puts each mutation into the product and simulates until one seed finds it. MUTATE=1
// runs it, or MUTATE with a part of the name of a mutation; SEEDS is the last seed that is tried,
// and FROM the first.
func TestMutations(t *testing.T) {
	which := os.Getenv("MUTATE")
	if which == "" {
		t.Skip("MUTATE=1 runs it")
	}
	for _, m := range mutations {
		if which == "1" || strings.Contains(m.name, which) {
			t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) { m.run(t, setting(t, "SEEDS", 200)) })
		}
	}
}

var (
	failedSeed = regexp.MustCompile(`(?m)^ *--- FAIL: \w+/(seed=\d+)`)
	broken     = regexp.MustCompile(`PROMISE ([a-z-]+): (.*)`)
)

// step is how many seeds one process tries. It ends at the first that fails.
const step = 20

func (m mutation) run(t *testing.T, seeds int) {
	text, err := m.apply()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mutated, overlay, program := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sim.test")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, m.file): mutated}})
	if err != nil {
		t.Fatal(err)
	}
	for path, b := range map[string][]byte{mutated: []byte(text), overlay: replace} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "test", "-c", "-o", program, "-overlay", overlay, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for from := setting(t, "FROM", 1); from <= seeds; from += step {
		run := exec.Command(program, "-test.run", "^"+m.test()+"$", "-test.failfast", "-test.timeout", "10m")
		run.Env = append(os.Environ(), fmt.Sprint("FROM=", from), fmt.Sprint("SEEDS=", min(step, seeds-from+1)))
		out, err := run.CombinedOutput()
		if err == nil {
			continue
		}
		seed, promises := failedSeed.FindSubmatch(out), broken.FindAllSubmatch(out, -1)
		if len(promises) == 0 {
			t.Fatalf("it ended, but by no promise: %s", out[:min(len(out), 4000)])
		}
		name := "seed=?"
		if seed != nil {
			name = string(seed[1])
		}
		for _, p := range promises {
			if strings.Contains(" "+m.promise+" ", " "+string(p[1])+" ") {
				t.Logf("found by %s, promise %s: %s", name, p[1], bytes.TrimSpace(p[2][:min(len(p[2]), 300)]))
				m.keep(t, name, string(p[1]))
				return
			}
		}
		t.Errorf("%s failed by %s, not by %s: %s", name, promises[0][1], m.promise, promises[0][2])
		return
	}
	t.Errorf("%d seeds do not find it", seeds)
}
