package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/simweb"
)

// stoppedCrawl is a crawl that is done, of a web that still serves.
type stoppedCrawl struct {
	t   *testing.T
	web *simweb.Server
	dir string
	all []string // pages
}

func newStoppedCrawl(t *testing.T) *stoppedCrawl {
	t.Helper()
	web := startWeb(t, simweb.Config{Hosts: 3, PagesPerHost: 40, CrossLinks: 3, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree, Features: []simweb.Feature{simweb.FeatureDataYAML}}
	}})
	r := &stoppedCrawl{t: t, web: web, dir: filepath.Join(t.TempDir(), "data")}
	r.crawl(app.ExitOK, web.Seeds()...)
	if r.all = storedBy(t, "--dir", r.dir); len(r.all) < 100 || r.counts() != int64(len(r.all)) {
		t.Fatalf("%d pages listed, %d counted", len(r.all), r.counts())
	}
	return r
}

func (r *stoppedCrawl) crawl(want int, seeds ...string) {
	r.t.Helper()
	curtsy(r.t, want, append([]string{"crawl", "--dir", r.dir, "--allow-private", "--delay", "0s", "--resolve", r.web.Resolve()}, seeds...)...)
}

// counts is how many pages are stored, by the frontier's files.
func (r *stoppedCrawl) counts() int64 {
	r.t.Helper()
	from, err := engine.OpenFiles(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	defer from.Close()
	st, err := from.Status(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return st.Stored
}

// without checks that nothing that is shown belongs to what is forgotten.
func (r *stoppedCrawl) without(forgotten ...string) {
	r.t.Helper()
	under := func(u string) bool {
		u = strings.TrimPrefix(u, "http://")
		return slices.ContainsFunc(forgotten, func(f string) bool { return strings.HasPrefix(u, f) })
	}
	for _, args := range [][]string{
		{"pages", "--json"}, {"search", "--limit", "100", "--json", "page"}, {"search", "--limit", "100", "--json", "site:h0001.sim.test page"},
		{"datasets", "--json"}, {"export", "pages"}, {"export", "pages", "--format", "text"}, {"export", "links"}, {"export", "datasets"},
	} {
		for line := range strings.Lines(curtsy(r.t, 0, append(args, "--dir", r.dir)...)) {
			// Other pages may name it: in their text, or as the target of a link.
			for _, field := range []string{"", `"url":"`, `"from":"`} {
				if _, u, ok := strings.Cut(line, field); ok && (field != "" || strings.HasPrefix(line, "http")) && under(u) {
					r.t.Errorf("curtsy %s: %s", strings.Join(args, " "), line)
				}
			}
		}
	}
	want := slices.DeleteFunc(slices.Clone(r.all), under)
	if got := storedBy(r.t, "--dir", r.dir); !slices.Equal(got, want) || len(want) == len(r.all) {
		r.t.Errorf("%d pages are left, want %d", len(got), len(want))
	}
	if n := r.counts(); n != int64(len(want)) {
		r.t.Errorf("%d pages are counted, want %d", n, len(want))
	}
}

// unasked checks that no request went to a host, or to a URL prefix of it, since the log was
// cleared.
func (r *stoppedCrawl) unasked(forgotten ...string) {
	r.t.Helper()
	for _, q := range r.web.Log() {
		if slices.ContainsFunc(forgotten, func(f string) bool { return strings.HasPrefix(q.Host+q.Path, f) }) {
			r.t.Errorf("%s%s was asked for", q.Host, q.Path)
		}
	}
}

// What is forgotten in a crawl that does not run is gone from its files when the command returns,
// without a request to any site. It stays out when the crawl is resumed and links and seeds lead
// there, and comes back when that is allowed.
func TestForgetAtRest(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newStoppedCrawl(t)
		out, part := "h0001.sim.test", "http://h0002.sim.test/notes"
		under := []string{out, strings.TrimPrefix(part, "http://")}
		says := func(want string, args ...string) {
			t.Helper()
			if got := curtsy(t, 0, append([]string{"forget", "--dir", r.dir}, args...)...); got != want {
				t.Errorf("curtsy forget %s: said %q, want %q", strings.Join(args, " "), got, want)
			}
		}
		r.web.ResetLog()
		misses(t, r, "h0009.sim.test", "h0001.sim.test")
		misses(t, r, "elsewhere.test", "curtsy hosts")
		misses(t, r, "http://h0001.sim.test/nothing/below/this", "other URLs of h0001.sim.test")
		pages := strings.Count(strings.Join(r.all, "\n"), "//"+out+"/")
		datasets := strings.Count(curtsy(t, 0, "datasets", "--json", "--dir", r.dir), `"origin":"http://`+out)
		says(fmt.Sprintf("%s is forgotten: %d URLs, %d pages, %d datasets\n", out, urlsOf(t, r, out), pages, datasets), out)
		r.without(under[:1]...)
		below := strings.Count(strings.Join(r.all, "\n"), part)
		if got := curtsy(t, 0, "forget", "--dir", r.dir, part); !strings.HasPrefix(got, part+" is forgotten: ") ||
			!strings.HasSuffix(got, fmt.Sprintf(" %s, 0 datasets\n", term.Count(int64(below), "page"))) {
			t.Errorf("said %q", got)
		}
		says(part+" was already forgotten\n", part)
		if log := r.web.Log(); len(log) > 0 {
			t.Errorf("%d requests were sent: %+v", len(log), log[0])
		}
		r.without(under...)
		r.crawl(app.ExitOK, "http://h0001.sim.test/", part+"/another")
		r.without(under...)
		r.unasked(under...)
		says(part+" may be crawled again\n", "--undo", part)
		says(out+" may be crawled again\n", "--undo", out)
		says(out+" was not forgotten\n", "--undo", out)
		r.crawl(app.ExitFailed) // the server of one seed says 404
		if got := storedBy(t, "--dir", r.dir); !slices.Equal(got, r.all) {
			t.Errorf("%d pages after all is let in again, want %d", len(got), len(r.all))
		}
	})
}

// misses checks that a name that is not in the crawl removes nothing, and that similar names are
// suggested.
func misses(t *testing.T, r *stoppedCrawl, entry, hint string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := runs(t, t.Context(), []string{"forget", "--dir", r.dir, entry}, strings.NewReader(""), &stdout, &stderr)
	if said := stderr.String(); code != app.ExitFailed || stdout.Len() > 0 || !strings.Contains(said, "the crawl has nothing of "+entry) || !strings.Contains(said, hint) {
		t.Errorf("curtsy forget %s: exit code %d, %s%s", entry, code, &stdout, said)
	}
}

// urlsOf counts the URLs of a host that the frontier's file holds.
func urlsOf(t *testing.T, r *stoppedCrawl, host string) (n int64) {
	t.Helper()
	from, err := engine.OpenFiles(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	known, err := from.CountPrefix(t.Context(), host)
	if err != nil || known.URLs < 40 {
		t.Fatalf("%+v, %v", known, err)
	}
	return known.URLs
}

// The command is killed at any moment. That breaks nothing, and the same command or the crawl does
// the rest.
func TestForgetIsKilled(t *testing.T) {
	t.Parallel()
	r := newStoppedCrawl(t)
	const host = "h0001.sim.test"
	noted := func() int64 { // bytes of the crawl log
		is, err := os.Stat(filepath.Join(r.dir, "crawl.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return is.Size()
	}
	killed := 0
	for i := range 8 {
		before := noted()
		cmd := exec.Command("curtsy", "forget", "--dir", r.dir, host)
		if i%2 == 1 {
			cmd.Args = append(cmd.Args, "--undo")
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// It is killed at once, or when it has locked the directory, or when it has recorded the
		// action.
		events := []func() bool{
			func() bool { return true },
			func() bool { return engine.Alive(r.dir) },
			func() bool { return noted() > before },
		}
		await(t, "the moment to kill it", func() bool { return len(ended) > 0 || events[i%len(events)]() })
		_ = cmd.Process.Kill() // an error means that it has just ended
		var exit *exec.ExitError
		if errors.As(<-ended, &exit) && !exit.Exited() {
			killed++
		}
		storedBy(t, "--dir", r.dir) // can be asked
	}
	if t.Logf("killed %d times", killed); killed < 3 {
		t.Errorf("it ended by itself in all but %d of 8 runs", killed)
	}
	r.web.ResetLog()
	curtsy(t, 0, "forget", "--dir", r.dir, host)
	if n := len(r.web.Log()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
	r.without(host)
	r.crawl(app.ExitOK)
	r.without(host)
	r.unasked(host)
	curtsy(t, 0, "forget", "--undo", "--dir", r.dir, host)
	r.crawl(app.ExitOK)
	if got := storedBy(t, "--dir", r.dir); !slices.Equal(got, r.all) {
		t.Errorf("%d pages after it is let in again, want %d", len(got), len(r.all))
	}
}

// A crawl that keeps its pages fresh gets a forget command, and is killed at the moment in which
// the command reports that it is done.
func TestForgetAndTheCrawlIsKilled(t *testing.T) {
	t.Parallel()
	r := newStoppedCrawl(t)
	const host = "h0001.sim.test"
	crawling := exec.Command("curtsy", "crawl", "--dir", r.dir, "--recrawl", "--recrawl-min", "1s", "--recrawl-max", "1s")
	if err := crawling.Start(); err != nil {
		t.Fatal(err)
	}
	defer crawling.Process.Kill()
	await(t, "the crawl to begin", func() bool {
		_, err := os.Stat(filepath.Join(r.dir, "nats.json"))
		return err == nil
	})
	if out := curtsy(t, 0, "forget", "--dir", r.dir, host); !strings.HasPrefix(out, host+" is forgotten: ") {
		t.Errorf("said %q", out)
	}
	if err := crawling.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = crawling.Wait()
	for _, u := range storedBy(t, "--dir", r.dir) {
		if strings.HasPrefix(u, "http://"+host) {
			t.Errorf("%s is listed", u)
		}
	}
	r.web.ResetLog()
	curtsy(t, 0, "forget", "--dir", r.dir, host) // what is left to do
	r.without(host)
	r.crawl(app.ExitOK, "--recrawl=false")
	r.without(host)
	r.unasked(host)
}

func TestForgetNeedsACrawl(t *testing.T) {
	var out strings.Builder
	if code := runs(t, t.Context(), []string{"forget", "--dir", t.TempDir(), "d.example"}, strings.NewReader(""), &out, &out); code != 1 || !strings.Contains(out.String(), "curtsy crawl --dir") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}
