package pagetext

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"
)

// Chunk is a piece of a page's Markdown.
type Chunk struct {
	Headings []string // the headings above its beginning, outermost first; nil if there are none
	Text     []byte   // Markdown
}

// The limits of a chunk's size, in characters.
const (
	MinChunk     = 200
	DefaultChunk = 2000
	MaxChunk     = 100_000
)

// Chunks cuts Markdown into chunks of at most size characters (but never fewer than MinChunk). In
// order they contain all of the Markdown, except blank lines between them. A chunk begins at a
// heading if possible, otherwise between paragraphs, items or lines. A line is cut only if it is
// longer than a chunk. Code that is longer than a chunk is fenced in each of its parts.
func Chunks(md []byte, size int) iter.Seq[Chunk] {
	c := chunker{size: max(size, MinChunk), bare: -1}
	return func(yield func(Chunk) bool) {
		c.yield = yield
		c.run(md)
	}
}

type chunker struct {
	size  int
	yield func(Chunk) bool
	done  bool

	path  [6]string // the headings above the current line
	at    []string  // the headings above the beginning of text
	level int       // of the heading that text begins with, 0 if it begins with none
	text  []byte
	chars int
	// Headings at the end of text that have no text under them yet: where in text they begin (-1:
	// there are none), the level of the first, and the headings above it.
	bare      int
	bareLevel int
	barePath  []string
}

// run reads the blocks of md: what is between blank lines, and code as a whole.
func (c *chunker) run(md []byte) {
	var block []byte
	fence := ""
	for line := range bytes.Lines(md) {
		bare := bytes.TrimRight(line, "\r\n")
		switch mark := fenceOf(bare); {
		case fence != "":
			block = append(block, line...)
			if strings.HasPrefix(mark, fence) && len(bytes.TrimSpace(bare)) == len(mark) {
				c.code(block, fence)
				block, fence = block[:0], ""
			}
		case mark != "":
			c.block(block)
			block, fence = append(block[:0], line...), mark
		case len(bytes.TrimSpace(bare)) == 0:
			c.block(block)
			block = block[:0]
		default:
			block = append(block, line...)
		}
		if c.done {
			return
		}
	}
	if fence != "" {
		c.code(block, fence)
	} else {
		c.block(block)
	}
	c.flush()
}

// fenceOf returns the fence at the beginning of a line, "" if there is none.
func fenceOf(line []byte) string {
	s := bytes.TrimLeft(line, " ")
	if len(s) < 3 || s[0] != '`' && s[0] != '~' {
		return ""
	}
	n := 0
	for n < len(s) && s[n] == s[0] {
		n++
	}
	if n < 3 || s[0] == '`' && bytes.IndexByte(s[n:], '`') >= 0 {
		return ""
	}
	return string(s[:n])
}

// block appends a block that is not code.
func (c *chunker) block(b []byte) {
	b = bytes.TrimRight(b, "\r\n")
	if len(b) == 0 || c.done {
		return
	}
	if level, title := headingOf(b); level > 0 {
		// A chapter begins a new chunk. A heading within the chapter with which the chunk began
		// stays in the chunk while that is less than half full.
		if c.level == 0 || level <= c.level || 2*c.chars > c.size {
			c.flush()
		}
		c.path[level-1] = title
		clear(c.path[level:])
		if len(c.text) == 0 {
			c.level = level
		}
		bare, was, path := c.bare, c.bareLevel, c.barePath
		if c.add(b); len(b) > len(c.text) { // it was cut, because it has hundreds of characters
			return
		}
		if c.bare, c.bareLevel, c.barePath = bare, was, path; bare < 0 || bare > len(c.text)-len(b) {
			c.bare, c.bareLevel, c.barePath = len(c.text)-len(b), level, c.open()
		}
		return
	}
	c.add(b)
}

// open returns the headings above the current line.
func (c *chunker) open() (path []string) {
	for _, title := range c.path {
		if title != "" {
			path = append(path, title)
		}
	}
	return path
}

// headingOf reads a heading as the converter writes it. level is 0 if the block is no heading.
func headingOf(b []byte) (level int, title string) {
	for level < len(b) && level < 6 && b[level] == '#' {
		level++
	}
	if level == 0 || level == len(b) || b[level] != ' ' || bytes.IndexByte(b, '\n') >= 0 {
		return 0, ""
	}
	return level, string(bytes.TrimSpace(b[level:]))
}

// add appends a block. It cuts the block into parts if it does not fit into a chunk.
func (c *chunker) add(b []byte) {
	n := utf8.RuneCount(b)
	if c.chars+n+2 > c.size {
		c.passOn()
	}
	for c.chars+n+2 > c.size && !c.done {
		room := c.size - c.chars - 2
		part := cutAt(b, max(room, MinChunk/2))
		c.put(part)
		c.flush()
		rest := bytes.TrimLeft(b[len(part):], " \n")
		n -= utf8.RuneCount(b[:len(b)-len(rest)])
		b = rest
	}
	if len(b) > 0 {
		c.put(b)
	}
}

// passOn ends the chunk. Headings at its end move to the next chunk, with the text that they are
// about.
func (c *chunker) passOn() {
	at := c.bare
	if at < 0 {
		c.flush()
		return
	}
	heads, level, path := c.text[at:], c.bareLevel, c.barePath
	if c.text = bytes.TrimRight(c.text[:at], "\n"); len(c.text) > 0 {
		c.flush()
	}
	c.text, c.chars, c.level, c.at = bytes.Clone(heads), utf8.RuneCount(heads), level, path
	if 2*c.chars > c.size {
		c.flush()
	}
}

// put appends text that fits.
func (c *chunker) put(b []byte) {
	if len(c.text) == 0 {
		c.at = c.open()
	} else {
		c.text, c.chars = append(c.text, "\n\n"...), c.chars+2
	}
	c.text, c.chars, c.bare = append(c.text, b...), c.chars+utf8.RuneCount(b), -1
}

// flush ends the chunk.
func (c *chunker) flush() {
	if len(c.text) > 0 && !c.done {
		c.done = !c.yield(Chunk{Headings: c.at, Text: c.text})
	}
	c.text, c.chars, c.level, c.bare = nil, 0, 0, -1
}

// code appends a block of code with its fences.
func (c *chunker) code(b []byte, fence string) {
	b = bytes.TrimRight(b, "\r\n")
	if c.done || utf8.RuneCount(b)+2 <= c.size {
		c.add(b)
		return
	}
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	rest, _ = bytes.CutSuffix(rest, []byte("\n"+fence))
	first = first[:min(len(first), MinChunk/4)]
	room := c.size - utf8.RuneCount(first) - len(fence) - 4
	if len(fence) > MinChunk/4 {
		c.add(b) // such a long fence would fill each part
		return
	}
	for len(rest) > 0 && !c.done {
		part := cutAt(rest, room)
		rest = bytes.TrimPrefix(rest[len(part):], []byte("\n"))
		whole := append(append([]byte(nil), first...), '\n')
		whole = append(append(append(whole, part...), '\n'), fence...)
		c.add(whole)
	}
}

// cutAt returns the beginning of a text, at most n characters. It ends after a line, otherwise
// after a word, if one ends in the second half.
func cutAt(b []byte, n int) []byte {
	end := 0
	for range n {
		if end == len(b) {
			return b
		}
		_, size := utf8.DecodeRune(b[end:])
		end += size
	}
	if end == len(b) {
		return b
	}
	for _, sep := range []string{"\n", " "} {
		if i := bytes.LastIndex(b[:end], []byte(sep)); i > end/2 {
			return b[:i]
		}
	}
	return b[:end]
}
