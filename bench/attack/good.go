package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Good is a well-behaved site, which has more pages than anybody crawls.
type Good struct {
	*Origin
	Body func(path string) (contentType string, body []byte) // of /f/N, unless it is nil

	mu    sync.Mutex
	pages []time.Time // when each was requested
}

// goodHost is the name of the good site. It has an address of its own.
const goodHost = "www.good.example"

// NewGood starts the good site, which asks for a delay of 50 ms. With a body, each page leads to a
// file with that body, and only files count.
func (r *Rig) NewGood(body func(path string) (string, []byte)) (*Good, error) {
	g := &Good{Body: body}
	o, err := r.Serve("127.0.0.1", http.HandlerFunc(g.answer))
	g.Origin = o
	return g, err
}

func (g *Good) answer(w http.ResponseWriter, q *http.Request) {
	kind, number, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/"), "/")
	n, err := strconv.Atoi(number)
	switch {
	case q.URL.Path == "/robots.txt":
		_, _ = w.Write([]byte("User-agent: *\nCrawl-delay: 0.05\n"))
		return
	case q.URL.Path == "/":
	case err != nil || kind != "p" && kind != "f":
		http.NotFound(w, q)
		return
	}
	if kind == "f" || g.Body == nil {
		g.mu.Lock()
		g.pages = append(g.pages, time.Now())
		g.mu.Unlock()
	}
	if kind == "f" {
		contentType, body := g.Body(q.URL.Path)
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<title>Page %d</title><p>This is the quiet page number %d.", n, n)
	for i := 1; i <= 4; i++ {
		fmt.Fprintf(w, ` <a href="/p/%d">next</a>`, 4*n+i)
		if g.Body != nil {
			fmt.Fprintf(w, ` <a href="/f/%d">file</a>`, 4*n+i)
		}
	}
}

// got is how many pages were requested since began, and the longest wait between two of them.
func (g *Good) got(began, ended time.Time) (n int, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	last := began
	for _, t := range append(g.pages[:len(g.pages):len(g.pages)], ended) {
		if t.Before(began) || t.After(ended) {
			continue
		}
		n++
		wait, last = max(wait, t.Sub(last)), t
	}
	return n - 1, wait
}

// Crawl is a crawl of the good site while others attack.
type Crawl struct {
	Args  []string                            // more arguments of curtsy crawl
	Delay string                              // to the attackers, if they are hurried; "": 50ms
	Body  func(path string) (string, []byte)  // of the good site's files
	Evil  http.Handler                        // the attacker's server, at 127.0.0.2
	Hosts []string                            // the attacker's names; each gets a seed
	Path  string                              // of those seeds; "": /
	Look  func(context.Context, string) error // called at the end, with the data directory
}

// Result is what a crawl left for the good site.
type Result struct {
	Took
	Pages       int           // that the good site got
	Alone       float64       // that it would have got without the attack
	Wait        time.Duration // its longest wait
	Output      string
	Requests    int // to the attacker
	EvilRequest func(host string) int
}

// Share is the part of its pages that the good site kept.
func (r Result) Share() float64 { return float64(r.Pages) / max(r.Alone, 1) }

// Row is the row of a crawl of which the good site must keep a part.
func (r Result) Row(least float64) Row {
	return Row{
		Took: r.Took, Held: r.Share() >= least,
		Good:    fmt.Sprintf("%d pages of %.0f alone, longest wait %.1f s", r.Pages, r.Alone, r.Wait.Seconds()),
		Because: fmt.Sprintf("%.0f %%, of at least %.0f", 100*r.Share(), 100*least),
	}
}

// Run crawls the good site, once alone unless this is known, and once with the attackers.
func (c Crawl) Run(ctx context.Context, r *Rig) (Result, error) {
	key := fmt.Sprint(c.Body != nil) // how it is attacked does not matter
	if _, ok := r.shared.alone[key]; !ok {
		alone := c
		alone.Hosts, alone.Look = nil, nil
		res, err := alone.once(ctx, r, "alone")
		if err != nil {
			return res, err
		}
		r.shared.alone[key] = float64(res.Pages)
	}
	res, err := c.once(ctx, r, "attacked")
	res.Alone = r.shared.alone[key]
	return res, err
}

// once crawls for the window, from the first page of the good site on, or from a few seconds after
// the start if the attackers do not even let that one be fetched.
func (c Crawl) once(ctx context.Context, r *Rig, name string) (res Result, err error) {
	good, err := r.NewGood(c.Body)
	if err != nil {
		return res, err
	}
	defer good.Close()
	evil, err := r.Serve("127.0.0.2", c.Evil)
	if err != nil {
		return res, err
	}
	defer evil.Close()
	seeds := strings.Builder{}
	for _, h := range c.Hosts {
		fmt.Fprintf(&seeds, "http://%s:%s%s\n", h, evil.Port(), max(c.Path, "/"))
	}
	fmt.Fprintf(&seeds, "http://%s:%s/\n", goodHost, good.Port())
	if err := os.WriteFile(r.File(name+".seeds"), []byte(seeds.String()), 0o644); err != nil {
		return res, err
	}
	dir := r.File(name)
	args := append([]string{"crawl", "--dir", dir, "--seeds", r.File(name + ".seeds"), "--allow-private", "--progress", "none", "--listen", "off",
		"--resolve", goodHost + "=127.0.0.1", "--resolve", "*.example=127.0.0.2", "--hurry", goodHost, "--delay", max(c.Delay, "50ms"),
		"--min-free", "1MiB"}, c.Args...)
	p, err := r.Start(ctx, name, args...)
	if err != nil {
		return res, err
	}
	defer p.Stop()
	err = until(ctx, 10*time.Second, func() (bool, error) {
		n, _ := good.got(p.began, time.Now())
		if p.Ended() {
			return false, errors.New("the crawl ended: " + p.Output())
		}
		return n > 0 || len(c.Hosts) > 0 && time.Since(p.began) > 5*time.Second, nil
	})
	if err != nil {
		return res, err
	}
	began := time.Now()
	if err := pause(ctx, r.Window); err != nil {
		return res, err
	}
	res.Pages, res.Wait = good.got(began, time.Now())
	if p.Ended() {
		return res, errors.New("the crawl ended: " + p.Output())
	}
	res.Took = p.Stop()
	res.Connections, res.Bytes, res.Output, res.EvilRequest = int(evil.Connections.Load()), evil.Bytes.Load(), p.Output(), evil.Requests
	evil.mu.Lock()
	for _, n := range evil.hosts {
		res.Requests += n
	}
	evil.mu.Unlock()
	if c.Look != nil {
		err = c.Look(ctx, dir)
	}
	return res, errors.Join(err, os.RemoveAll(filepath.Join(dir, "nats")))
}
