package indexer

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// harmfulEnv is the environment in which a process of these tests is harmed by certain pages: see
// doHarm.
const harmfulEnv = "TEST_PAGES_DO_HARM"

var sink []byte

func doHarm(u canon.URL) {
	switch {
	case strings.HasSuffix(string(u), "/kills"):
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case strings.HasSuffix(string(u), "/panics"):
		panic("a test's")
	case strings.HasSuffix(string(u), "/fills-memory"):
		sink = make([]byte, trialMemory+1<<20) // never written, so the system need not have it
		select {}
	}
}

// A trial runs in a process of its own. Whatever a page does to that process, the page is
// recognised and this process continues.
func TestTrialsAreProcesses(t *testing.T) {
	t.Setenv(harmfulEnv, "1")
	for path, harmful := range map[string]bool{"harmless": false, "kills": true, "panics": true, "fills-memory": true} {
		p := &pages.Page{Page: page("http://a.example/"+path, 1, "words")}
		if err := ownProcess(noSites)(p); (err != nil) != harmful {
			t.Errorf("%s: the trial ends with %v", path, err)
		}
	}
}

// leaveMarks makes a directory look as if a process had died in it while it read some pages.
func leaveMarks(t *testing.T, dir string, all ...*pages.Page) {
	t.Helper()
	m := openMarks(dir, 0, testLog(), nil)
	over := make(chan struct{})
	var reading sync.WaitGroup
	for _, p := range all {
		begun := make(chan struct{})
		reading.Go(func() {
			_ = m.read(p, func() {
				close(begun)
				<-over // as long as the process lives
			})
		})
		<-begun
	}
	m.close() // as the system does when a process dies
	close(over)
	reading.Wait()
}

// A page that was being read when the previous process ended is tried once before this process
// reads it. It is stored if it is harmless. Otherwise it is left out, and the frontier is notified.
func TestSuspectsAreTried(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const harmless, harmful = "http://a.example/harmless", "http://a.example/harmful"
		dir := t.TempDir()
		leaveMarks(t, dir, markedPage(harmless, 1), markedPage(harmful, 1))
		w := newWorld(t, 1)
		var mu sync.Mutex
		var tried []string
		x, _ := w.start(Options{Dir: dir, Search: true, Try: func(p *pages.Page) error {
			mu.Lock()
			defer mu.Unlock()
			tried = append(tried, string(p.URL))
			if p.URL == harmful {
				return errors.New("it did harm")
			}
			return nil
		}})
		w.hand(page(harmless, 1, "words"), page(harmful, 1, "words"), page("http://a.example/other", 1, "words"))
		if st := w.settled(x); st.Pages != 2 {
			t.Errorf("%d pages are stored, want 2", st.Pages)
		}
		slices.Sort(tried)
		if !slices.Equal(tried, []string{harmful, harmless}) {
			t.Errorf("tried %q", tried)
		}
		got := w.events(0, func(ev *crawl.Event) (all []string) {
			for _, u := range ev.Unreadable {
				all = append(all, fmt.Sprint(u.URL, " ", u.Visit.N))
			}
			return all
		})
		if want := []string{harmful + " 1"}; !slices.Equal(got, want) {
			t.Errorf("the frontier learns of %q, want %q", got, want)
		}
		if hits := searched(w, "words").Hits; len(hits) != 2 {
			t.Errorf("search finds %+v", hits)
		}
	})
}
