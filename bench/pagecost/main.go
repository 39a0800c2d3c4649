// Command pagecost crawls a simulated web with the real services in this one process and measures
// what a page costs: CPU microseconds by stage, from a profile, and the CPU time of the whole
// process for the same run.
//
//	go run ./pagecost                        pages stored (S2), search off
//	go run ./pagecost -store=discard         pages fetched, read for links, discarded
//	go run ./pagecost -search                and indexed
//	go run ./pagecost -delay=20ms            visits report each page separately, as on real hosts
//	go run ./pagecost -says                  sites state what their pages may be used for
//	go run ./pagecost -warc                  alternately with and without an archive: what it adds
//	go run ./pagecost -pages 100000          does a page cost as much late in the crawl as early?
//
// go run ./peers compares the total with other crawlers.
//
// The site is served by another process (this program again), so that its work does not count. A
// smaller site is crawled first and does not count either. The measured crawl counts completely,
// from opening the data directory to closing it: the first pages of a crawl find most of its URLs,
// so leaving out a part of the run would leave out a part of the work.
//
// Wall-clock counters would attribute the time that a stage waits for a processor to it. So the
// stages come from a CPU profile: each sample belongs to the stage that rules (stages.go)
// determine from its stack. Their sum is compared with getrusage, and the program fails if it
// differs by more than 20 %.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/curtsy/curtsy/bench/command"
	"github.com/curtsy/curtsy/bench/site"
)

// settings define what to measure.
type settings struct {
	pages, hosts, cross, shards, slots int

	store   string // discard or s2
	search  bool
	rounds  int
	limit   time.Duration
	delay   time.Duration
	latency time.Duration
	says    bool
	warc    bool
	dir     string // where data directories are made and removed
	profile string // the profile is written here, for go tool pprof
	verbose bool
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == site.Command {
		os.Exit(site.Serve(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	command.Main("pagecost", parse, run)
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("pagecost", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.pages, "pages", 20_000, "pages of the site, over all hosts")
	f.IntVar(&s.hosts, "hosts", 20, "hosts of the site")
	f.IntVar(&s.cross, "cross", 4, "of the 43 links of a page, how many lead to any host of the site")
	f.IntVar(&s.shards, "shards", 4, "shards of the crawl")
	f.IntVar(&s.slots, "visits", 64, "hosts visited at once")
	f.StringVar(&s.store, "store", "s2", "s2: pages are stored; discard: they are thrown away once read for links")
	f.BoolVar(&s.search, "search", false, "index the pages too")
	f.IntVar(&s.rounds, "rounds", 1, "rounds to measure")
	f.DurationVar(&s.delay, "delay", 0, "between requests to a host; from 20ms on a visit tells of each page")
	f.DurationVar(&s.latency, "latency", 0, "of the site before each answer; visits that last longer than a second tell of themselves each second")
	f.BoolVar(&s.says, "says", false, "each site says what its pages may be used for: four lines in robots.txt, two headers on every page")
	f.BoolVar(&s.warc, "warc", false, "archive what is fetched, and crawl as often without an archive, in turns")
	f.DurationVar(&s.limit, "limit", 5*time.Minute, "give a crawl up that takes longer")
	f.StringVar(&s.dir, "dir", "", "make the data directories here instead of in the system's place for temporary files")
	f.StringVar(&s.profile, "profile", "", "write the CPU profile of all rounds to this file, for go tool pprof")
	f.BoolVar(&s.verbose, "v", false, "let the services log to standard error")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case s.store != "s2" && s.store != "discard":
		return s, fmt.Errorf("-store=%s: use s2 or discard", s.store)
	case s.search && s.store == "discard":
		return s, errors.New("-search needs pages to index: leave -store=discard out")
	case s.hosts < 1 || s.pages < 10*s.hosts:
		return s, fmt.Errorf("-pages %d -hosts %d: use at least 10 pages a host", s.pages, s.hosts)
	case s.cross < 0 || s.cross > 43 || s.shards < 1 || s.slots < 1 || s.rounds < 1 || s.delay < 0 || s.latency < 0:
		return s, errors.New("-cross is 0 to 43; -delay and -latency are not negative; -shards, -visits and -rounds are at least 1")
	}
	return s, nil
}

// run measures and prints.
func run(ctx context.Context, s settings, w io.Writer) error {
	dir, err := os.MkdirTemp(s.dir, "curtsy-pagecost-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	small := s
	small.pages = max(s.pages/10, 10*s.hosts)
	if _, err := oneRound(ctx, small, dir); err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	var all, plain []round
	measure := func(s settings, into *[]round) error {
		r, err := oneRound(ctx, s, dir)
		*into = append(*into, r)
		return err
	}
	for i := range s.rounds {
		with := func() error { return measure(s, &all) }
		without := func() error {
			if !s.warc {
				return nil
			}
			s := s
			s.warc = false
			return measure(s, &plain)
		}
		if i%2 == 1 { // in the other order every second time
			with, without = without, with
		}
		if err := cmp.Or(without(), with()); err != nil {
			return err
		}
	}
	if s.profile != "" {
		if err := save(s.profile, all); err != nil {
			return err
		}
	}
	rep := newReport(s, all)
	rep.print(w)
	if s.warc {
		rep.printAdded(w, newReport(s, plain))
	}
	return rep.check()
}
