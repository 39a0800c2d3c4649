package dashboard

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
)

// told are the datasets of a crawl, which change.
type told struct {
	mu        sync.Mutex
	state     int
	forgotten string
	asked     int           // how often for all datasets
	hold      chan struct{} // closed when they may be told; nil: they may
}

func (d *told) handlers() ask.Handlers {
	return ask.Handlers{
		"indexer-status": func(_ context.Context, _ []byte, send func(any) error) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			return send(crawl.IndexerStatus{Shards: []int{0, 1}, Datasets: []string{fmt.Sprint(d.state)}, Forgotten: d.forgotten})
		},
		"datasets": func(_ context.Context, _ []byte, send func(any) error) error {
			d.mu.Lock()
			state, hold := d.state, d.hold
			d.asked++
			d.mu.Unlock()
			if hold != nil {
				<-hold
			}
			at := fmt.Sprintf("https://d.example/%d", state)
			return send(crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: at, Origin: "https://d.example", Title: fmt.Sprintf("State %d", state), Allowed: true,
				Files: []crawl.DatasetFile{{URL: "https://d.example/a.csv"}}})
		},
	}
}

func (d *told) change(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

// The catalogue is combined once for each state of the stored datasets, and not for each page.
func TestTheCatalogueIsMadeWhenItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &told{state: 1}
		c := browse(t, New(Options{Ask: answering(d.handlers())}))
		for range 3 {
			if _, body := c.get("/datasets"); !strings.Contains(body, "State 1") || strings.Contains(body, "have changed since") {
				t.Fatalf("of the first state: %s", body)
			}
		}
		if d.asked != 1 {
			t.Errorf("asked %d times for all datasets", d.asked)
		}
		// A table that takes no time is waited for, as soon as it may be made again.
		d.change(func() { d.state = 2 })
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			_, body := c.get("/datasets")
			if strings.Contains(body, "State 2") {
				break
			}
			if !strings.Contains(body, "State 1") || !strings.Contains(body, "have changed since") {
				t.Fatalf("an old table that does not say so: %s", body)
			}
			if time.Now().After(deadline) {
				t.Fatal("it stays as it was")
			}
		}
	})
}

// While a table is made that takes long, the old one is shown with a note, but not if it may
// contain something forgotten, and not before there is any.
func TestTheCatalogueIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &told{state: 1, hold: make(chan struct{})}
		w := New(Options{Ask: answering(d.handlers())})
		c := browse(t, w)
		w.catalog.wait = tableWait
		resp := c.ask("GET", "/datasets", "")
		if body := read(t, resp); resp.StatusCode != 200 || resp.Header.Get("Refresh") == "" || !strings.Contains(body, "is being built") {
			t.Fatalf("before there is one: %d %v %s", resp.StatusCode, resp.Header, body)
		}
		if code, body := c.get("/dataset/whatever"); code != 200 || !strings.Contains(body, "is being built") {
			t.Fatalf("a dataset, before there is one: %d %s", code, body)
		}
		was := d.hold
		d.change(func() { d.hold = nil })
		close(was)
		wait := func(what string) {
			t.Helper()
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				if _, body := c.get("/datasets"); strings.Contains(body, what) && !strings.Contains(body, "have changed since") {
					return
				} else if time.Now().After(deadline) {
					t.Fatalf("%s never stands there: %s", what, body)
				}
			}
		}
		wait("State 1")
		w.catalog.work.Lock()
		w.catalog.ended, w.catalog.took = time.Time{}, 0 // as if that had been long ago
		w.catalog.work.Unlock()
		d.change(func() { d.state, d.hold = 2, make(chan struct{}) })
		was = d.hold
		if _, body := c.get("/datasets"); !strings.Contains(body, "State 1") || !strings.Contains(body, "have changed since") {
			t.Errorf("while another is made: %s", body)
		}
		d.change(func() { d.forgotten = "d.example" })
		if _, body := c.get("/datasets"); strings.Contains(body, "State 1") || !strings.Contains(body, "is being built") {
			t.Errorf("what is forgotten is shown: %s", body)
		}
		d.change(func() { d.hold = nil })
		close(was)
		wait("State 2")
	})
}
