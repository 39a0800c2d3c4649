package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
)

// attack is a web of a stranger, beside which good sites are crawled.
type attack struct {
	name    string
	domains int           // registered domains
	names   int           // of each
	blocks  int           // addresses to which the domains lead
	answer  time.Duration // how long an answer takes
	drip    bool          // pages have one byte a second
	// once is how long it takes until each domain was visited once. Until then nobody can know that
	// it is slow.
	once time.Duration
}

// neighbours are two good sites, and the attack beside them.
type neighbours struct {
	t *testing.T
	a attack

	mu    sync.Mutex
	pages map[string][]time.Time // when they were requested, by host
}

// goodSites are the good sites, with their numbers of pages. The small one needs two visits.
var goodSites = map[string]int{"www.good.example": 1000, "www.small.example": 15}

// good serves a page of a good site, whose first page links to all others.
func (n *neighbours) good(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	n.mu.Lock()
	n.pages[r.Host] = append(n.pages[r.Host], time.Now())
	n.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<!DOCTYPE html><title>%s</title><p>A page of a good site.\n", r.URL.Path)
	if r.URL.Path == "/" {
		for i := range goodSites[r.Host] - 1 {
			fmt.Fprintf(w, "<a href=/%d.html>%d</a>\n", i, i)
		}
	}
}

// bad answers as slowly as a fetcher permits, and has pages without end.
func (n *neighbours) bad(w http.ResponseWriter, r *http.Request) {
	wait := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
	wait(n.a.answer)
	if r.URL.Path == "/robots.txt" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	for n.a.drip && r.Context().Err() == nil {
		io.WriteString(w, "x")
		w.(http.Flusher).Flush()
		wait(time.Second)
	}
	at, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
	for i := range 3 {
		fmt.Fprintf(w, "<a href=/%d>on</a>\n", 3*at+i+1)
	}
}

// gotten is what the good sites got.
type gotten struct {
	pages int           // of the large site
	pause time.Duration // the longest time between two of them, the beginning and the end included
	small time.Duration // until the small site had all its pages; 0: never
}

// crawl crawls for a while. Nothing counts that the large site gets before a time.
func (n *neighbours) crawl(from, span time.Duration) (got gotten) {
	net := simnet.New(simnet.Options{Latency: latency})
	spec := crawl.Spec{
		Name: "e2e", Shards: 2, Scope: "domain", MaxDepth: -1, HoldMax: 3 * time.Second, Agent: token, Contact: "test@example.org",
		AllowPrivate: true, Delay: time.Second,
	}
	listen := func(ip string, h http.HandlerFunc) string {
		l, err := net.Listen("tcp", ip+":0")
		if err != nil {
			n.t.Fatal(err)
		}
		srv := &http.Server{Handler: h}
		go srv.Serve(l)
		n.t.Cleanup(func() { srv.Close() })
		return l.Addr().String()
	}
	for b := range n.a.blocks {
		at := listen(fmt.Sprintf("127.0.%d.1", b+1), n.bad)
		for i := b; i < n.a.domains; i += n.a.blocks {
			spec.Resolve = append(spec.Resolve, fmt.Sprintf("*.slow%d.example=%s", i, at))
		}
	}
	for i := range n.a.domains * n.a.names {
		spec.Seeds = append(spec.Seeds, fmt.Sprintf("http://h%d.slow%d.example/", i/n.a.domains, i%n.a.domains))
	}
	at := listen("127.0.0.1", n.good)
	for host := range goodSites {
		spec.Resolve, spec.Seeds = append(spec.Resolve, host+"="+at), append(spec.Seeds, "http://"+host+"/")
	}
	n.pages = map[string][]time.Time{}
	r := newRig(n.t, net, spec, fetcher.Options{Slots: 32})
	began := time.Now()
	r.seed()
	time.Sleep(span)
	n.mu.Lock()
	pages, small := append(n.pages["www.good.example"], time.Now()), n.pages["www.small.example"]
	n.mu.Unlock()
	r.stop()
	r.endNATS()
	if all := goodSites["www.small.example"]; len(small) >= all { // one may be requested twice
		got.small = small[all-1].Sub(began)
	}
	last := began.Add(from)
	for _, at := range pages {
		if !at.Before(last) {
			got.pages, got.pause, last = got.pages+1, max(got.pause, at.Sub(last)), at
		}
	}
	return got
}

// Slow sites of one domain, or at one address, take nothing from a good one, whatever names they
// have. Domains with an address of their own each come last as soon as they were visited once. What
// it was before is in design §8.3.
func TestGoodSiteBesideSlowOnes(t *testing.T) {
	const span = 4 * time.Minute
	for _, a := range []attack{
		{name: "names of a domain, slow robots.txt", domains: 1, names: 300, blocks: 1, answer: 29 * time.Second},
		{name: "names of a domain, slow bodies", domains: 1, names: 300, blocks: 1, drip: true},
		{name: "domains at one address", domains: 300, names: 1, blocks: 1, answer: 29 * time.Second},
		{name: "domains with many names at one address", domains: 300, names: 4, blocks: 1, answer: 29 * time.Second},
		{name: "domains at as many addresses", domains: 60, names: 1, blocks: 60, answer: 29 * time.Second, once: 4 * time.Minute},
	} {
		t.Run(a.name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				n := &neighbours{t: t}
				alone := n.crawl(a.once, a.once+span)
				n.a = a
				got := n.crawl(a.once, a.once+span)
				if percent := 100 * got.pages / alone.pages; percent < 80 {
					t.Errorf("%d pages, %d alone: %d %%, want 80 at least", got.pages, alone.pages, percent)
				}
				if got.pause > time.Second+3*time.Second {
					t.Errorf("a pause of %v, %v alone", got.pause, alone.pause)
				}
				if a.once == 0 && (got.small == 0 || got.small > alone.small+5*time.Second) {
					t.Errorf("the small site was crawled in %v, alone in %v", got.small, alone.small)
				}
				t.Logf("%+v, alone %+v", got, alone)
			})
		})
	}
}
