// Command peers crawls one web with many crawlers, in turns, and measures what a page costs each:
// CPU time of all its processes, wall-clock time, and memory. The results are in bench/results.
//
//	go run ./peers                          ours in four ways, the lean limit, and three others
//	go run ./peers -aims                    is each of our aims reached?
//	go run ./peers -rows stored,lean,wget2  some of them
//	go run ./peers -rows stored,daemons-1   all in one process, and by daemons over TCP
//	go run ./peers -list                    the available rows
//	go run ./peers -smoke                   all rows, small: does everything work?
//
// The web is served by a separate process on one core; the crawler has the other core for itself,
// however many processes it has. The log of the web shows which pages were fetched, and a row that
// fetched fewer is an error. wget2 and scrapy cannot be configured with addresses of names, so they
// get a hosts file in a mount namespace, which requires root.
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
	"time"

	"github.com/curtsy/curtsy/bench/command"
	"github.com/curtsy/curtsy/bench/site"
)

// settings define what to measure.
type settings struct {
	hosts, pages, cross int // pages of each host
	shards              int
	rounds              int
	rows                []string // empty: the usual ones
	limit               time.Duration
	dir, out, machine   string
	list                bool
}

func main() {
	if len(os.Args) > 1 {
		if run := children[os.Args[1]]; run != nil {
			os.Exit(run(os.Args[2:]))
		}
	}
	if err := pinSelf(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
	command.Main("peers", parse, run)
}

// children are what this program does in separate processes.
var children = map[string]func(args []string) int{
	site.Command: func(args []string) int { return site.Serve(args, os.Stdin, os.Stdout, os.Stderr) },
	"lean":       child(lean),
	"colly":      child(collyCrawl),
	"discard":    child(discard),
}

// child makes a command of the function of a process.
func child(do func(args []string) error) func([]string) int {
	return func(args []string) int {
		if err := do(args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
}

func parse(args []string, stderr io.Writer) (settings, error) {
	s := settings{}
	var rows string
	var smoke, aims bool
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.hosts, "hosts", 100, "hosts of the web")
	f.IntVar(&s.pages, "pages", 100, "pages of each host")
	f.IntVar(&s.cross, "cross", 4, "of the 43 links of a page, how many lead to any host of the web")
	f.IntVar(&s.shards, "shards", 4, "shards of our crawls")
	f.IntVar(&s.rounds, "rounds", 3, "rounds to measure")
	f.StringVar(&rows, "rows", "", "rows to measure, with commas between them; empty: those that -list marks")
	f.DurationVar(&s.limit, "limit", 10*time.Minute, "give a crawl up that takes longer")
	f.StringVar(&s.dir, "dir", "", "make the data directories here instead of in the system's place for temporary files")
	f.StringVar(&s.out, "out", "results", "write DATE-MACHINE.md and DATE-MACHINE.json into this folder; empty: only print")
	f.StringVar(&s.machine, "machine", "", "the machine's name in the results; empty: its processor's")
	f.BoolVar(&s.list, "list", false, "list the rows")
	f.BoolVar(&aims, "aims", false, "print whether each aim is reached: the rows and the number of pages that the aims need, in place of -rows, -hosts and -pages")
	f.BoolVar(&smoke, "smoke", false, "one small round, which measures nothing and is not written down")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if rows != "" {
		s.rows = strings.Split(rows, ",")
	}
	if aims {
		s.rows, s.hosts, s.pages = aimRows, aimHosts, aimPages/aimHosts
	}
	if smoke {
		s.hosts, s.pages, s.rounds, s.out = 5, 20, 1, ""
	}
	for _, name := range s.rows {
		if !slices.ContainsFunc(rowsThere, func(r row) bool { return r.name == name }) {
			return s, fmt.Errorf("-rows: there is no row %q; -list lists them", name)
		}
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case s.hosts < 1 || s.pages < 10 || s.cross < 0 || s.cross > 43 || s.shards < 1 || s.rounds < 1:
		return s, errors.New("-pages is at least 10, -cross 0 to 43, -hosts, -shards and -rounds at least 1")
	}
	return s, nil
}

func run(ctx context.Context, s settings, w io.Writer) error {
	if s.list {
		for _, r := range rowsThere {
			mark := " "
			if r.usual {
				mark = "*"
			}
			fmt.Fprintf(w, "%s %-10s %s\n", mark, r.name, r.about)
		}
		return nil
	}
	dir, err := os.MkdirTemp(s.dir, "curtsy-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rows, notes, err := choose(ctx, s, dir)
	if err != nil {
		return err
	}
	rep, err := newReport(ctx, s, rows, notes)
	if err != nil {
		return err
	}
	failed := 0
	for i := range s.rounds { // each with all rows in turns
		for k, r := range rows {
			res := measure(ctx, s, r, dir)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			rep.Rows[k].Rounds = append(rep.Rows[k].Rounds, res)
			fmt.Fprintf(os.Stderr, "round %d, %s: %s\n", i+1, r.name, res.line())
			if res.Error != "" {
				failed++
			}
		}
	}
	rep.end()
	rep.print(w)
	if s.out != "" {
		if err := rep.write(s.out); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d crawls were no good: see above", failed)
	}
	return nil
}
