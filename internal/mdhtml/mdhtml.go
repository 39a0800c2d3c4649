// Package mdhtml makes HTML of the Markdown that a site answers with (RFC 7763), so that all that
// reads pages reads it as it reads them: links, headings, text, and directives in HTML that stands
// in it. The HTML is for reading, never for a browser: what is in it is as the site wrote it.
package mdhtml

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	render "github.com/yuin/goldmark/renderer/html"
)

// MediaType is that of Markdown, without parameters.
const MediaType = "text/markdown"

// What is read as Markdown at most, in bytes. What is behind comes as plain text.
const (
	maxBytes  = 1 << 20
	maxMatter = 16 << 10 // front matter
	// The library compares each sign of emphasis or of a link with those before it in the same
	// block, and each level of quotation with all below it: more than this is made to hurt, and the
	// page is read as plain text.
	maxSigns  = 1000
	maxQuoted = 16
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(render.WithUnsafe()))

// HTML returns the HTML of Markdown in UTF-8. The title that front matter names becomes its
// <title>. Anything may be passed. It may be called concurrently.
func HTML(md []byte) []byte {
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

// tame reports whether Markdown costs the library no more than its length lets expect.
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

// begins reports whether a line begins a block of its own: an item, a row, a heading.
func begins(text []byte) bool {
	switch text[0] {
	case '#', '|':
		return true
	case '-', '+', '*':
		return len(text) > 1 && text[1] == ' '
	}
	return '0' <= text[0] && text[0] <= '9'
}

// frontMatter cuts off the YAML that generators put before a page, and returns the title it names.
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
	return "", md // no end: it is a line across the page
}
