package testaid

import (
	"fmt"
	"regexp"
	"strings"
)

// OutputDiff returns in which line the output got of a program differs from want, or "" if it does
// not. In want, [..] stands for any text within a line, and a line ... for any number of lines. All
// other text must be equal.
func OutputDiff(want, got string) string {
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

// ended adds an end to the last line of a text that has none.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
