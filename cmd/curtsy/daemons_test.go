package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// server starts a NATS server for others to use.
func server(t *testing.T) *embedded.Server {
	t.Helper()
	return serverWith(t, "u", "p")
}

func serverWith(t *testing.T, user, password string) *embedded.Server {
	t.Helper()
	o := embedded.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", User: user, Password: password, MaxStore: room, Log: slog.New(slog.DiscardHandler)}
	vm := machineOf(t)
	if vm != nil {
		o.Listen = ""
	}
	srv, err := embedded.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Shutdown)
	if t.Setenv("CURTSY_NATS", srv.ClientURL()); vm != nil {
		vm.nats = srv
		t.Setenv("CURTSY_NATS", "nats://in.this.process:4222")
	}
	t.Setenv("CURTSY_NATS_USER", user)
	t.Setenv("CURTSY_NATS_PASSWORD", password)
	return srv
}

func web(t *testing.T) *simweb.Server {
	t.Helper()
	// Each of the four shards has a host among these twelve, so whichever indexer is away, some
	// pages are missing.
	web := startWeb(t, simweb.Config{Hosts: 12, PagesPerHost: 6, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree}
	}})
	return web
}

// storedBy lists the pages of a crawl on the server, sorted.
func storedBy(t *testing.T, args ...string) []string {
	t.Helper()
	var urls []string
	for line := range strings.Lines(curtsy(t, 0, append([]string{"pages", "--json"}, args...)...)) {
		var p crawl.PageInfo
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		urls = append(urls, p.URL)
	}
	slices.Sort(urls)
	return urls
}

// A crawl on a NATS server that already runs stores the same as curtsy crawl. If one of its
// indexers is away, each command prints what the others have, and reports what is missing.
func TestIndexerAway(t *testing.T) {
	virtual(t, func(t *testing.T) {
		web := web(t)
		flags := []string{"--allow-private", "--delay", "0s", "--resolve", web.Resolve(), web.Seeds()[0]}
		dir := t.TempDir()
		curtsy(t, 0, append([]string{"crawl", "--dir", filepath.Join(dir, "one")}, flags...)...)
		want := storedBy(t, "--dir", filepath.Join(dir, "one"))

		srv := server(t)
		curtsy(t, 0, append([]string{"crawl", "--crawl", "own", "--dir", filepath.Join(dir, "own")}, flags...)...)
		if got := storedBy(t, "--dir", filepath.Join(dir, "own"), "--nats", ""); len(want) < 40 || !slices.Equal(got, want) {
			t.Errorf("crawl --nats stored %d pages, want %d", len(got), len(want))
		}
		curtsy(t, 0, append([]string{"seed", "--crawl", "shared", "--shards", "4"}, flags...)...)
		o := queue.Options{InProcess: srv.InProcess(), User: "u", Password: "p"}
		q, err := queue.Dial(t.Context(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		kv, err := q.OpenBucket(t.Context(), crawl.Names("shared").Bucket(), 0)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := service.ReadSpec(t.Context(), kv)
		if err != nil {
			t.Fatal(err)
		}
		away, err := indexer.New(q, spec, indexer.Options{Dir: filepath.Join(dir, "away"), Instance: "away", Search: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(context.Background())
		left := make(chan error, 1)
		go func() { left <- away.Run(ctx) }()
		gone := sync.OnceValue(func() error {
			leave()
			return <-left
		})
		defer gone()
		start(t, "crawl", "--crawl", "shared", "--dir", filepath.Join(dir, "shared"), "--recrawl")
		waitCounted(t, want, "")
		waitStored(t, want)
		await(t, "both indexers to have shards", func() bool {
			return len(shardsHere(t, filepath.Join(dir, "away"))) > 0 && len(shardsHere(t, filepath.Join(dir, "shared"))) > 0
		})
		await(t, "search to have all pages", func() bool {
			return strings.Count(curtsy(t, 0, "search", "--limit", "100", "--json", "--crawl", "shared", "page"), "\n") >= len(want)
		})
		assisted(t, want, "")
		if err := gone(); err != nil {
			t.Error(err)
		}
		partialAnswers(t, want, []string{"pages", "--json"}, []string{"pages"}, []string{"export", "pages"}, []string{"search", "quiet"}, []string{"datasets"})
		partialKnown(t)
		partialSearch(t, o, want)
		assisted(t, want, "do not answer at the moment")
	})
}

// The three daemons, on a NATS server that already runs, store the same as curtsy crawl.
func TestDaemons(t *testing.T) {
	if testaid.RaceDetector || testing.Short() {
		t.Skip("runs the daemons, and the detector watches this process alone")
	}
	web := web(t)
	flags := []string{"--allow-private", "--delay", "0s", "--resolve", web.Resolve()}
	seed := web.Seeds()[0]
	dir := t.TempDir()

	one := filepath.Join(dir, "one")
	curtsy(t, 0, append(append([]string{"crawl", "--listen", "off", "--dir", one}, flags...), seed)...)
	want := storedBy(t, "--dir", one)
	if len(want) < 40 {
		t.Fatalf("the crawl in one process stored %d pages", len(want))
	}

	server(t)
	var daemons []*exec.Cmd
	var away *exec.Cmd // an indexer that is killed in the end
	for name, args := range map[string][]string{
		"frontier": {"--dir", filepath.Join(dir, "frontier")},
		"fetcher":  nil,
		"indexer":  {"--dir", filepath.Join(dir, "indexer"), "--listen", "127.0.0.1:0"},
		"away":     {"--dir", filepath.Join(dir, "away"), "--instance", "away"},
	} {
		log, err := os.Create(filepath.Join(dir, name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		program := name
		if name == "away" {
			program = "indexer"
		}
		d := exec.Command(program, append([]string{"--crawl", "shared"}, args...)...)
		d.Stderr = log
		if err := d.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			d.Process.Kill()
			d.Wait()
			log.Seek(0, io.SeekStart)
			if body, _ := io.ReadAll(log); t.Failed() {
				t.Logf("%s:\n%s", name, body)
			}
			log.Close()
		})
		if name == "away" {
			away = d
		} else {
			daemons = append(daemons, d)
		}
	}
	curtsy(t, 0, append(append([]string{"seed", "--crawl", "shared", "--shards", "4"}, flags...), seed)...)
	// Done also means that the search index is complete, which happens after the pages are stored.
	waitCounted(t, want, `"state":"done"`)
	waitStored(t, want)
	if out := curtsy(t, 0, "search", "--crawl", "shared", "quiet"); !strings.Contains(out, ".sim.test/") {
		t.Errorf("search over NATS: %s", out)
	}
	searched(t, filepath.Join(dir, "indexer.log"), want)
	assisted(t, want, "")
	away.Process.Kill()
	away.Wait()
	searchedPartly(t, filepath.Join(dir, "indexer.log"))
	partialAnswers(t, want, []string{"pages", "--json"})
	out := curtsy(t, 0, "stop", "--crawl", "shared")
	for _, kind := range []string{"frontier", "fetcher", "indexer"} {
		if !strings.Contains(out, "stopped "+kind) {
			t.Errorf("stop did not reach the %s: %s", kind, out)
		}
	}
	for _, d := range daemons {
		if err := d.Wait(); err != nil {
			t.Errorf("%s: %v", d.Path, err)
		}
	}
}

// waitCounted waits until the frontiers count all pages, and their status has some words in it.
func waitCounted(t *testing.T, want []string, words string) {
	t.Helper()
	await(t, "the frontiers to know of all pages", func() bool {
		var status, errs bytes.Buffer
		// No shard answers until the daemons have started.
		runs(t, t.Context(), []string{"status", "--json", "--crawl", "shared"}, nil, &status, &errs)
		return strings.Contains(status.String(), fmt.Sprintf(`"stored":%d,`, len(want))) && strings.Contains(status.String(), words)
	})
}

// waitStored waits until the indexers have stored all pages that the frontiers have accepted.
func waitStored(t *testing.T, want []string) {
	t.Helper()
	await(t, "the indexers to have all pages", func() bool { return slices.Equal(storedBy(t, "--crawl", "shared"), want) })
}

var missingShards = regexp.MustCompile(`no answer for \d+ of 4 shards \(([^)]*)\)`)

// partialAnswers checks that the commands that ask the indexers print exactly what the remaining
// indexers have, report which shards are missing, and end with exit code 4.
func partialAnswers(t *testing.T, want []string, commands ...[]string) {
	t.Helper()
	for _, args := range commands {
		var out, errs bytes.Buffer
		code := runs(t, t.Context(), append(args, "--crawl", "shared"), nil, &out, &errs)
		m := missingShards.FindStringSubmatch(errs.String())
		if code != app.ExitPartial || m == nil {
			t.Errorf("%v with an indexer away: exit code %d, want %d\n%s%s", args, code, app.ExitPartial, &out, &errs)
			continue
		}
		away := int64(0)
		for _, u := range want {
			if inRanges(t, m[1], crawl.ShardOf(canon.URL(u).Host(), 4)) {
				away++
			}
		}
		if says := "The missing shards store about " + term.Count(away, "page") + "."; away == 0 || !strings.Contains(errs.String(), says) {
			t.Errorf("%v does not say %q:\n%s", args, says, &errs)
		}
		if !strings.HasPrefix(out.String(), "{") {
			continue // a table, which a URL alone cannot be told from its beginning in
		}
		for _, u := range want {
			there := !inRanges(t, m[1], crawl.ShardOf(canon.URL(u).Host(), 4))
			if strings.Contains(out.String(), `"url":"`+u+`"`) != there {
				t.Errorf("%v with shards %s missing: %s is shown: %v", args, m[1], u, !there)
			}
		}
	}
}

// partialKnown: a known dataset is not reported as gone while a missing shard may have it.
func partialKnown(t *testing.T) {
	t.Helper()
	known := filepath.Join(t.TempDir(), "known")
	if err := os.WriteFile(known, []byte("123456789abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := runs(t, t.Context(), []string{"export", "datasets", "--since", "1h", "--known", known, "--crawl", "shared"}, nil, &out, &errs)
	if code != app.ExitPartial || strings.Contains(out.String(), "removed") || !strings.Contains(errs.String(), "datasets that are gone are not named") {
		t.Errorf("exit code %d, want %d\n%s%s", code, app.ExitPartial, &out, &errs)
	}
}

// partialSearch: the answer reports which shards are missing, and how many pages they have.
func partialSearch(t *testing.T, server queue.Options, want []string) {
	t.Helper()
	c, err := asker.Dial(t.Context(), server, "shared", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ans, err := c.Search(t.Context(), crawl.SearchRequest{Query: "quiet", Limit: 100})
	if !errors.Is(err, ask.ErrIncomplete) || !ans.Incomplete || len(ans.Missing) == 0 || len(ans.Hits) == 0 {
		t.Fatalf("%+v, %v", ans, err)
	}
	away := int64(0)
	for _, u := range want {
		if slices.Contains(ans.Missing, crawl.ShardOf(canon.URL(u).Host(), 4)) {
			away++
		}
	}
	if ans.MissingPages != away {
		t.Errorf("shards %v hold %d pages, the answer says %d", ans.Missing, away, ans.MissingPages)
	}
	if n := c.StoredIn(t.Context(), []int{0, 4}); n != -1 {
		t.Errorf("a shard that is not there holds %d pages", n)
	}
}

// inRanges reports whether n is among numbers written as in 0-2, 5.
func inRanges(t *testing.T, list string, n int) bool {
	t.Helper()
	for r := range strings.SplitSeq(list, ", ") {
		first, last, isRange := strings.Cut(r, "-")
		if !isRange {
			last = first
		}
		a, err := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil {
			t.Fatalf("%q is no list of shards", list)
		}
		if a <= n && n <= b {
			return true
		}
	}
	return false
}
