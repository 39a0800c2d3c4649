package e2e

import (
	"fmt"
	"testing"
)

// The table of protocols §2.4 and the cases around it, with real fetching, storing and search: who is a mirror of whom, what is
// stored, and that nobody is asked for a page who is closed or collapsed.

const m0 = "main.sim.test"

// glued are the pages of a main host, each with the same page of others as its alias.
func (m *mirrors) glued(main string, aliases ...string) (lines []string) {
	all := make([][]string, len(aliases))
	for i, a := range aliases {
		all[i] = m.web.PageURLs(a)
	}
	for p, u := range m.web.PageURLs(main) {
		for i := range aliases {
			u += " " + all[i][p]
		}
		lines = append(lines, u)
	}
	return lines
}

func TestMirrorsThreeWay(t *testing.T) {
	for _, same := range []bool{true, false} {
		t.Run(fmt.Sprintf("same shard %v", same), func(t *testing.T) {
			t.Parallel()
			a, b := apart("a", m0, 4, same), apart("b", m0, 4, same)
			text := hostLine(m0)
			m := newMirrors(t, 4, main(m0, text), copyOf(m0, a, text), copyOf(m0, b, text))
			m.crawl(append(m.pages(a, b), home(m0)...)...)
			m.want([]string{
				"http://" + m0 + " main http://" + m0,
				"http://" + a + " mirror http://" + m0 + " robots.txt",
				"http://" + b + " mirror http://" + m0 + " robots.txt",
			}, m.glued(m0))
			m.quiet(a, b)
			m.explained("refused mirror", m.pages(a, b)...)
			m.explained("stored", m.pages(m0)...)
		})
	}
}
