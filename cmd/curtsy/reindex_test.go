package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/queue"
)

// questions are typed before and after an index is built again.
var questions = []string{"quiet", "quiet river", "the -quiet", `"the quiet"`, "title:page", "qui*", "site:h0001.sim.test quiet", "quiett", "lang:en river",
	"river nowhereatall", "page", "h0002", "type:text/html mountain", "mountain OR river", "compass", "wooden island", "inurl:1 bridge", "forest needle", "journey", "door"}

// A process that is killed while it builds an index leaves one that answers as before: the same
// hits with the same scores, totals and facets.
func TestReindexKilled(t *testing.T) {
	t.Parallel()
	web := web(t)
	dir := t.TempDir()
	curtsy(t, 0, "crawl", "--dir", dir, "--allow-private", "--delay", "0s", "--resolve", web.Resolve(), web.Seeds()[0])
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// testscript.Main makes the test's own binary the command of this name. It asks all questions:
	// what was being read when a process was killed is tried in a process of its own.
	link := filepath.Join(t.TempDir(), "curtsy")
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	told := func(q string, more ...string) string {
		args := append([]string{"search", "--dir", dir, "--limit", "50", "--explain"}, more...)
		out, err := exec.Command(link, append(args, strings.Fields(q)...)...).Output()
		if err != nil {
			t.Fatalf("search %s: %v", q, err)
		}
		return string(out)
	}
	want := map[string]string{}
	found := 0
	for _, q := range questions {
		want[q], want["facets of "+q] = told(q, "--json"), told(q, "--facets")
		if want[q] != "" {
			found++
		}
	}
	if found < len(questions)/2 {
		t.Errorf("%d of %d questions find anything", found, len(questions))
	}
	// Each question is a process. After a kill they are asked one by one, and in the end all of
	// them.
	const inTurns = 5
	killed, done := 0, false
	for after := 20 * time.Millisecond; !done; after *= 2 {
		cmd := exec.Command(link, "reindex", "--dir", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stop := time.AfterFunc(after, func() { cmd.Process.Kill() })
		err := cmd.Wait()
		stop.Stop()
		if done = err == nil; !done && cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("not killed, but: %v", err)
		}
		for i, q := range questions {
			if !done && i%inTurns != killed%inTurns {
				continue
			}
			if got := told(q, "--json"); got != want[q] {
				t.Errorf("after %v, %s:\n%s\nwas\n%s", after, q, got, want[q])
			}
		}
		if !done {
			killed++
		}
	}
	for _, q := range questions {
		if got := told(q, "--facets"); got != want["facets of "+q] {
			t.Errorf("in the end, %s:\n%s\nwas\n%s", q, got, want["facets of "+q])
		}
	}
	if killed == 0 {
		t.Error("never killed")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "search-*.db.*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Over NATS the indexers build the index. If some are away, the command ends with an exit code of
// its own, and they build it when they are back.
func TestReindexOverNATS(t *testing.T) {
	virtual(t, func(t *testing.T) {
		srv := server(t)
		t.Setenv("CURTSY_CRAWL", "docs")
		curtsy(t, 0, "seed", "--shards", "4", "--allow-private", "http://127.0.0.1:1/")
		q, err := queue.Dial(t.Context(), queue.Options{InProcess: srv.InProcess(), User: "u", Password: "p"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		kv, err := q.OpenBucket(t.Context(), crawl.Names("docs").Bucket(), 0)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := service.ReadSpec(t.Context(), kv)
		if err != nil {
			t.Fatal(err)
		}
		dirs := map[string]string{"one": t.TempDir(), "two": t.TempDir()}
		sees := make(chan struct{}, 1) // full while indexers are not to hear of a changed spec
		start := func(name string) (stop func()) {
			spec, err := service.ReadSpec(t.Context(), kv)
			if err != nil {
				t.Fatal(err)
			}
			x, err := indexer.New(q, spec, indexer.Options{Dir: dirs[name], Instance: name, Search: true, Term: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{}, 2)
			go func() {
				if err := x.Run(ctx); err != nil {
					t.Error(err)
				}
				done <- struct{}{}
			}()
			go func() {
				_ = service.WatchSpec(ctx, kv, spec, func(s crawl.Spec) {
					sees <- struct{}{}
					defer func() { <-sees }()
					_ = x.SetSpec(s)
				})
				done <- struct{}{}
			}()
			stop = func() { cancel(); <-done; <-done }
			return stop
		}
		stopOne := start("one")
		defer stopOne()
		stopTwo := start("two")
		c := asker.Running(q, kv, spec)
		for n := 0; ; n++ {
			time.Sleep(20 * time.Millisecond)
			at, err := c.Indexes(t.Context())
			if err == nil && len(at) == 4 && len(shardsHere(t, dirs["one"])) > 0 && len(shardsHere(t, dirs["two"])) > 0 {
				break
			}
			if n == 6000 {
				t.Fatalf("not all shards are held: %v, %v", at, err)
			}
		}
		if out := curtsy(t, app.ExitOK, "reindex"); !strings.Contains(out, "0 pages indexed") {
			t.Errorf("said %q", out)
		}
		stopTwo()
		// A search does not wait long for shards that do not answer.
		began := time.Now()
		if code := runs(t, t.Context(), []string{"search", "quiet"}, nil, io.Discard, io.Discard); code != app.ExitPartial || time.Since(began) > time.Second {
			t.Errorf("a search with an indexer away takes %v and ends with %d", time.Since(began), code)
		}
		var stdout, stderr bytes.Buffer
		if code := runs(t, t.Context(), []string{"reindex"}, nil, &stdout, &stderr); code != app.ExitPartial || !strings.Contains(stderr.String(), "when they are back") {
			t.Errorf("exit code %d without one indexer: %s%s", code, &stdout, &stderr)
		}
		spec, err = service.ReadSpec(t.Context(), kv)
		if err != nil || spec.Reindex == "" {
			t.Fatalf("spec %+v, %v", spec, err)
		}
		defer start("two")()
		for n := 0; ; n++ {
			time.Sleep(20 * time.Millisecond)
			all, err := c.Indexes(t.Context())
			done := 0
			for _, b := range all {
				if b.Mark == spec.Reindex {
					done++
				}
			}
			if err == nil && done == 4 {
				break
			}
			if n == 6000 {
				raw, _ := json.Marshal(all)
				t.Fatalf("the one that came back has not done it: %s, %v", raw, err)
			}
		}
		// Another operator has started it already, so it is not started again.
		sees <- struct{}{}
		ahead, err := service.ChangeSpec(t.Context(), kv, func(old *crawl.Spec) (crawl.Spec, error) {
			s := *old
			s.Reindex = time.Now().UTC().Format(time.RFC3339Nano)
			return s, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// ^C during the wait leaves the work to the indexers.
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		stdout.Reset()
		stderr.Reset()
		code := runs(t, ctx, []string{"reindex"}, nil, &stdout, &stderr)
		cancel()
		if code == app.ExitOK || !strings.Contains(stderr.String(), "already being built again, since") {
			t.Errorf("exit code %d of a second one: %s%s", code, &stdout, &stderr)
		}
		<-sees
		curtsy(t, app.ExitOK, "reindex")
		if spec, err := service.ReadSpec(t.Context(), kv); err != nil || spec.Reindex < ahead.Reindex {
			t.Errorf("spec %+v, %v", spec, err)
		}
	})
}

// shardsHere are the page stores in a directory.
func shardsHere(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "pages-*.db"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}
