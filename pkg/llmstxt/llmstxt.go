// Package llmstxt reads /llms.txt, in which a site lists the pages that it recommends to language
// models (llmstxt.org, as of 2026; formats §8.22): Markdown that begins with a heading of level 1,
// and lists of links under headings of level 2. It neither allows nor forbids anything: it is one
// more way to find pages. The package does not use the network. All functions may be called
// concurrently.
package llmstxt

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// The limits of a file. What exceeds them is left out, and File.Truncated is set.
const (
	MaxBytes = 1 << 20
	MaxLinks = 5000
	MaxLink  = 2048 // bytes of an address; a longer one is left out
)

// ErrNoTitle means that a file does not begin with a heading of level 1, the only required part.
// Most likely it is an HTML page for "not found".
var ErrNoTitle = errors.New("it does not begin with a heading such as # NAME")

// File is a parsed file.
type File struct {
	Title string // at most 200 bytes
	// Links are the links at the beginning of list items, in all sections, also in "Optional",
	// which readers with little space may leave out but crawlers need not. They are as written:
	// relative to the file.
	Links     []string
	Truncated bool
}

// Parse reads a file. The error is ErrNoTitle.
func Parse(body []byte) (f File, err error) {
	if len(body) > MaxBytes {
		body, f.Truncated = body[:MaxBytes], true
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	fence := "" // the fence of the open code block
	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if f.Title == "" {
			if f.Title = title(line); f.Title == "" {
				return File{}, ErrNoTitle
			}
			continue
		}
		if mark := fenceOf(line); fence != "" {
			if strings.HasPrefix(mark, fence) && len(mark) == len(line) {
				fence = ""
			}
			continue
		} else if fence = mark; fence != "" {
			continue
		}
		u := itemLink(line)
		switch {
		case u == "":
		case len(f.Links) == MaxLinks:
			f.Truncated = true
			return f, nil
		default:
			f.Links = append(f.Links, u)
		}
	}
	if f.Title == "" {
		return File{}, ErrNoTitle
	}
	return f, nil
}

// fenceOf returns the characters of a fence at the beginning of a line, or "".
func fenceOf(line []byte) string {
	if line[0] != '`' && line[0] != '~' {
		return ""
	}
	n := 0
	for n < len(line) && line[n] == line[0] {
		n++
	}
	if n < 3 {
		return ""
	}
	return string(line[:n])
}

// title returns the text of a heading of level 1, or "".
func title(line []byte) string {
	if len(line) < 3 || line[0] != '#' || line[1] != ' ' && line[1] != '\t' {
		return ""
	}
	t := bytes.ToValidUTF8(bytes.TrimSpace(line[1:]), []byte("\uFFFD"))
	n := min(len(t), 200)
	for n < len(t) && !utf8.RuneStart(t[n]) {
		n--
	}
	return string(t[:n])
}

// itemLink returns the address of the link at the beginning of a list item, or "".
func itemLink(line []byte) string {
	if len(line) < 2 || line[0] != '-' && line[0] != '*' && line[0] != '+' || line[1] != ' ' && line[1] != '\t' {
		return ""
	}
	line = bytes.TrimLeft(line[1:], " \t*_")
	if len(line) == 0 || line[0] != '[' {
		return ""
	}
	end := nameEnd(line)
	if end < 0 || end+1 >= len(line) || line[end+1] != '(' {
		return ""
	}
	u := address(line[end+2:])
	if len(u) == 0 || len(u) > MaxLink {
		return ""
	}
	return string(u)
}

// nameEnd returns the end of the bracket with which a text begins, or -1.
func nameEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// address returns the text between the parentheses of a link, without a title. It returns nil if
// they are not closed.
func address(b []byte) []byte {
	b = bytes.TrimLeft(b, " \t")
	if len(b) > 0 && b[0] == '<' {
		end := bytes.IndexByte(b, '>')
		if end < 0 || bytes.IndexByte(b[end:], ')') < 0 {
			return nil
		}
		return b[1:end]
	}
	depth, blank := 0, -1
	for i, c := range b {
		switch c {
		case ' ', '\t':
			if blank < 0 {
				blank = i
			}
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				if blank >= 0 {
					i = blank
				}
				return b[:i]
			}
		}
	}
	return nil
}
