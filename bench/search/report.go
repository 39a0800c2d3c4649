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

	sections, named int // queries that one section answers; hits that named it
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

// A table has the scores of each manual, each class of queries, and each engine.
type table struct {
	engines          []string
	manuals, classes []string
	scores           map[string][]score // by row, in the order of engines
}

const inAll = "**in all**"

// glossary is the class of queries that need the synonyms in synonyms/. It has a row of its own and
// is in no sum, because what it measures is a file that the rivals do not have.
const glossary = "glossary"

// add counts a query: named is whether the hit names a section that answers it.
func (t *table) add(q query, engine, rank int, named bool, cpu time.Duration) {
	if t.scores == nil {
		t.scores = map[string][]score{inAll: make([]score, len(t.engines))}
	}
	rows := []string{q.manual.name, inAll}
	if q.class == glossary {
		rows = nil
	}
	if rows != nil && !slices.Contains(t.manuals, q.manual.name) {
		t.manuals = append(t.manuals, q.manual.name)
	}
	if q.class != "" {
		class := "class: " + q.class
		rows = append(rows, class)
		if !slices.Contains(t.classes, class) {
			t.classes = append(t.classes, class)
		}
	}
	for _, row := range rows {
		if t.scores[row] == nil {
			t.scores[row] = make([]score, len(t.engines))
		}
		s := &t.scores[row][engine]
		s.add(rank, cpu)
		if len(q.anchors) > 0 {
			s.sections++
		}
		if named {
			s.named++
		}
	}
}

// print writes the table in Markdown.
func (t *table) print(w io.Writer) {
	head, line, costs := "\n| manual | queries |", "\n|---|---:|", "\n\nCPU a query, as information:"
	if t.scores == nil {
		fmt.Fprint(w, "no queries\n\n")
		return
	}
	for i, e := range t.engines {
		s := t.scores[inAll][i]
		head += " " + e + ": MRR | first | in five |"
		line += "---:|---:|---:|"
		costs += fmt.Sprintf(" %s %.1f ms;", e, s.cpu.Seconds()*1e3/float64(s.queries))
	}
	fmt.Fprint(w, head, line)
	for _, row := range slices.Concat(t.manuals, []string{inAll}, t.classes) {
		fmt.Fprintf(w, "\n| %s | %d |", row, t.scores[row][0].queries)
		for _, s := range t.scores[row] {
			n := float64(s.queries)
			fmt.Fprintf(w, " %.3f | %.0f %% | %.0f %% |", s.reciprocals/n, 100*float64(s.first)/n, 100*float64(s.five)/n)
		}
	}
	fmt.Fprint(w, costs, "\n\n")
	for i, s := range t.scores[inAll] {
		if s.named > 0 {
			fmt.Fprintf(w, "%s names the section that answers in %d of %d queries that have one.\n\n", t.engines[i], s.named, s.sections)
		}
	}
}
