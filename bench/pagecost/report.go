package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// tolerance is how much the sum of the stages may differ from the CPU time of the process (issue 2,
// acceptance 6).
const tolerance = 0.20

// The figures of design §11, in µs per page: a minimal sketch of this pipeline, and the budget of a
// page.
const (
	sketchDiscard, sketchS2, sketchZstd = 89, 137, 210
	budgetDiscard, budgetS2, budgetFind = 150, 200, 600
)

// report has the results, ready to be printed.
type report struct {
	s      settings
	rounds []round

	pages  int64 // of all rounds
	cpu    time.Duration
	server time.Duration
	costs  costs
	use    time.Duration // of the stages: for statements of sites about use
}

func newReport(s settings, rounds []round) *report {
	r := &report{s: s, rounds: rounds}
	for i := range rounds {
		r.pages += rounds[i].pages
		r.cpu += rounds[i].cpu
		r.server += rounds[i].server
		r.use += useOf(rounds[i].profile)
		for k := range r.costs {
			r.costs[k].total += rounds[i].costs[k].total
			r.costs[k].alloc += rounds[i].costs[k].alloc
			r.costs[k].kernel += rounds[i].costs[k].kernel
		}
	}
	return r
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// page returns a part of the CPU time of the rounds per page, in µs.
func (r *report) page(d time.Duration) float64 { return micros(d) / float64(r.pages) }

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n", r.title())
	r.printStages(w)
	fmt.Fprintln(w)
	r.printRounds(w)
	fmt.Fprintln(w)
	r.printSketch(w)
}

func (r *report) title() string {
	s, first := r.s, r.rounds[0]
	what := "pages stored (S2)"
	if s.store == "discard" {
		what = "pages discarded"
	}
	if s.search {
		what += ", searchable"
	}
	if s.warc {
		what += ", archived"
	}
	if s.says {
		what += ", of sites that say what they may be used for"
	}
	return fmt.Sprintf("%s: %d pages of 18 KB on %d hosts, 43 links each (%.1f offered to the frontier), delay %v, latency %v, %d shards, %.0f URLs a visit",
		what, first.pages, s.hosts, float64(first.links)/float64(first.pages), s.delay, s.latency, s.shards, float64(first.pages)/float64(max(first.visits, 1)))
}

// printAdded prints what the archive added to the cost of a page in the rounds without one.
func (r *report) printAdded(w io.Writer, plain *report) {
	var each []string
	for i := range r.rounds {
		each = append(each, fmt.Sprintf("%+.0f %%", 100*(float64(r.rounds[i].cpu)/float64(plain.rounds[i].cpu)-1)))
	}
	fmt.Fprintf(w, "\nthe archive adds %+.1f %%: %.0f µs a page with it, %.0f without, in turns (%s)\n",
		100*(r.page(r.cpu)/plain.page(plain.cpu)-1), r.page(r.cpu), plain.page(plain.cpu), strings.Join(each, ", "))
}

func (r *report) printStages(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "stage\tµs/page\tshare\tof it: allocating\tin the kernel\t")
	for i, c := range r.costs {
		if c.total == 0 && stage(i) != unattributed {
			continue
		}
		fmt.Fprintf(t, "%s\t%.1f\t%.1f %%\t%.1f\t%.1f\t\n", stageNames[i], r.page(c.total),
			100*float64(c.total)/float64(r.cpu), r.page(c.alloc), r.page(c.kernel))
	}
	fmt.Fprintf(t, "sum of the stages\t%.1f\t%.1f %%\t\t\t\n", r.page(r.costs.sum()), 100*float64(r.costs.sum())/float64(r.cpu))
	fmt.Fprintf(t, "whole process, getrusage\t%.1f\t100 %%\t\t\t\n", r.page(r.cpu))
	t.Flush()
	if r.s.says {
		fmt.Fprintf(w, "of all stages, reading, carrying and keeping what sites say of use: %.1f µs a page, %.2f %% of the samples (%d)\n",
			r.page(r.use), 100*float64(r.use)/float64(r.costs.sum()), r.use/(10*time.Millisecond))
	}
	verdict := "within"
	if math.Abs(r.off()) > tolerance {
		verdict = "NOT within"
	}
	fmt.Fprintf(w, "the sum is %+.1f %% off: %s the %.0f %% asked for (%d samples of 10 ms; a stage of n samples is good to about √n)\n",
		100*r.off(), verdict, 100*tolerance, r.costs.sum()/(10*time.Millisecond))
}

// off returns how much the sum of the stages differs from getrusage.
func (r *report) off() float64 { return float64(r.costs.sum())/float64(r.cpu) - 1 }

// check fails if the figures do not add up.
func (r *report) check() error {
	if math.Abs(r.off()) > tolerance {
		return fmt.Errorf("the stages add up to %.1f µs a page, the whole process used %.1f: %+.1f %%", r.page(r.costs.sum()), r.page(r.cpu), 100*r.off())
	}
	return nil
}

func (r *report) printRounds(w io.Writer) {
	for i := range r.rounds {
		o := &r.rounds[i]
		fmt.Fprintf(w, "round %d: %d pages in %.2f s, %.0f pages/s, CPU %.1f µs/page (the site's server, apart: %.1f); a page: %.3f messages of events, %.0f B, and %.3f of pages; memory at most: %d MiB anonymous, %d of files\n",
			i+1, o.pages, o.wall.Seconds(), float64(o.pages)/o.wall.Seconds(), o.perPage(), micros(o.server)/float64(o.pages),
			float64(o.sent.events)/float64(o.pages), float64(o.sent.bytes)/float64(o.pages), float64(o.sent.pages)/float64(o.pages),
			o.memory.Anonymous>>20, o.memory.Files>>20)
		o.printTenths(w)
	}
}

// printTenths prints whether a page costs more late in the crawl than early, absolutely and
// relative to the CPU time of the server for the same pages.
func (o *round) printTenths(w io.Writer) {
	var cpu, beside []float64
	for _, t := range o.tenths {
		cpu = append(cpu, 10*micros(t.cpu)/float64(o.pages))
		beside = append(beside, float64(t.cpu)/float64(max(t.server, 1)))
	}
	fmt.Fprintf(w, "  by tenths of the pages: %.1f µs of CPU a page; pages a second of CPU in the last %.1f %% of those in the first, %.1f %% of the median\n",
		cpu, 100*cpu[0]/cpu[9], 100*median(cpu)/cpu[9])
	fmt.Fprintf(w, "    as multiples of what the server used meanwhile: %.2f; last %.1f %% of the first, %.1f %% of the median\n",
		beside, 100*beside[0]/beside[9], 100*median(beside)/beside[9])
}

func (o *round) perPage() float64 { return micros(o.cpu) / float64(o.pages) }

// ours returns our CPU time per page, the median of the rounds.
func (r *report) ours() float64 {
	var all []float64
	for i := range r.rounds {
		all = append(all, r.rounds[i].perPage())
	}
	return median(all)
}

func (r *report) printSketch(w io.Writer) {
	ours, sketch, budget := r.ours(), float64(sketchS2), float64(budgetS2)
	if r.s.store == "discard" {
		sketch, budget = sketchDiscard, budgetDiscard
	}
	if r.s.search {
		find := r.page(r.costs[index].total)
		fmt.Fprintf(w, "search on: %.1f µs, %.2f × the budget of %d; without the row search %.1f µs\n", ours, ours/budgetFind, budgetFind, ours-find)
		ours -= find
	}
	fmt.Fprintf(w, "sketch of design §11, µs/page: %d discarded, %d S2, %d zstd; ours: %.1f = %.2f × the sketch (2 × asked for), %.2f × the budget of %.0f\n",
		sketchDiscard, sketchS2, sketchZstd, ours, ours/sketch, ours/budget, budget)
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
