// Package expected compares what a program printed with what it should print, where times, figures
// and the order of the unimportant may differ.
//
// In the expected text [..] stands for any text within a line, and a line ... for any number of
// lines. All else has to be as it is.
package expected

import (
	"fmt"
	"regexp"
	"strings"
)

// Diff says at which line got is not what want expects; "" when it is.
func Diff(want, got string) string {
	lines := strings.SplitAfter(ended(want), "\n")
	lines = lines[:len(lines)-1]
	got = ended(got)
	if pattern(lines, "").MatchString(got) {
		return ""
	}
	for n := range lines {
		if pattern(lines[:n+1], anyLines).MatchString(got) {
			continue
		}
		return fmt.Sprintf("expected line %d is not there, or not there yet: %sprinted:\n%s", n+1, lines[n], got)
	}
	return "more was printed than the " + fmt.Sprint(len(lines)) + " lines expected:\n" + got
}

// anyLines matches any number of whole lines.
const anyLines = `(?:[^\n]*\n)*`

func pattern(lines []string, rest string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`^`)
	for _, line := range lines {
		if line == "...\n" {
			b.WriteString(anyLines)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\[\.\.\]`, `[^\n]*`))
	}
	return regexp.MustCompile(b.String() + rest + `$`)
}

// ended is text whose last line has an end.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
