//go:build !wasip1

package html

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	render "github.com/yuin/goldmark/renderer/html"
)

// The limits of what is read as Markdown, in bytes. Text beyond them is read as plain text.
const (
	maxBytes  = 1 << 20
	maxMatter = 16 << 10 // front matter
	// The library compares each sign of emphasis or of a link with all earlier ones in the same
	// block, and each level of quotation with all below it. A page with more of them is an attack,
	// and is read as plain text.
	maxSigns  = 1000
	maxQuoted = 16
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(render.WithUnsafe()))

// FromMarkdown returns the HTML of Markdown in UTF-8, so that every reader of pages finds its
// links, headings and text, and the directives in HTML within it. The result is for these readers
// and never for a browser, because it contains what the site wrote unchanged. The title in the
// front matter becomes <title>. md may be any bytes. It may be called concurrently.
func FromMarkdown(md []byte) []byte {
	title, md := frontMatter(bytes.TrimPrefix(md, []byte("\ufeff")))
	all := md
	var rest []byte
	if len(md) > maxBytes {
		end := maxBytes
		if i := bytes.LastIndexByte(md[:end], '\n'); i > 0 {
			end = i
		}
		md, rest = md[:end], md[end:]
	}
	var b bytes.Buffer
	b.Grow(len(md) + len(md)/2)
	if title != "" {
		b.WriteString("<title>" + html.EscapeString(title) + "</title>\n")
	}
	if tame(md) {
		_ = markdown.Convert(md, &b) // a bytes.Buffer does not fail
	} else {
		rest = all
	}
	if len(rest) > 0 {
		b.WriteString("<pre>")
		b.WriteString(html.EscapeString(string(rest)))
		b.WriteString("</pre>")
	}
	return b.Bytes()
}

// tame reports whether the library reads this Markdown in time proportional to its length.
func tame(md []byte) bool {
	signs := 0
	for line := range bytes.Lines(md) {
		text := bytes.TrimLeft(line, " \t>")
		if bytes.Count(line[:len(line)-len(text)], []byte(">")) > maxQuoted {
			return false
		}
		if len(bytes.TrimSpace(text)) == 0 || begins(text) {
			signs = 0
		}
		for _, c := range text {
			switch c {
			case '*', '_', '~', '[', '!', '`', '<':
				signs++
			}
		}
		if signs > maxSigns {
			return false
		}
	}
	return true
}

// begins reports whether a line begins a new block: a list item, a row of a table, a heading.
func begins(text []byte) bool {
	switch text[0] {
	case '#', '|':
		return true
	case '-', '+', '*':
		return len(text) > 1 && text[1] == ' '
	}
	return '0' <= text[0] && text[0] <= '9'
}

// frontMatter removes the YAML that generators put before a page, and returns the title in it.
func frontMatter(md []byte) (title string, rest []byte) {
	first, body, ok := bytes.Cut(md, []byte("\n"))
	if !ok || strings.TrimRight(string(first), " \t\r") != "---" {
		return "", md
	}
	at := 0
	for line := range bytes.Lines(body[:min(len(body), maxMatter)]) {
		at += len(line)
		text := strings.TrimRight(string(line), " \t\r\n")
		if text == "---" || text == "..." {
			return title, body[at:]
		}
		if v, ok := strings.CutPrefix(text, "title:"); ok && title == "" {
			title = strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	return "", md // without an end it is a horizontal rule
}
