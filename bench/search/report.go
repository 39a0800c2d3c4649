package main

import (
	"fmt"
	"io"
	"time"
)

// A score sums up the ranks an engine gave to the wanted pages of some queries.
type score struct {
	queries     int
	reciprocals float64
	first, five int
	cpu         time.Duration
}

// add counts a query: rank is the place of the first wanted page among the first ten hits, or 0.
func (s *score) add(rank int, cpu time.Duration) {
	s.queries++
	s.cpu += cpu
	if rank == 0 {
		return
	}
	s.reciprocals += 1 / float64(rank)
	if rank == 1 {
		s.first++
	}
	if rank <= 5 {
		s.five++
	}
}

func (s *score) plus(t score) {
	s.queries += t.queries
	s.reciprocals += t.reciprocals
	s.first += t.first
	s.five += t.five
	s.cpu += t.cpu
}

// String gives the cells of a table: mean reciprocal rank, wanted page first, in the first five.
func (s score) String() string {
	if s.queries == 0 {
		return "– | – | –"
	}
	n := float64(s.queries)
	return fmt.Sprintf("%.3f | %.0f %% | %.0f %%", s.reciprocals/n, 100*float64(s.first)/n, 100*float64(s.five)/n)
}

// A table holds the scores of each manual and engine.
type table struct {
	engines []string
	rows    []string
	scores  map[string][]score // by row, in the order of engines
}

func (t *table) add(row string, engine, rank int, cpu time.Duration) {
	if t.scores == nil {
		t.scores = map[string][]score{}
	}
	if t.scores[row] == nil {
		t.rows = append(t.rows, row)
		t.scores[row] = make([]score, len(t.engines))
	}
	t.scores[row][engine].add(rank, cpu)
}

// print writes the table in Markdown.
func (t *table) print(w io.Writer) {
	fmt.Fprint(w, "\n| manual | queries |")
	for _, e := range t.engines {
		fmt.Fprintf(w, " %s: MRR | first | in five |", e)
	}
	fmt.Fprint(w, "\n|---|---:|")
	for range t.engines {
		fmt.Fprint(w, "---:|---:|---:|")
	}
	all := make([]score, len(t.engines))
	for _, row := range t.rows {
		for i, s := range t.scores[row] {
			all[i].plus(s)
		}
		printRow(w, row, t.scores[row])
	}
	printRow(w, "**in all**", all)
	fmt.Fprint(w, "\n\nCPU a query, as information:")
	for i, e := range t.engines {
		mean := all[i].cpu / time.Duration(max(1, all[i].queries))
		fmt.Fprintf(w, " %s %.1f ms;", e, mean.Seconds()*1e3)
	}
	fmt.Fprint(w, "\n\n")
}

func printRow(w io.Writer, name string, scores []score) {
	fmt.Fprintf(w, "\n| %s | %d |", name, scores[0].queries)
	for _, s := range scores {
		fmt.Fprintf(w, " %v |", s)
	}
}
