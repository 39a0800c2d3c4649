package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// A score sums up the ranks that an engine gave to the wanted pages of some queries.
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
	if rank > 0 {
		s.reciprocals += 1 / float64(rank)
	}
	if rank == 1 {
		s.first++
	}
	if rank > 0 && rank <= 5 {
		s.five++
	}
}

// A table has the scores of each manual and engine.
type table struct {
	engines []string
	rows    []string
	scores  map[string][]score // by row, in the order of engines
}

const inAll = "**in all**"

func (t *table) add(row string, engine, rank int, cpu time.Duration) {
	if t.scores == nil {
		t.scores = map[string][]score{inAll: make([]score, len(t.engines))}
	}
	if !slices.Contains(t.rows, row) {
		t.rows = append(t.rows, row)
		t.scores[row] = make([]score, len(t.engines))
	}
	t.scores[row][engine].add(rank, cpu)
	t.scores[inAll][engine].add(rank, cpu)
}

// print writes the table in Markdown.
func (t *table) print(w io.Writer) {
	head, line, costs := "\n| manual | queries |", "\n|---|---:|", "\n\nCPU a query, as information:"
	for i, e := range t.engines {
		s := t.scores[inAll][i]
		head += " " + e + ": MRR | first | in five |"
		line += "---:|---:|---:|"
		costs += fmt.Sprintf(" %s %.1f ms;", e, s.cpu.Seconds()*1e3/float64(s.queries))
	}
	fmt.Fprint(w, head, line)
	for _, row := range append(t.rows, inAll) {
		fmt.Fprintf(w, "\n| %s | %d |", row, t.scores[row][0].queries)
		for _, s := range t.scores[row] {
			n := float64(s.queries)
			fmt.Fprintf(w, " %.3f | %.0f %% | %.0f %% |", s.reciprocals/n, 100*float64(s.first)/n, 100*float64(s.five)/n)
		}
	}
	fmt.Fprint(w, costs, "\n\n")
}
