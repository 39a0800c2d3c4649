// Package term prints for people, in a terminal or elsewhere: tables, text from sites made
// harmless, a line that shows progress, and the log of services as sentences.
package term

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
)

// Table writes rows with aligned columns. It buffers only a few rows, so that a long list is
// neither kept in memory nor delayed.
type Table struct {
	tw   *tabwriter.Writer
	out  *bufio.Writer // tabwriter writes each cell separately
	rows int
}

// NewTable makes a table on w with a row of headings.
func NewTable(w io.Writer, head ...string) *Table {
	out := bufio.NewWriterSize(w, 32<<10)
	t := &Table{tw: tabwriter.NewWriter(out, 0, 8, 2, ' ', 0), out: out}
	t.Row(head...)
	return t
}

// Row adds a row. All text from sites in tables is made harmless here.
func (t *Table) Row(cells ...string) error {
	for i, c := range cells {
		cells[i] = Clean(c)
	}
	if _, err := io.WriteString(t.tw, strings.Join(cells, "\t")+"\n"); err != nil {
		return err
	}
	if t.rows++; t.rows%200 == 0 {
		return t.Flush()
	}
	return nil
}

// Flush writes the rows that are buffered.
func (t *Table) Flush() error { return errors.Join(t.tw.Flush(), t.out.Flush()) }

// Clean makes text from a site fit for a terminal: one line, without control characters, which
// could move the cursor or worse.
func Clean(s string) string { return strings.TrimSpace(strings.Map(harmless, s)) }

// harmless is what is shown for a character; -1: nothing.
func harmless(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
		// Cf: text that reverses what follows it
		return -1
	}
	return r
}

// CleanMarked is clean with on and off around the marked parts: [from, to) in bytes of s. Marks
// outside of s, or of characters that are not shown, are ignored.
func CleanMarked(s string, marks [][2]int, on, off string) string {
	var b strings.Builder
	blanks, gap, marked := "", false, false // gap: a blank that is not marked
	turn := func(to bool) {
		if to != marked {
			b.WriteString(map[bool]string{true: on, false: off}[to])
			marked = to
		}
	}
	for i, r := range s {
		within := slices.ContainsFunc(marks, func(m [2]int) bool { return m[0] <= i && i < m[1] })
		switch r = harmless(r); {
		case r == -1:
		case r == ' ':
			if b.Len() > 0 {
				blanks += " " // written when something follows
				gap = gap || !within
			}
		default:
			if gap || !within {
				turn(false)
			}
			b.WriteString(blanks)
			blanks, gap = "", false
			turn(within)
			b.WriteRune(r)
		}
	}
	turn(false)
	return b.String()
}

// Short cuts s after n characters.
func Short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// SizeText is a number of bytes with its unit.
func SizeText(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// Count is a number of things: "1 page", "1,204 pages".
func Count(n int64, what string) string {
	s := humanize.Comma(n) + " " + what
	if n != 1 {
		s += "s"
	}
	return s
}

// YesNo is "yes" or "no".
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Seconds is the duration of a request or a pause, to the millisecond.
func Seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + "s" }

// Clock is when something is due, in as few words as possible.
func Clock(t, now time.Time) string {
	switch d := t.Sub(now); {
	case d <= time.Second:
		return "now"
	case d < 18*time.Hour:
		return "at " + t.Local().Format(time.TimeOnly)
	}
	return "on " + t.Local().Format(time.DateTime)
}
