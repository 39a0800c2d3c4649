package main

import (
	"bytes"
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
	"testing"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/racing"
	"github.com/curtsy/curtsy/internal/simweb"
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
	t.Setenv("CURTSY_LISTEN", "off")
	return srv
}

func web(t *testing.T) *simweb.Server {
	t.Helper()
	// Of four shards each has a host among these twelve: whatever is away, pages are.
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

// The three daemons and curtsy crawl --nats, each on a server that runs already, store what
// curtsy crawl stores.
func TestDaemons(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the daemons")
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

	srv := server(t)
	curtsy(t, 0, append(append([]string{"crawl", "--crawl", "own", "--dir", filepath.Join(dir, "own")}, flags...), seed)...)
	if got := storedBy(t, "--dir", filepath.Join(dir, "own"), "--nats", ""); !slices.Equal(got, want) {
		t.Errorf("crawl --nats stored %d pages, want %d", len(got), len(want))
	}

	if racing.Enabled {
		return // the detector watches this process, and what follows runs in others
	}
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
	var status, errs bytes.Buffer
	await(t, "the daemons to be done", func() bool {
		status.Reset()
		errs.Reset()
		// Nobody answers until the daemons are up.
		runs(t, t.Context(), []string{"status", "--json", "--crawl", "shared"}, nil, &status, &errs)
		// Done also means that search has caught up, which it does after the pages.
		return strings.Contains(status.String(), fmt.Sprintf(`"stored":%d,`, len(want))) && strings.Contains(status.String(), `"state":"done"`)
	})
	waitStored(t, want)
	if out := curtsy(t, 0, "search", "--crawl", "shared", "quiet"); !strings.Contains(out, ".sim.test/") {
		t.Errorf("search over NATS: %s", out)
	}
	searched(t, filepath.Join(dir, "indexer.log"), want)
	assisted(t, want, "")
	away.Process.Kill()
	away.Wait()
	partialAnswers(t, want)
	partialKnown(t)
	partialSearch(t, srv.ClientURL(), want)
	searchedPartly(t, filepath.Join(dir, "indexer.log"))
	assisted(t, want, "do not answer at the moment")
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

// waitStored waits until the indexers have what the frontiers know is on its way.
func waitStored(t *testing.T, want []string) {
	t.Helper()
	await(t, "the indexers to have all pages", func() bool { return slices.Equal(storedBy(t, "--crawl", "shared"), want) })
}

var missingShards = regexp.MustCompile(`no answer for \d+ of 4 shards \(([^)]*)\)`)

// partialAnswers holds the commands that ask the indexers to giving exactly what the indexers that
// are left have, saying which shards are missing, and ending with exit code 4.
func partialAnswers(t *testing.T, want []string) {
	t.Helper()
	for _, args := range [][]string{{"pages", "--json"}, {"pages"}, {"export", "pages"}, {"search", "quiet"}, {"datasets"}} {
		var out, errs bytes.Buffer
		code := runs(t, t.Context(), append(args, "--crawl", "shared"), nil, &out, &errs)
		m := missingShards.FindStringSubmatch(errs.String())
		if code != exitPartial || m == nil {
			t.Errorf("%v with an indexer away: exit code %d, want %d\n%s%s", args, code, exitPartial, &out, &errs)
			continue
		}
		away := int64(0)
		for _, u := range want {
			if inRanges(t, m[1], crawl.ShardOf(canon.URL(u).Host(), 4)) {
				away++
			}
		}
		if says := "hold about " + count(away, "page") + "."; away == 0 || !strings.Contains(errs.String(), says) {
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

// partialKnown: a dataset that was known is not called gone while somebody may have it.
func partialKnown(t *testing.T) {
	t.Helper()
	known := filepath.Join(t.TempDir(), "known")
	if err := os.WriteFile(known, []byte("123456789abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := runs(t, t.Context(), []string{"export", "datasets", "--since", "1h", "--known", known, "--crawl", "shared"}, nil, &out, &errs)
	if code != exitPartial || strings.Contains(out.String(), "removed") || !strings.Contains(errs.String(), "what is gone is not named") {
		t.Errorf("exit code %d, want %d\n%s%s", code, exitPartial, &out, &errs)
	}
}

// partialSearch: the answer itself says which shards are missing, and how many pages with them.
func partialSearch(t *testing.T, server string, want []string) {
	t.Helper()
	c, err := asker.Dial(t.Context(), queue.Options{URL: server, User: "u", Password: "p"}, "shared", slog.New(slog.DiscardHandler))
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
