// Package spreadsheet writes tables that spreadsheets can open without taking a word of a site for
// a formula.
package spreadsheet

import (
	"encoding/csv"
	"io"
	"strings"
	"unicode/utf16"
)

// maxCell is the most that a spreadsheet takes into one cell, in UTF-16 code units: what is over it
// would begin another row, which nobody has looked at.
const maxCell = 32767

// Cell makes a text from a site harmless to a spreadsheet. No part of it that could come to stand
// at the beginning of a cell is a formula: an apostrophe stands before each = + - @ (or the wide
// form of one) that is first in the text, in a line, or after what separates cells somewhere in the
// world, blanks and quotes between them aside: a spreadsheet that expects ";" between cells cuts a
// table at those, whatever is quoted. One stands before a tab or the end of a line that is first,
// too. NUL, which ends a text for some, is left out, and what is over 32,767 characters.
func Cell(s string) string {
	var b strings.Builder
	done, first := 0, true // done: of s, in b; first: a cell could begin here
	if s != "" && strings.ContainsRune("\t\r\n", rune(s[0])) {
		b.WriteByte('\'') // some take these off, and look at what is left
	}
	for i, r := range s {
		switch r {
		case '=', '+', '-', '@', '＝', '＋', '－', '＠':
			if first {
				b.WriteString(s[done:i] + "'")
				done, first = i, false
			}
		case 0:
			b.WriteString(s[done:i])
			done = i + 1
		case ',', ';', '|', '\t', '\r', '\n', '\v', '\f', '\u0085', '\u2028', '\u2029':
			first = true
		case ' ', '\u00a0', '\u3000', '\ufeff', '"', '\'':
		default:
			first = false
		}
	}
	if b.Len() > 0 || done > 0 {
		b.WriteString(s[done:])
		s = b.String()
	}
	return cutCell(s)
}

// cutCell cuts what is more than fits into a cell.
func cutCell(s string) string {
	if len(s) <= maxCell {
		return s
	}
	units := 0
	for i, r := range s {
		if units += max(1, utf16.RuneLen(r)); units > maxCell {
			return s[:i]
		}
	}
	return s
}

// CSV writes rows as a table: RFC 4180, UTF-8, lines that end with a line feed, and all cells made
// harmless by Cell. Lists are separated by blanks.
type CSV struct {
	w   *csv.Writer
	row []string
}

// NewCSV makes a writer and names the columns.
func NewCSV(w io.Writer, columns ...string) (*CSV, error) {
	c := &CSV{w: csv.NewWriter(w)}
	return c, c.Write(columns...)
}

// Write adds a row of texts.
func (c *CSV) Write(cells ...string) error {
	c.row = c.row[:0]
	for _, cell := range cells {
		c.row = append(c.row, Cell(cell))
	}
	return c.w.Write(c.row)
}

// Close writes what is left.
func (c *CSV) Close() error {
	c.w.Flush()
	return c.w.Error()
}
