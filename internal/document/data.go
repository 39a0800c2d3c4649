package document

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Tables and JSON: their contents, line by line. A value that is an address becomes a link.

// mark decodes a text that begins with a byte order mark, and removes the mark. The mark takes
// precedence over all other statements about a text's charset (RFC 7303 §3.3).
func mark() transform.Transformer { return unicode.BOMOverride(transform.Nop) }

// marked returns a text as mark decodes it.
func marked(b []byte) []byte {
	if out, _, err := transform.Bytes(mark(), b); err == nil {
		return out
	}
	return b
}

// decoded returns a body in UTF-8.
func decoded(f File) []byte {
	b := marked(f.Body)
	if !bytes.Equal(b, f.Body) {
		return b
	}
	if f.Charset == "" && utf8.Valid(b) {
		return b
	}
	label := f.Charset
	if label == "" {
		label = "windows-1252"
	}
	if e, canonical := charset.Lookup(label); e != nil && canonical != "utf-8" {
		if out, err := e.NewDecoder().Bytes(b); err == nil {
			return out
		}
	}
	return b
}

// value writes a value, as a link if it is an address.
func (w *writer) value(s string) error {
	w.gap()
	address := (strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")) && !strings.ContainsFunc(s, isGap)
	if address {
		w.startLink(s)
	}
	err := w.say(s)
	if address {
		w.endLink()
	}
	return err
}

// readTable reads comma-separated values (RFC 4180), and similar formats: the separator is the most
// frequent one in the first line. An invalid line loses only its own remainder.
func readTable(w *writer, f File) error {
	b := decoded(f)
	r := csv.NewReader(bytes.NewReader(b))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	r.Comma = separator(b, f.Type == TSV)
	for {
		row, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.As(err, new(*csv.ParseError)) {
			return err
		}
		w.begin("p")
		for _, v := range row {
			if err := w.value(strings.TrimSpace(v)); err != nil {
				return err
			}
		}
		w.end()
	}
}

func separator(b []byte, tabs bool) rune {
	if tabs {
		return '\t'
	}
	line, _, _ := bytes.Cut(b[:min(len(b), 64<<10)], []byte("\n"))
	best, most := ',', bytes.Count(line, []byte(","))
	for _, c := range ";\t|" {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

// readJSON writes a line for each value that is a text or a number, with its name. The title is the
// text that the outermost object calls title or name.
func readJSON(w *writer, f File) error {
	d := json.NewDecoder(bytes.NewReader(decoded(f)))
	d.UseNumber()
	var open []bool // one for each open value: true for an object, false for a list
	key := ""       // of the next value; only in objects
	isKey := func() bool { return len(open) > 0 && open[len(open)-1] && key == "" }
	for n := 0; ; n++ {
		t, err := d.Token()
		if err == io.EOF && n > 0 && len(open) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("as JSON: %w", err)
		}
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{', '[':
				if open = append(open, t == '{'); len(open) > maxDepth {
					return fmt.Errorf("%w: objects are nested %d deep", ErrTooMuch, len(open))
				}
			default:
				open = open[:len(open)-1]
			}
			key = ""
			continue
		case string:
			if isKey() {
				if key = t; key == "" {
					key = " "
				}
				continue
			}
			if len(open) == 1 && (strings.EqualFold(key, "title") || strings.EqualFold(key, "name")) {
				w.setTitle(t)
			}
			if err := w.line(key, t); err != nil {
				return err
			}
		case json.Number:
			if err := w.line(key, t.String()); err != nil {
				return err
			}
		}
		key = ""
		if w.full() {
			return errFull
		}
	}
}

func (w *writer) line(key, value string) error {
	w.begin("p")
	if k := strings.TrimSpace(key); k != "" {
		if err := w.say(k + ":"); err != nil {
			return err
		}
	}
	err := w.value(value)
	w.end()
	return err
}
