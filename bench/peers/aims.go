package main

import (
	"fmt"
	"io"
	"strings"
)

// What -aims measures. The aims for memory are for this number of pages.
const (
	aimHosts = 100
	aimPages = 30_000
)

var aimRows = []string{"lean", "wget2", "stored", "searchable", "warc", "colly", "daemons-1"}

// aim is an upper limit for what a row needs.
type aim struct {
	row  string
	than string // compared with the CPU of this row; "": peak RSS
	most float64
	// each: the limit holds in every round, and not only for the medians
	each bool
}

var aims = []aim{
	{row: "stored", than: "lean", most: 1.5},
	{row: "stored", than: "wget2", most: 1, each: true},
	{row: "searchable", than: "lean", most: 3},
	{row: "warc", than: "stored", most: 1.15},
	{row: "stored", than: "colly", most: 0.2},
	{row: "daemons-1", than: "stored", most: 1.25},
	{row: "stored", most: 110},
	{row: "searchable", most: 160},
}

// peak is in MB, as the aims are.
func peak(r result) float64 { return float64(r.Peak) / 1e6 }

// printAims prints for each aim whose rows were measured whether it is reached.
func (r *report) printAims(w io.Writer) {
	var lines []string
	for _, a := range aims {
		if line := r.verdict(a); line != "" {
			lines = append(lines, "- "+line)
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(w, "\nThe aims:\n\n%s\n", strings.Join(lines, "\n"))
	}
}

// verdict returns a line about an aim, or "" if what it needs was not measured.
func (r *report) verdict(a aim) string {
	row := r.row(a.row)
	if row == nil || len(row.good()) == 0 {
		return ""
	}
	if a.than == "" {
		if r.Hosts*r.Pages != aimPages {
			return ""
		}
		is := row.median(peak)
		return fmt.Sprintf("%s: peak RSS of %s at %d pages is %.0f MB, at most %.0f wanted (anonymous: %.0f)", word(is <= a.most), a.row, aimPages, is, a.most,
			row.median(func(o result) float64 { return float64(o.Memory.Anonymous) / 1e6 }))
	}
	than := r.row(a.than)
	if than == nil || len(than.good()) == 0 {
		return ""
	}
	is := row.median(cpu) / than.median(cpu)
	if !a.each {
		return fmt.Sprintf("%s: %s ÷ %s is %.3f, at most %.2f wanted", word(is <= a.most), a.row, a.than, is, a.most)
	}
	worst := 0.0
	for i := range min(len(row.Rounds), len(than.Rounds)) {
		if one, other := row.Rounds[i], than.Rounds[i]; one.Error == "" && other.Error == "" {
			worst = max(worst, one.CPU/other.CPU)
		}
	}
	if worst == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s ÷ %s is %.3f in the worst round, less than %.2f wanted in every round", word(worst < a.most), a.row, a.than, worst, a.most)
}

func word(reached bool) string {
	if reached {
		return "reached"
	}
	return "MISSED"
}
