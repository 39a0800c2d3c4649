package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/feed/directory"
	"github.com/curtsy/curtsy/internal/feed/webhook/webhooktest"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/testaid"
)

// hook is a server that receives pages. Of ten requests it fails one before it stores the changes,
// and one afterwards, as long as failing is true.
func hook(failing *atomic.Bool) *webhooktest.Server {
	rng := rand.New(rand.NewPCG(33, 2)) // Request is called by one goroutine at a time
	return webhooktest.New(webhooktest.Config{Request: func(int) (f webhooktest.Fault) {
		switch fate := rng.IntN(10); {
		case failing.Load() && fate == 0:
			f.Status = http.StatusServiceUnavailable
		case failing.Load() && fate == 1:
			f.After = http.StatusInternalServerError
		}
		return f
	}})
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
	var failing atomic.Bool
	failing.Store(true)
	h := hook(&failing)
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
	failing.Store(false)
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
	for name, rows := range map[string]map[string]json.RawMessage{"the folder": folded, "the webhook": h.Pages()} {
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
	t.Logf("%d kills, %d pages, %d requests to the webhook", kills, len(want), h.Requests())
	for _, err := range h.Errors() {
		t.Error(err)
	}
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
