package webtext

import (
	"encoding/csv"
	"io"
	"strings"
	"unicode/utf16"
)

// maxCell is how much text a spreadsheet accepts in one cell, in UTF-16 code units. Text beyond
// this would begin another row, which Cell has not checked.
const maxCell = 32767

// Cell makes text from a site harmless to a spreadsheet. It puts an apostrophe before each
// character = + - @, or its full-width form, that could come to stand at the beginning of a cell.
// This is the first character of the text, of a line, and after each character that separates cells
// in some country; spaces and quotes before it do not matter. (A spreadsheet that expects ";"
// between cells splits a table there, regardless of quotes.) Cell also puts an apostrophe before a
// tab or an end of line at the beginning of the text. NUL, which ends a text for some programs, is
// removed, and so are characters beyond the limit of 32,767.
func Cell(s string) string {
	var b strings.Builder
	done, first := 0, true // done: how much of s is in b; first: a cell could begin here
	if s != "" && strings.ContainsRune("\t\r\n", rune(s[0])) {
		b.WriteByte('\'') // some programs remove these characters and interpret the rest
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

// cutCell cuts the part that does not fit into a cell.
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

// CSV writes rows as a table: RFC 4180, UTF-8, with lines that end with a line feed. Cell makes
// each cell harmless. Lists are separated by spaces.
type CSV struct {
	w   *csv.Writer
	row []string
}

// NewCSV makes a writer and writes the names of the columns.
func NewCSV(w io.Writer, columns ...string) (*CSV, error) {
	c := &CSV{w: csv.NewWriter(w)}
	return c, c.Write(columns...)
}

// Write adds a row.
func (c *CSV) Write(cells ...string) error {
	c.row = c.row[:0]
	for _, cell := range cells {
		c.row = append(c.row, Cell(cell))
	}
	return c.w.Write(c.row)
}

// Close writes the remaining output.
func (c *CSV) Close() error {
	c.w.Flush()
	return c.w.Error()
}
