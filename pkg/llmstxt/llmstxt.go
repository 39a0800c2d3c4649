// Package llmstxt reads /llms.txt, with which a site names the pages that it thinks best for
// language models (llmstxt.org, as of 2026; formats §8.22): Markdown that begins with a heading
// of level 1, and lists of links under headings of level 2. It gives no permission and takes none:
// it is one more way to find pages. Nothing here asks the network; all functions may be called
// concurrently.
package llmstxt

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// What is read of a file at most. What is beyond is left out, and File.Truncated says so.
const (
	MaxBytes = 1 << 20
	MaxLinks = 5000
	MaxLink  = 2048 // bytes of an address; a longer one is left out
)

// ErrNoTitle says that a file does not begin with a heading of level 1, which is all that one must
// have: most likely it is a page that says in HTML that there is none.
var ErrNoTitle = errors.New("it does not begin with a heading such as # NAME")

// File is what a file says.
type File struct {
	Title string // at most 200 bytes
	// Links are those that begin items of lists, in any section: also of "Optional", which asks
	// readers short of room to leave it out, not crawlers. As written: relative to the file.
	Links     []string
	Truncated bool
}

// Parse reads a file. The error is ErrNoTitle.
func Parse(body []byte) (f File, err error) {
	if len(body) > MaxBytes {
		body, f.Truncated = body[:MaxBytes], true
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	fence := "" // of the code that is open
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

// fenceOf returns the signs of a fence that a line begins with; "" if none.
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

// title is the text of a heading of level 1; "" for all else.
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

// itemLink is the address of the link that an item of a list begins with; "" if there is none.
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

// nameEnd is where the bracket ends that a text begins with, -1 if it does not.
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

// address is what stands between the parentheses of a link, without a title behind it; nil if they
// do not close.
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
