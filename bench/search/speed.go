package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/bench/command"
)

const (
	clients = 8 // that ask at the same time
	rounds  = 3 // in which every engine is asked every query
)

// asking keeps a connection for each client.
var asking = http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}

// A contestant is a server whose speed is measured.
type contestant struct {
	name  string
	base  string // of its addresses, up to the words of the query
	pid   int
	bytes int64 // of its index
	took  []time.Duration
	cpu   time.Duration
}

// measureSpeed prints what a query costs on the pages of all corpora. Each engine is a server in a
// process of its own, and answers with ten hits, their snippets with the words marked, the total
// and the number of hits of each host. They are asked in turns, so that neighbours on the machine
// cost all of them the same.
func (s *settings) measureSpeed(ctx context.Context, w io.Writer) error {
	s.half, s.manuals = "tuning", slices.Concat(manuals, unseen, bulk)
	if err := s.prepare(ctx, s.reindex); err != nil {
		return err
	}
	s.manuals = slices.Concat(manuals, unseen)
	qs, err := s.queries()
	if err != nil {
		return err
	}
	ours, err := newServed(ctx, &s.bench)
	if err != nil {
		return err
	}
	server := ours.(served)
	all := []*contestant{{name: "ours", base: server.base + "/api/v1/search?per=10&q=", pid: server.pid, bytes: size(s.data(), "search-*.db")}}
	for _, name := range []string{"bleve", "sqlite"} {
		c, err := s.startRival(ctx, name)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	for _, c := range all { // what is asked first reads the index from the disk
		if err := c.run(ctx, qs); err != nil {
			return err
		}
		c.took, c.cpu = nil, 0
	}
	for round := range rounds {
		for i := range all {
			if err := all[(i+round)%len(all)].run(ctx, qs); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(w, "%d pages, %d queries, %d rounds, %d clients, %d cores\n\n", len(s.pages), len(qs), rounds, clients, runtime.NumCPU())
	fmt.Fprint(w, "| engine | p50 | p95 | CPU a query | of ours | index, bytes a page |\n|---|---:|---:|---:|---:|---:|\n")
	for _, c := range all {
		slices.Sort(c.took)
		fmt.Fprintf(w, "| %s | %.0f ms | %.0f ms | %.1f ms | %.2f | %d |\n", c.name, ms(c.took[len(c.took)/2]), ms(c.took[len(c.took)*95/100]),
			ms(c.cpu)/float64(len(c.took)), c.cpu.Seconds()/all[0].cpu.Seconds(), c.bytes/int64(len(s.pages)))
	}
	return nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// size returns the bytes of the files in a directory, and below it, whose names match.
func size(dir, pattern string) (n int64) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // unreadable: 0
		if ok, _ := filepath.Match(pattern, filepath.Base(path)); err == nil && ok && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// startRival makes a rival's index, unless an earlier run has, and starts a process that serves it.
func (s *settings) startRival(ctx context.Context, name string) (*contestant, error) {
	dir := filepath.Join(s.dir, "speed-"+name)
	if _, err := os.Stat(dir); err != nil {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
		if err := rivals[name].index(ctx, dir, s.pages); err != nil {
			return nil, fmt.Errorf("index for %s: %w", name, err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-rival", name, "-dir", dir)
	base, err := s.startServer(cmd)
	if err != nil {
		return nil, err
	}
	return &contestant{name: name, base: base + "/?q=", pid: cmd.Process.Pid, bytes: size(dir, "*")}, nil
}

// run asks all queries in a random order, by several clients at the same time.
func (c *contestant) run(ctx context.Context, qs []query) error {
	order := rand.New(rand.NewPCG(1, 1)).Perm(len(qs))
	took, errs := make([]time.Duration, len(qs)), make([]error, clients)
	before := command.CPUOf(c.pid)
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(qs) || errs[i] != nil {
					return
				}
				start := time.Now()
				errs[i] = c.ask(ctx, qs[order[n]].text)
				took[n] = time.Since(start)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	c.took, c.cpu = append(c.took, took...), c.cpu+command.CPUOf(c.pid)-before
	return nil
}

// ask asks one query and reads the answer to its end.
func (c *contestant) ask(ctx context.Context, text string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+url.QueryEscape(text), nil)
	if err != nil {
		return err
	}
	resp, err := asking.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %q: %s: %s", c.name, text, resp.Status, strings.TrimSpace(string(body)))
	}
	return err
}
