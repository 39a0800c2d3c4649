package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
)

// TestFeedSimulation crawls a random web whose pages change, move and vanish, while feeders keep
// one or two sinks in step and everything fails now and then: the services as in TestSimulation,
// the feeders at each of their steps, and the sinks before, while and after they take a batch. At
// the end each sink has exactly what an export shows. SEEDS and FROM work as in TestSimulation.
func TestFeedSimulation(t *testing.T) {
	for _, seed := range seedsOf(t, keptFeedSeeds, 2, 2) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", s3Key)
			t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
			simnet.Test(t, func(t *testing.T) {
				w := newWorld(t, seed)
				w.feeds = newFeeds(w)
				w.runFeeds()
			})
		})
	}
}

// keptFeedSeeds are like keptSeeds.
var keptFeedSeeds = []uint64{113, 1160}

// feeds is what a world with feeders has besides a crawl. Only the goroutine of the test uses it.
type feeds struct {
	w         *world
	r         *rand.Rand // like world.r, for the feeds
	followers []*follower
	copies    []string // hosts that serve the pages of the first host
	changed   map[string]bool
	changes   int
	until     time.Time // when the last page ends that says so
}

func newFeeds(w *world) *feeds {
	return &feeds{w: w, r: rand.New(rand.NewPCG(w.seed, 33)), changed: map[string]bool{}}
}

// expiry is how long an indexer may need to delete a page that says until when it is there. The
// export does not show it from that time on, and the feed learns it then.
const expiry = 65 * time.Second

// busy is how long pages change and things fail in a round.
const busy = 75 * time.Second

func (w *world) runFeeds() {
	t, f := w.t, w.feeds
	defer func() {
		if t.Failed() {
			t.Logf("events of seed %d:\n%s", w.seed, strings.Join(w.events, "\n"))
		}
	}()
	defer w.end()
	w.start()
	w.seedCrawl()
	w.twice()
	rounds := 1
	if f.r.IntN(3) == 0 && !f.usesNATS() {
		rounds = 2
	}
	for round := range rounds {
		if round > 0 {
			f.pause()
		}
		w.resume()
		w.plan()
		f.plan()
		for end := time.Now().Add(busy); time.Now().Before(end); {
			time.Sleep(w.step())
		}
		w.calm()
	}
	next := w.spec
	next.Recrawl = false // so that the crawl ends
	w.setSpec(next)
	w.calm()
	for !f.until.IsZero() && time.Since(f.until) < expiry {
		time.Sleep(w.step())
	}
	st := w.untilDone()
	w.note("done: %d discovered, %d stored, %d requests", st.Discovered, st.Stored, len(w.web.Log()))
	for _, s := range w.all {
		if s.role == "feeder" {
			s.finish()
		}
	}
	shown := f.check()
	w.end()
	f.checkStores(shown)
	for _, fl := range f.followers {
		t.Log(fl)
	}
}

// usesNATS reports whether a sink is a NATS server. Its time cannot pass quickly.
func (f *feeds) usesNATS() bool {
	return slices.ContainsFunc(f.followers, func(fl *follower) bool { return fl.kind == "NATS" })
}

// resume lets planned faults happen again.
func (w *world) resume() {
	w.faults.mu.Lock()
	defer w.faults.mu.Unlock()
	w.faults.ended = false
}

// calm ends the faults, and waits until everything runs that was stopped.
func (w *world) calm() {
	w.drop()
	for !w.quiet() {
		time.Sleep(w.step())
	}
}

// pause stops everything for more than a day, after which each robots.txt is read again. Pages and
// robots.txt files change meanwhile.
func (f *feeds) pause() {
	w := f.w
	w.note("everything stops for 25 hours")
	for i := len(w.all) - 1; i >= 0; i-- {
		w.all[i].stop()
	}
	w.dying.Wait()
	for range 5 {
		f.changePage(false)
	}
	f.moveCopies()
	w.q.Close()
	w.srv.Shutdown() // it does something every second
	time.Sleep(25 * time.Hour)
	w.srv = broker.StartIn(w.t, w.natsDir)
	w.line = broker.NewLine(w.srv)
	w.q = w.line.Dial(w.t, w.srv)
	for _, s := range w.all {
		s.start()
	}
	var urls []string
	for _, host := range w.web.Hosts() {
		urls = append(urls, w.web.PageURLs(host)...)
	}
	f.refetch(urls)
}

// finish makes a feeder send everything, and waits until it has ended.
func (s *service) finish() {
	l := s.life
	l.feeder.Finish()
	if err := <-l.done; err != nil {
		s.w.fail("feed-ends", "%s: %v", l, err)
	}
	s.w.note("%s has sent everything", l)
	l.q.Close()
	s.over()
}
