//go:build external

package deploytest

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

const (
	delay   = 100 * time.Millisecond
	contact = "deploytest@example.org"
)

// web has the twelve special hosts of the demo and as many plain ones as are needed for a crawl
// that takes some time: their Crawl-delays are up to 400 ms.
func web(log string) simweb.Config {
	cfg := simweb.Demo()
	cfg.Hosts, cfg.PagesPerHost, cfg.Mix, cfg.LogFile = 40, 30, simweb.Mixed(1, 1).Mix, log
	return cfg
}

// TestExternalDaemonsEqualAllInOne crawls the same web with everything in one process, with each
// service in a separate process, and again while processes are killed. The pages must be the same,
// and the web must see no violation.
func TestExternalDaemonsEqualAllInOne(t *testing.T) {
	t.Parallel()
	var want map[string]string
	requests := 0
	if !t.Run("AllInOne", func(t *testing.T) { want, requests = crawlInOne(t) }) {
		return
	}
	t.Run("Daemons", func(t *testing.T) {
		got, n := crawlWithDaemons(t, nil, len(want))
		compare(t, got, want)
		if n != requests {
			t.Logf("%d requests, all in one made %d", n, requests)
		}
	})
	t.Run("Killed", func(t *testing.T) {
		got, n := crawlWithDaemons(t, killSome, len(want))
		compare(t, got, want)
		t.Logf("%d requests more than all in one made", n-requests)
	})
}

func compare(t *testing.T, got, want map[string]string) {
	t.Helper()
	bad := 0
	for _, u := range slices.Sorted(maps.Keys(want)) {
		if got[u] != want[u] {
			if bad++; bad <= 10 {
				t.Errorf("%s has the digest %q, all in one %q", u, got[u], want[u])
			}
		}
	}
	for _, u := range slices.Sorted(maps.Keys(got)) {
		if want[u] == "" {
			if bad++; bad <= 10 {
				t.Errorf("%s is stored, but not with all in one", u)
			}
		}
	}
	if bad > 10 {
		t.Errorf("%d pages differ", bad)
	}
}

// serveWeb serves the web, and at the end of the test checks its log against the promises.
func serveWeb(t *testing.T) (seedFlags []string, check func() int) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "requests.jsonl")
	srv, err := simweb.Start(web(log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	flags := []string{
		"--allow-private", "--resolve", srv.Resolve(), "--delay", delay.String(), "--contact", contact, "--hold-max", "1m", srv.Seeds()[0],
	}
	return flags, func() int {
		t.Helper()
		if err := srv.Close(); err != nil {
			t.Fatal(err)
		}
		bad, err := requestlog.CheckFile(log, requestlog.CheckOptions{Delay: requestlog.Every(delay), Token: "curtsy"})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range bad[:min(len(bad), 10)] {
			t.Error(v)
		}
		all, err := requestlog.Read(log)
		if err != nil {
			t.Fatal(err)
		}
		if len(bad) > 10 {
			t.Errorf("%d violations in %d requests", len(bad), len(all))
		}
		return len(all)
	}
}

func crawlInOne(t *testing.T) (pages map[string]string, requests int) {
	flags, check := serveWeb(t)
	dir := filepath.Join(t.TempDir(), "data")
	began := time.Now()
	run(t, program(t, "curtsy"), append([]string{"crawl", "--dir", dir, "--listen", "off"}, flags...)...)
	took := time.Since(began)
	pages, requests = storedPages(t, "--dir", dir), check()
	if st := status(t, "--dir", dir); int(st.Stored) != len(pages) {
		t.Errorf("status counts %d stored pages, there are %d", st.Stored, len(pages))
	}
	if len(pages) < 500 {
		t.Errorf("only %d pages: comparing them proves little", len(pages))
	}
	t.Logf("%d pages by %d requests in %v", len(pages), requests, took.Round(time.Second/10))
	return pages, requests
}

// daemons are the processes of one crawl. The cleanup of the test stops and checks them.
type daemons struct {
	*observer
	t                 *testing.T
	nats, dir         string
	frontier, fetcher *process
	pages             int // that will be stored in the end
}

func (d *daemons) startFrontier() {
	d.frontier = start(d.t, "frontier", "frontier", "--nats", d.nats, "--crawl", "docs", "--listen", "127.0.0.1:0", "--dir", filepath.Join(d.dir, "frontier"))
}

// startFetcher starts another fetcher, with fewer visits at a time than there are hosts, so that
// each fetcher gets some.
func (d *daemons) startFetcher() {
	d.fetcher = start(d.t, "fetcher", "fetcher", "--nats", d.nats, "--crawl", "docs", "--listen", "off", "--visits", "12")
}

func crawlWithDaemons(t *testing.T, disturb func(*daemons), pages int) (map[string]string, int) {
	flags, check := serveWeb(t)
	d := &daemons{t: t, nats: startNATS(t), dir: t.TempDir(), pages: pages}
	d.startFrontier()
	d.startFetcher()
	d.startFetcher()
	start(t, "indexer", "indexer", "--nats", d.nats, "--crawl", "docs", "--listen", "off", "--dir", filepath.Join(d.dir, "indexer"))
	at := []string{"--nats", d.nats, "--crawl", "docs"}
	began := time.Now()
	run(t, program(t, "curtsy"), append(append([]string{"seed"}, at...), flags...)...)
	d.observer = observe(t, d.nats, "docs")
	if disturb != nil {
		disturb(d)
	}
	d.done()
	took := time.Since(began)

	st, got, requests := status(t, at...), storedPages(t, at...), check()
	postponed := int64(0)
	for _, h := range st.Postponed {
		postponed += h.Queued
	}
	if st.InFlight != 0 || st.Queued != postponed {
		t.Errorf("done, with %d in flight and %d queued, of which %d are postponed", st.InFlight, st.Queued, postponed)
	}
	if int(st.Stored) != len(got) {
		t.Errorf("status counts %d stored pages, there are %d", st.Stored, len(got))
	}
	t.Logf("%d pages by %d requests in %v", len(got), requests, took.Round(time.Second/10))
	return got, requests
}

// killSome kills a fetcher, and later the frontier, both during visits.
func killSome(d *daemons) {
	d.t.Helper()
	st := d.underWay(d.pages / 8)
	d.t.Logf("kill -9 of a fetcher: %d stored, %d in flight", st.Stored, st.InFlight)
	d.fetcher.kill()
	d.startFetcher()
	st = d.underWay(d.pages / 3)
	d.t.Logf("kill -9 of the frontier: %d stored, %d in flight", st.Stored, st.InFlight)
	d.frontier.kill()
	d.startFrontier()
}
