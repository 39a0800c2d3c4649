//go:build external

package deploytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/feed/elastic/elastictest"
	"github.com/curtsy/curtsy/internal/feed/parts/s3test"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/testaid"
)

// TestExternalFeedsKilled feeds one crawl to all kinds of sinks at once, while pages of its site
// change and vanish, become noindex, are forgotten, and are skipped by other site rules. The crawl
// is killed 20 times at random, and each sink that has a server as often again: in the middle of a
// request, or when it has stored what it was sent and has not answered yet. At the end each sink,
// read in its own way, has exactly what an export shows, in the versions of the store. FEED_SEED
// sets the random seed, FEED_KILLS the number of kills.
func TestExternalFeedsKilled(t *testing.T) {
	feedsKilled(t, setting(t, "FEED_SEED", 1), setting(t, "FEED_KILLS", 20))
}

// TestExternalSmokeFeedsKilled is the same with one kill of the crawl and of each server.
func TestExternalSmokeFeedsKilled(t *testing.T) { feedsKilled(t, 33, 1) }

func feedsKilled(t *testing.T, seed, kills int) {
	t.Helper()
	t.Parallel() // it mostly waits
	t.Logf("seed %d", seed)
	w := newFedCrawl(t, uint64(seed))
	w.sinks()
	for n := range kills {
		w.round(n)
	}
	w.finish()
	total := 0
	for _, r := range w.relays {
		if n := int(r.faults.Load()); n < kills {
			t.Errorf("the server of %s was killed %d times, want %d", r.name, n, kills)
		}
		total += int(r.faults.Load())
	}
	t.Logf("seed %d: the crawl was killed %d times, the servers %d times; %d pages at the end", seed, kills, total, len(w.want))
}

// fedCrawl is a crawl with a feed to each kind of sink.
type fedCrawl struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand // of the rounds
	web    *simweb.Server
	dir    string // of the crawl
	out    string // files of the sinks
	rules  []string
	feeds  []string // URLs
	relays []*relay
	read   map[string]func() map[string]fedRow // of each sink
	gone   []string                            // pages that have another answer for now
	forgot []string
	want   map[string]map[string]any // what the export shows, by id
}

func newFedCrawl(t *testing.T, seed uint64) *fedCrawl {
	t.Helper()
	w := &fedCrawl{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 33)), dir: t.TempDir(), out: t.TempDir(), read: map[string]func() map[string]fedRow{}}
	var err error
	w.web, err = simweb.Start(simweb.Config{Seed: int64(seed), Hosts: 4, PagesPerHost: 25, PageBytes: 2 << 10, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll, Latency: time.Millisecond}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.web.Close() })
	const fields = "sites:\n  \"*.sim.test\":\n    fields:\n      kind: {const: manual}\n      heading: {css: title, type: text}\n      links: {css: \"a[href]\", many: true}\n"
	for i, text := range []string{
		fields + "      number: {path: 'p(\\d+)', type: number}\n",
		fields + "    exclude: [\"**/p3.html\"]\n",
		fields + "      number: {path: 'p(\\d+)', type: number}\n    skip:\n      - {field: number, matches: \"7\"}\n",
	} {
		name := filepath.Join(w.out, fmt.Sprintf("sites-%d.yaml", i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w.rules = append(w.rules, name)
	}
	return w
}

// sinks starts all sinks.
func (w *fedCrawl) sinks() {
	for i, product := range []string{elastictest.Elasticsearch, elastictest.OpenSearch} {
		var r *relay
		var mu sync.Mutex
		chance := rand.New(rand.NewPCG(w.seed, uint64(10+i)))
		s := elastictest.New(elastictest.Config{Product: product, Bulk: func(int) elastictest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if r.armed() && chance.IntN(4) == 0 { // it dies when it has stored a part of a request
				return elastictest.Fault{Die: true, Items: chance.IntN(20)}
			}
			return elastictest.Fault{}
		}})
		r = w.relay(product, 8)
		w.standIn(r, s)
		w.add(product, product+"+http://"+r.addr()+"/pages", func() map[string]fedRow { return elasticRows(w.t, s.Docs("pages")) })
	}
	h := &hook{t: w.t, pages: map[string]hooked{}}
	r := w.relay("webhook", 8)
	w.standIn(r, h)
	w.add("webhook", "http://"+r.addr()+"/pages", h.rows)

	bucket := s3test.New(s3test.Config{Bucket: "bucket", AccessKey: "K"})
	r = w.relay("S3", 8)
	w.standIn(r, bucket)
	w.add("S3", "s3://bucket/pages?endpoint=http://"+r.addr(), func() map[string]fedRow { return parquetRows(w.t, bucket.Objects()) })

	d := startDatabase(w.t)
	r = w.relay("PostgreSQL", 8)
	r.dial = func() (net.Conn, error) { return net.Dial("unix", filepath.Join(d.dir, ".s.PGSQL.5432")) }
	r.kill, r.revive = d.kill, d.start
	r.serve()
	w.add("PostgreSQL", "postgres://feed@"+r.addr()+"/postgres?table=pages&sslmode=disable", func() map[string]fedRow { return d.postgresRows("pages") })

	server := &natsServer{t: w.t, dir: w.t.TempDir(), port: lastingPort(w.t)}
	server.start()
	w.t.Cleanup(func() { server.p.kill() })
	r = w.relay("NATS", 8)
	r.dial = func() (net.Conn, error) { return net.Dial("tcp", server.addr()) }
	r.kill, r.revive = func() { server.p.kill() }, server.start
	r.serve()
	w.add("NATS", "nats://"+r.addr()+"/curtsy.pages?stream=PAGES", func() map[string]fedRow { return natsRows(w.t, "nats://"+server.addr(), "PAGES") })

	lines, columns := filepath.Join(w.out, "lines"), filepath.Join(w.out, "columns")
	w.add("JSON lines", "file://"+lines, func() map[string]fedRow { return folderRows(w.t, lines) })
	w.add("Parquet", "file://"+columns+"?format=parquet", func() map[string]fedRow { return parquetRows(w.t, filesOf(w.t, columns)) })
}

func (w *fedCrawl) add(name, url string, read func() map[string]fedRow) {
	w.feeds, w.read[name] = append(w.feeds, "--feed", url), read
}

func (w *fedCrawl) relay(name string, steps int) *relay {
	w.t.Helper()
	r := newRelay(w.t, name, rand.New(rand.NewPCG(w.seed, uint64(len(w.relays)))), steps)
	w.relays = append(w.relays, r)
	return r
}

// standIn serves a stand-in behind a relay. It keeps what it has stored when its connections are
// cut.
func (w *fedCrawl) standIn(r *relay, h http.Handler) {
	s := httptest.NewServer(h)
	w.t.Cleanup(s.Close)
	r.dial = func() (net.Conn, error) { return net.Dial("tcp", s.Listener.Addr().String()) }
	r.serve()
}

// natsServer is a server with JetStream that is killed and started again.
type natsServer struct {
	t    *testing.T
	dir  string
	port int
	p    *process
}

func (s *natsServer) addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

func (s *natsServer) start() {
	s.p = launch(s.t, filepath.Join(s.dir, "log"), "nats-server", "nats-server", "-a", "127.0.0.1", "-p", fmt.Sprint(s.port), "-js", "-sd", filepath.Join(s.dir, "js"))
	testaid.Until(s.t, "nats-server listens", func() bool {
		c, err := net.Dial("tcp", s.addr())
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// command is a command of curtsy about the crawl.
func (w *fedCrawl) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program(w.t, "curtsy"), append(args, "--dir", w.dir)...)
	cmd.Env = environ("AWS_ACCESS_KEY_ID=K", "AWS_SECRET_ACCESS_KEY=secret")
	return cmd
}

func (w *fedCrawl) crawl(rules string, more ...string) *exec.Cmd {
	args := slices.Concat([]string{
		"crawl", "--listen", "off", "--allow-private", "--delay", "0s", "--hold-max", "1s", "--resolve", w.web.Resolve(), "--search=false", "--sites", rules,
	}, w.feeds, more, w.web.Seeds())
	return w.command(args...)
}

// must runs a command to its end.
func (w *fedCrawl) must(cmd *exec.Cmd) []byte {
	w.t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%q: %v\n%s%s", cmd.Args, err, tail(out), tail(errs.Bytes()))
	}
	return out
}

// page is a random page, but not a home page, without which a site would be empty.
func (w *fedCrawl) page() string {
	all := w.web.PageURLs(w.web.Hosts()[w.random.IntN(4)])
	return all[1+w.random.IntN(len(all)-1)]
}

// change changes the site: a page changes, vanishes, becomes noindex, or is there again.
func (w *fedCrawl) change() {
	u := w.page()
	answer := func(a *simweb.Answer) {
		w.web.Override(u, a)
		w.gone = append(w.gone, u)
	}
	switch w.random.IntN(8) {
	case 0:
		answer(&simweb.Answer{Status: http.StatusNotFound})
	case 1:
		answer(&simweb.Answer{Status: http.StatusGone})
	case 2:
		answer(&simweb.Answer{Body: "<title>hidden</title><meta name=robots content=noindex><p>Nothing."})
	case 3, 4:
		if len(w.gone) > 0 {
			w.web.Override(w.gone[0], nil)
			w.gone = w.gone[1:]
		}
	default:
		w.web.Change(u)
	}
}

// forget removes a page from the crawl, or allows the first of several again.
func (w *fedCrawl) forget() {
	w.t.Helper()
	if len(w.forgot) > 2 {
		w.must(w.command("forget", "--undo", w.forgot[0]))
		w.forgot = w.forgot[1:]
		return
	}
	if u := w.page(); !slices.Contains(w.forgot, u) {
		w.must(w.command("forget", u))
		w.forgot = append(w.forgot, u)
	}
}

// round lets the crawl run until the server of each sink was killed once, and then for a random
// number of requests to the site or to a sink. Then the crawl is killed.
func (w *fedCrawl) round(n int) {
	w.t.Helper()
	cmd := w.crawl(w.rules[w.random.IntN(len(w.rules))], "--recrawl", "--recrawl-min", "1s", "--recrawl-max", "1s")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		_ = cmd.Process.Kill()
		<-ended
	}()
	seen := len(w.web.Log())
	// until changes the site while it waits, after every 15 requests.
	until := func(what string, cond func() bool) {
		w.t.Helper()
		testaid.Until(w.t, fmt.Sprintf("round %d: %s", n, what), func() bool {
			select {
			case err := <-ended:
				w.t.Fatalf("round %d: the crawl ended, %v: %s", n, err, tail(out.Bytes()))
			default:
			}
			for ; len(w.web.Log()) >= seen+15; seen += 15 {
				w.change()
			}
			return cond()
		})
	}
	for _, r := range w.relays {
		r.arm()
	}
	until("all servers were killed", func() bool {
		return !slices.ContainsFunc(w.relays, func(r *relay) bool { return r.faults.Load() <= int64(n) })
	})
	if n%3 == 1 {
		w.forget()
	}
	events := func() int { return len(w.web.Log()) }
	more := 10 + w.random.IntN(100)
	if k := w.random.IntN(2 * len(w.relays)); k < len(w.relays) {
		events = func() int { return int(w.relays[k].moved.Load()) }
		more = 1 + w.random.IntN(20)
	}
	from := events()
	until("the crawl is to be killed", func() bool { return events() >= from+more })
}

// finish lets the crawl end, and compares the sinks with the export.
func (w *fedCrawl) finish() {
	w.t.Helper()
	for _, r := range w.relays {
		r.disarm()
	}
	w.forget() // of a crawl that does not run
	for _, u := range w.gone[len(w.gone)/2:] {
		w.web.Override(u, nil)
	}
	w.must(w.crawl(w.rules[0], "--recrawl=false"))
	w.want = map[string]map[string]any{}
	for line := range bytes.Lines(w.must(w.command("export", "pages"))) {
		row := decoded(w.t, line)
		w.want[export.DocumentID(fmt.Sprint(row["url"]))] = row
	}
	if len(w.want) < 30 {
		w.t.Errorf("only %d pages", len(w.want))
	}
	numbers := w.numbers()
	for name, read := range w.read {
		rows := read()
		for id, want := range w.want {
			got, there := rows[id]
			if !there {
				w.t.Errorf("%s lacks %v", name, want["url"])
				continue
			}
			if d := sameRow(got, want); d != "" {
				w.t.Errorf("%s, %v: %s", name, want["url"], d)
			}
			if n := got.version & (1<<32 - 1); n != numbers[id] {
				w.t.Errorf("%s has the version %d of %v, the store %d", name, n, want["url"], numbers[id])
			}
		}
		for id, row := range rows {
			if w.want[id] == nil {
				w.t.Errorf("%s has a page too many: %v %v", name, row.row, row.columns)
			}
		}
	}
	if found, err := filepath.Glob(filepath.Join(w.dir, "*.dead.jsonl")); err != nil || len(found) > 0 {
		w.t.Errorf("pages were refused: %q, %v", found, err)
	}
}

// numbers are the numbers of the latest changes of all pages in the stores, by id.
func (w *fedCrawl) numbers() map[string]int64 {
	w.t.Helper()
	all := map[string]int64{}
	found, err := filepath.Glob(filepath.Join(w.dir, "pages-*.db"))
	if err != nil || len(found) == 0 {
		w.t.Fatalf("%q, %v", found, err)
	}
	for _, name := range found {
		s, err := pages.OpenReadOnly(name)
		if err != nil {
			w.t.Fatal(err)
		}
		_, err = s.Feed().EachNewest(1<<30, func(p *pages.Page) error {
			all[export.DocumentID(string(p.URL))] = int64(p.Seq)
			return nil
		})
		if err := s.Close(); err != nil {
			w.t.Fatal(err)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return all
}

// hook is a server that receives pages as the documentation of package webhook has it.
type hook struct {
	t *testing.T

	mu    sync.Mutex // guards what follows
	pages map[string]hooked
}

// hooked is a page as the server stores it.
type hooked struct {
	version, generation int64
	shard               int
	removed             bool
	row                 json.RawMessage
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the connection was cut
	}
	var got struct {
		Shard      int
		Generation int64
		Sweep      bool
		Changes    []json.RawMessage
	}
	if err := json.Unmarshal(body, &got); err != nil {
		h.t.Errorf("%v: %s", err, tail(body))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range got.Changes {
		var c struct {
			ID, Removed string
			Version     int64
		}
		if err := json.Unmarshal(row, &c); err != nil {
			h.t.Error(err)
		}
		if c.Version > h.pages[c.ID].version {
			h.pages[c.ID] = hooked{c.Version, got.Generation, got.Shard, c.Removed != "", row}
		}
	}
	if got.Sweep {
		maps.DeleteFunc(h.pages, func(_ string, p hooked) bool { return p.shard == got.Shard && p.generation < got.Generation })
	}
}

// rows are the pages that are stored.
func (h *hook) rows() map[string]fedRow {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]fedRow{}
	for _, p := range h.pages {
		if !p.removed {
			id, r := lineRow(h.t, p.row)
			all[id] = r
		}
	}
	return all
}
