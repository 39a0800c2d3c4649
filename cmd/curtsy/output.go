package main

import (
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/dustin/go-humanize"
)

// table writes rows with their columns aligned. It holds back few rows at a time, so that a long
// list is neither kept in memory nor waited for.
type table struct {
	tw   *tabwriter.Writer
	rows int
}

func newTable(w io.Writer, head ...string) *table {
	t := &table{tw: tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
	t.row(head...)
	return t
}

// row adds a row. What came from a site is made harmless here, for all tables.
func (t *table) row(cells ...string) error {
	for i, c := range cells {
		cells[i] = clean(c)
	}
	if _, err := io.WriteString(t.tw, strings.Join(cells, "\t")+"\n"); err != nil {
		return err
	}
	if t.rows++; t.rows%200 == 0 {
		return t.tw.Flush()
	}
	return nil
}

func (t *table) flush() error { return t.tw.Flush() }

// clean makes text from a site fit to be shown on a terminal: on one line, and without control
// characters, which could move the cursor or worse.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			// Cf: text that reverses what follows it
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// short cuts s after n characters.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

func sizeText(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

func count(n int64, what string) string {
	s := humanize.Comma(n) + " " + what
	if n != 1 {
		s += "s"
	}
	return s
}
