package cli

import "strings"

// Width is the width of help in columns.
const Width = 80

// Wrap breaks text into lines of at most width columns, each of which begins with indent.
func Wrap(text string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case column == 0:
			b.WriteString(indent)
			column = len(indent)
		case column+1+n > width:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// Fill is Wrap for several paragraphs. It copies lines that begin with a blank as they are.
func Fill(text string, width int) string {
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, Wrap(strings.Join(paragraph, " "), width, ""))
			paragraph = nil
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == ' ' {
			flush()
			out = append(out, line)
		} else {
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}
