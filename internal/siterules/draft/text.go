package draft

import (
	"fmt"
	"strconv"
	"strings"
)

// Text is the file.
func (d *Draft) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Site rules for curtsy crawl --sites, from %s.", count(d.Pages, "sampled page"))
	if d.Generator != "" {
		line("# The pages name the program that made them: %s", clean(d.Generator, 80))
	}
	line("# Check them with: curtsy sites test sites.yaml URL…")
	line("sites:")
	line("  %s:", key(d.Entry))
	line("    # include: [\"/docs/**\"]      # only these pages")
	line("    # exclude: [\"/print/**\"]     # not these")
	if len(d.Fields) == 0 {
		line("    # No field was found. For example:")
		line("    # fields:")
		line("    #   version: {path: '/v?(\\d+(?:\\.\\d+)*)/'}")
	} else {
		line("    fields:")
	}
	for _, f := range d.Fields {
		same := ""
		if f.Values == 1 && f.Pages > 1 {
			same = ", always the same"
		}
		line("      # on %d of %s%s, for example %s", f.Pages, count(d.Pages, "page"), same, strconv.Quote(clean(f.Example, 60)))
		line("      %s: {%s}", f.Name, f.Source)
	}
	if d.Main != "" || len(d.Drop) > 0 || d.Title {
		line("    content:")
	}
	if d.Main != "" {
		line("      main: [%s]", strconv.Quote(d.Main))
	}
	if len(d.Drop) > 0 {
		line("      drop:")
		for _, s := range d.Drop {
			line("        - %s", strconv.Quote(s))
		}
	}
	if d.Title {
		line("      title: {css: h1}")
	}
	line("    # skip:")
	line("    #   - {css: \"body.error404\"}")
	line("    #   - {css: title, matches: \"^(Page not found|Moved)\"}")
	return b.String()
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// key writes the name of an entry as YAML needs it.
func key(s string) string {
	if strings.ContainsAny(s, ":#*[]{}&!|>'\"%@`,") {
		return strconv.Quote(s)
	}
	return s
}

// clean shortens a text of a page for a comment.
func clean(s string, n int) string {
	r := []rune(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == 0x85 || c == 0x2028 || c == 0x2029 {
			return ' '
		}
		return c
	}, s))
	if len(r) > n {
		return string(r[:n]) + "…"
	}
	return string(r)
}
