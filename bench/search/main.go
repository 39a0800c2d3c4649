// Command search asks what a person asks of five manuals, and counts how often the page that the
// person wants is found, by Curtsy and by two rivals.
//
//	go run ./search                             both halves of the queries, all engines
//	go run ./search -dir DIR -half tuning -v    while tuning: DIR is kept, each query with its ranks
//	go run ./search -dir DIR -reindex -misses   after a change of the index; what was not first
//	go run ./search -half aside                 the half that counts in the end: a summary only
//
// Queries and wanted pages are in queries/, written before any engine was asked. Pages are served
// from Debian packages at a loopback address and crawled by a binary of this checkout. The rivals
// are twenty lines of SQLite on the text that Curtsy exports, and xapian-omega on the files.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

type settings struct {
	bench
	half, engines                  string
	verbose, misses, reindex, keep bool
}

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "search:", err)
		}
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "search:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (s settings, err error) {
	f := flag.NewFlagSet("search", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.shards, "shards", 4, "shards of the crawl")
	f.StringVar(&s.dir, "dir", "", "keep the binary, the crawl and Xapian's databases here, and use them again")
	f.StringVar(&s.half, "half", "all", "tuning, aside or all: which queries to ask")
	f.StringVar(&s.engines, "engines", "ours,sqlite,xapian", "whom to ask")
	list := f.String("manuals", "", "these manuals only, with commas (a kept crawl holds those it was made with)")
	f.BoolVar(&s.reindex, "reindex", false, "index the kept crawl anew first")
	f.BoolVar(&s.verbose, "v", false, "list the queries of the tuning half with their ranks")
	f.BoolVar(&s.misses, "misses", false, "show our first three hits for queries of the tuning half where the wanted page is not first")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case s.half != "tuning" && s.half != "aside" && s.half != "all":
		return s, fmt.Errorf("-half %q: use tuning, aside or all", s.half)
	case s.shards < 1:
		return s, errors.New("-shards is greater than 0")
	}
	s.keep = s.dir != ""
	s.manuals, err = chosen(*list)
	return s, err
}

// measure prepares the bench, asks the queries, and prints a table for answers from the query's
// manual and one for answers from all manuals.
//
// The first is the headline. The queries name no manual, and several fit more than one ("regular
// expressions", "operator precedence", "window functions"); the pages wanted are those of the
// query's own manual, so that with all manuals a good answer from another counts as wrong. The
// second table still tells whether an engine keeps languages and subjects apart.
func measure(ctx context.Context, s settings, w io.Writer) (err error) {
	if err := installed(s.manuals); err != nil {
		return err
	}
	if !s.keep {
		if s.dir, err = os.MkdirTemp("", "curtsy-search-"); err != nil {
			return err
		}
		defer os.RemoveAll(s.dir)
	} else if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	if err := errors.Join(s.build(ctx), s.crawl(ctx)); err != nil {
		return err
	}
	if s.reindex {
		if err := s.bench.reindex(ctx); err != nil {
			return err
		}
	}
	qs, err := s.queries()
	if err != nil {
		return err
	}
	if err := s.complete(qs); err != nil {
		return err
	}
	names, engines, err := s.make(ctx)
	if err != nil {
		return err
	}
	for _, everywhere := range []bool{false, true} {
		t, where := table{engines: names}, "within the query's manual (the headline)"
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

// make makes the engines asked for.
func (s settings) make(ctx context.Context) (names []string, engines []engine, err error) {
	for name := range strings.SplitSeq(s.engines, ",") {
		i := slices.IndexFunc(makers, func(m maker) bool { return m.name == name })
		if i < 0 {
			return nil, nil, fmt.Errorf("-engines: there is no %q", name)
		}
		e, err := makers[i].make(ctx, s.bench)
		if err != nil {
			return nil, nil, err
		}
		names, engines = append(names, name), append(engines, e)
	}
	return names, engines, nil
}

// queries returns the queries of the half asked for.
func (s settings) queries() (qs []query, err error) {
	for _, m := range s.manuals {
		of, err := load(m)
		if err != nil {
			return nil, err
		}
		qs = append(qs, of...)
	}
	return slices.DeleteFunc(qs, func(q query) bool {
		return s.half == "tuning" && q.aside() || s.half == "aside" && !q.aside()
	}), nil
}

// complete returns an error when the crawl has not stored a page that is wanted.
func (s settings) complete(qs []query) error {
	stored := map[string]bool{}
	err := s.each(func(p page) error {
		stored[place(p.URL)] = true
		return nil
	})
	for _, q := range qs {
		for _, w := range q.wanted {
			if p := q.manual.host() + w; err == nil && !stored[p] {
				err = fmt.Errorf("the crawl in %s has no %s, which %q wants", s.dir, p, q.text)
			}
		}
	}
	return err
}

// ask asks every engine a query, and shows the ranks unless the query is set aside.
func (s settings) ask(ctx context.Context, w io.Writer, t *table, engines []engine, q query, everywhere bool) error {
	var ranks []string
	var first []hit // of the first engine
	missed := false
	for i, e := range engines {
		hits, cpu, err := e.ask(ctx, q, everywhere)
		if err != nil {
			return err
		}
		hits = hits[:min(len(hits), depth)]
		rank := q.rank(hits)
		t.add(q.manual.name, i, rank, cpu)
		if ranks = append(ranks, fmt.Sprintf("%3d", rank)); i == 0 {
			first, missed = hits[:min(len(hits), 3)], rank != 1
		}
	}
	if q.aside() || !s.verbose && !(s.misses && missed) {
		return nil
	}
	fmt.Fprintf(w, "%s  %s  [%s]\n", strings.Join(ranks, " "), q.text, q.manual.name)
	if s.misses && missed {
		for _, h := range first {
			fmt.Fprintln(w, "              ", strings.Join(h, " = "))
		}
	}
	return nil
}
