package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/feed/directory"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/testaid"
)

// hook is a server that receives pages and follows the documentation of package webhook. Of ten
// requests it fails one before it stores the changes, and one afterwards.
type hook struct {
	t *testing.T

	mu       sync.Mutex // guards what follows
	rng      *rand.Rand
	requests int
	pages    map[string]hooked
	failing  bool
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
		return // the feeder was killed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests++
	fate := h.rng.IntN(10)
	if h.failing && fate == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var got struct {
		Shard      int
		Generation int64
		Sweep      bool
		Changes    []json.RawMessage
	}
	if err := json.Unmarshal(body, &got); err != nil {
		h.t.Errorf("%v: %s", err, body)
	}
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
	if h.failing && fate == 1 {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// rows are the pages that are stored.
func (h *hook) rows() map[string]json.RawMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]json.RawMessage{}
	for id, p := range h.pages {
		if !p.removed {
			all[id] = p.row
		}
	}
	return all
}

// TestFeedKilled kills a crawl with two feeds again and again, at any instruction, while pages of
// its site change and vanish, and one of the other systems fails now and then. At the end both have
// exactly what an export shows.
func TestFeedKilled(t *testing.T) {
	if testaid.RaceDetector {
		t.Skip("the race detector only sees this process, and the tested code runs in others; the run without it tests everything")
	}
	const kills = 20
	web, err := simweb.Start(simweb.Config{Seed: 33, Hosts: 4, PagesPerHost: 25, PageBytes: 2 << 10, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll, Latency: time.Millisecond}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	rng := rand.New(rand.NewPCG(33, 1))
	h := &hook{t: t, rng: rand.New(rand.NewPCG(33, 2)), pages: map[string]hooked{}, failing: true}
	srv := httptest.NewServer(h)
	defer srv.Close()
	p := &program{t, filepath.Join(t.TempDir(), "curtsy"), web}
	if out, err := exec.Command("go", "build", "-o", p.bin, "../../cmd/curtsy").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir, parts := t.TempDir(), filepath.Join(t.TempDir(), "parts")
	args := []string{
		"crawl", "--dir", dir, "--listen", "off", "--allow-private", "--delay", "0s", "--hold-max", "1s", "--resolve", web.Resolve(),
		"--search=false", "--feed", "file://" + parts, "--feed", srv.URL + "/pages",
	}
	for _, s := range web.Seeds() {
		args = append(args, s)
	}
	vanished := []string{}
	for range kills {
		for range 4 {
			url := web.PageURLs(web.Hosts()[rng.IntN(4)])
			u := url[rng.IntN(len(url))]
			switch rng.IntN(4) {
			case 0:
				web.Override(u, &simweb.Answer{Status: http.StatusNotFound})
				vanished = append(vanished, u)
			case 1:
				if len(vanished) > 0 {
					web.Override(vanished[0], nil)
					vanished = vanished[1:]
				}
			default:
				web.Change(u)
			}
		}
		again := append(slices.Clone(args), "--recrawl", "--recrawl-min", "1s", "--recrawl-max", "1s")
		p.killAt(p.command(again...), len(web.Log())+40+rng.IntN(120))
	}
	h.mu.Lock()
	h.failing = false
	h.mu.Unlock()
	p.run(p.command(append(args, "--recrawl=false")...))
	want := map[string]map[string]any{}
	for line := range bytes.Lines(p.run(p.command("export", "pages", "--dir", dir))) {
		row := feedRow(p, line)
		want[export.DocumentID(fmt.Sprint(row["url"]))] = row
	}
	if len(want) < 50 {
		t.Errorf("only %d pages", len(want))
	}
	folded, err := directory.Fold(parts)
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range map[string]map[string]json.RawMessage{"the folder": folded, "the webhook": h.rows()} {
		for id := range want {
			if rows[id] == nil {
				t.Errorf("%s lacks %v", name, want[id]["url"])
			} else if got := feedRow(p, rows[id]); !reflect.DeepEqual(got, want[id]) {
				t.Errorf("%s has\n%v\nand the export\n%v", name, got, want[id])
			}
		}
		for id, row := range rows {
			if want[id] == nil {
				t.Errorf("%s has a page too many: %s", name, row)
			}
		}
	}
	t.Logf("%d kills, %d pages, %d requests to the webhook", kills, len(want), h.requests)
}

// feedRow is a row of an export or a feed, without its date: a page that was fetched again without
// a change keeps its date in a feed.
func feedRow(p *program, line []byte) map[string]any {
	p.t.Helper()
	var row map[string]any
	p.decode(line, &row)
	for _, key := range []string{"fetched_at", "id", "version"} {
		delete(row, key)
	}
	return row
}
