// Command search runs queries of a person on manuals, and counts how often the page that the person
// wants is found, by Curtsy and by two rivals.
//
//	go run ./search                             both halves of the queries, all engines
//	go run ./search -dir DIR -half tuning -v    while tuning: DIR is kept; each query with its ranks
//	go run ./search -dir DIR -reindex -misses   after a change of the index; what was not first
//	go run ./search -half aside                 the half that counts in the end: a summary only
//	go run ./search -corpora unseen             other corpora, with classes of queries
//	go run ./search -speed                      what queries cost on all corpora, by eight clients
//
// Queries and wanted pages are in queries/, and were written before any engine was used. Pages are
// served from Debian packages at a loopback address and crawled by a binary of this checkout. The
// rivals are twenty lines of SQLite on the text that Curtsy exports, and xapian-omega on the files.
// Two runs at the same time need two directories: the binary and the crawl lie in them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/bench/command"
)

type settings struct {
	bench
	half                     string
	engines                  []string
	verbose, misses, reindex bool
	slips                    bool
	speed                    bool
	rival                    string // this process is a server that -speed started
}

func main() {
	command.Main("search", parse, measure)
}

func parse(args []string, stderr io.Writer) (s settings, err error) {
	f := flag.NewFlagSet("search", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.shards, "shards", 4, "shards of the crawl")
	f.StringVar(&s.dir, "dir", "", "keep the crawl and Xapian's databases here, and use them again")
	f.StringVar(&s.half, "half", "all", "tuning, aside or all: which queries to ask")
	corpora := f.String("corpora", "manuals", "manuals (the nine that the ranking was made with), unseen or all")
	extra := f.String("ours-args", "", "arguments for our own searches, separated by spaces: -ours-args \"--synonyms search/synonyms/gnucash.txt\"")
	f.BoolVar(&s.reader, "reader", false, "send ours the language of the wanted page as Accept-Language, as the reader's browser would")
	names := f.String("manuals", "", "which of these, by name (all)")
	engines := f.String("engines", "ours,sqlite,xapian", "whom to ask; command is ours by a process for each query")
	f.BoolVar(&s.reindex, "reindex", false, "index the kept crawl anew first")
	f.BoolVar(&s.verbose, "v", false, "list the queries of the tuning half with their ranks")
	f.BoolVar(&s.misses, "misses", false, "show the first engine's first three hits where the wanted page is not first (tuning half)")
	f.BoolVar(&s.slips, "misspelled", false, "misspell the queries, and count what is suggested instead (tuning half)")
	f.BoolVar(&s.speed, "speed", false, "measure time and CPU of ours, bleve and SQLite on all corpora instead (tuning half)")
	f.StringVar(&s.rival, "rival", "", "serve a rival that -speed has made in -dir; -speed starts this itself")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	s.engines, s.extra = strings.Split(*engines, ","), strings.Fields(*extra)
	switch *corpora {
	case "manuals":
		s.manuals = manuals
	case "unseen":
		s.manuals = unseen
	case "all":
		s.manuals = slices.Concat(manuals, unseen)
	default:
		return s, fmt.Errorf("-corpora %q: use manuals, unseen or all", *corpora)
	}
	if *names != "" {
		want := strings.Split(*names, ",")
		s.manuals = slices.DeleteFunc(slices.Clone(s.manuals), func(m manual) bool { return !slices.Contains(want, m.name) })
		if len(s.manuals) < len(want) {
			return s, fmt.Errorf("-manuals %s: there is no such manual; see manuals in search/bench.go", *names)
		}
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case s.half != "tuning" && s.half != "aside" && s.half != "all":
		return s, fmt.Errorf("-half %q: use tuning, aside or all", s.half)
	case s.slips && s.half != "tuning":
		return s, errors.New("-misspelled looks at single queries: use it with -half tuning")
	case s.shards < 1:
		return s, errors.New("-shards is greater than 0")
	}
	return s, nil
}

// measure prepares the bench, runs the queries, and prints a table for answers from the manual of
// the query and one for answers from all manuals.
//
// The first is the headline. The queries name no manual, and several fit more than one ("regular
// expressions", "operator precedence", "printf"); the wanted pages are those of the query's own
// manual, so that with all manuals a good answer from another counts as wrong. The second table
// still shows whether an engine separates languages and subjects.
func measure(ctx context.Context, s settings, w io.Writer) (err error) {
	if s.rival != "" {
		return serveRival(ctx, s.rival, s.dir, w)
	}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "curtsy-search-"); err != nil {
			return err
		}
		defer os.RemoveAll(s.dir)
	}
	defer func() {
		for _, stop := range s.stop {
			stop()
		}
	}()
	if s.speed {
		return s.measureSpeed(ctx, w)
	}
	if err := s.prepare(ctx, s.reindex); err != nil {
		return err
	}
	qs, err := s.queries()
	if err != nil {
		return err
	}
	if s.slips {
		return s.misspelled(ctx, w, qs)
	}
	var engines []engine
	for _, name := range s.engines {
		e, err := newEngine(ctx, name, &s.bench)
		if err != nil {
			return err
		}
		engines = append(engines, e)
	}
	for _, everywhere := range []bool{false, true} {
		t, where := table{engines: s.engines}, "within the query's manual (the headline)"
		if everywhere {
			where = "in all manuals together"
		}
		fmt.Fprintf(w, "Asked %s, half: %s, shards: %d\n", where, s.half, s.shards)
		for _, q := range qs {
			if err := s.ask(ctx, w, &t, engines, q, everywhere); err != nil {
				return err
			}
		}
		t.print(w)
	}
	return nil
}

// queries returns the queries of the selected half; the crawl must have stored their wanted pages.
func (s settings) queries() (qs []query, err error) {
	stored := map[string]bool{}
	for _, p := range s.pages {
		stored[place(p.URL)] = true
	}
	for _, m := range s.manuals {
		of, err := load(m)
		if err != nil {
			return nil, err
		}
		for _, q := range of {
			if i := slices.IndexFunc(q.wanted, func(w string) bool { return !stored[m.host()+w] }); i >= 0 {
				return nil, fmt.Errorf("the crawl in %s has no %s, which %q wants", s.dir, m.host()+q.wanted[i], q.text)
			}
			if s.half == "all" || (s.half == "aside") == q.aside() {
				qs = append(qs, q)
			}
		}
	}
	return qs, nil
}

// ask runs a query on every engine, and prints the ranks unless the query is set aside.
func (s settings) ask(ctx context.Context, w io.Writer, t *table, engines []engine, q query, everywhere bool) error {
	var ranks string
	var first []hit // of the first engine
	for i, e := range engines {
		start := cpuTime(e)
		hits, err := e.ask(ctx, q, everywhere)
		if err != nil {
			return fmt.Errorf("%s: %q: %w", t.engines[i], q.text, err)
		}
		used := cpuTime(e) - start
		hits = s.distinct(hits)
		rank, named := q.rank(hits, s.one)
		t.add(q, i, rank, named, used)
		ranks += fmt.Sprintf("%3d ", rank)
		if i == 0 && rank != 1 {
			first = hits[:min(len(hits), 3)]
		}
	}
	if s.verbose && !q.aside() || s.misses && !q.aside() && !strings.HasPrefix(ranks, "  1 ") {
		fmt.Fprintf(w, "%s %s  [%s]\n", ranks, q.text, strings.TrimSuffix(q.manual.name+" "+q.class, " "))
	}
	if s.misses && !q.aside() {
		for _, h := range first {
			fmt.Fprintln(w, "             ", strings.Join(h.urls, " = "))
		}
	}
	return nil
}

// cpuTime returns the CPU time of this process, of the ended processes that it started, and of the
// engine's own.
func cpuTime(e engine) (used time.Duration) {
	if p, ok := e.(process); ok {
		used = p.cpu()
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		_ = syscall.Getrusage(who, &u) // it cannot fail for these
		used += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return used
}
