package mirror

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// The table of formats §2.4, and the steps of its procedure.
func TestMirrorSituations(t *testing.T) {
	page := map[string]string{"/": "root", "/1": "one", "/2": "two"}
	for _, c := range []struct {
		name  string
		sites map[string]*site
		want  map[string]string
		asked map[string]int // page requests
	}{
		{"A: Host B; B: Host B; same file", map[string]*site{
			"a.example": {robots: hostLine("b.example")},
			"b.example": {robots: "User-agent: *\r\nHost: b.example"},
		}, map[string]string{"a.example": "mirror of b.example by robots.txt", "b.example": "main"}, nil},
		{"A: Host B; B: no Host; equal pages, A's stored before", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
			"b.example": {robots: "User-agent: *\nDisallow: /2\n", pages: page},
		}, map[string]string{"a.example": "mirror of b.example by pages 2/2"}, map[string]int{"http://b.example": 2}},
		{"A: Host B; B: 404; equal pages, opened by a longer Allow", map[string]*site{
			"a.example": {robots: "User-agent: *\nAllow: /1\nHost: b.example\n", pages: page},
			"b.example": {robots: "404", pages: page},
		}, map[string]string{"a.example": "mirror of b.example by pages 1/1"}, map[string]int{"http://a.example": 1, "http://b.example": 1}},
		{"A: Host B; B: no Host; other pages", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
			"b.example": {robots: "404", pages: map[string]string{"/": "another root", "/1": "one"}},
		}, map[string]string{"a.example": "unconfirmed: content-differs"}, nil},
		{"A: Host B; B: no Host; four of five pages are the same", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: map[string]string{"/": "a", "/1": "b", "/2": "c", "/3": "d", "/4": "e"}},
			"b.example": {robots: "404", stored: map[string]string{"/": "a", "/1": "b", "/2": "c", "/3": "d", "/4": "E"}, pages: map[string]string{"/4": "E"}},
		}, map[string]string{"a.example": "mirror of b.example by pages 4/5"}, nil},
		{"A: Host B; B: no Host; three of four", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: map[string]string{"/": "a", "/1": "b", "/2": "c", "/4": "e"}},
			"b.example": {robots: "404", stored: map[string]string{"/": "a", "/1": "b", "/2": "c"}},
		}, map[string]string{"a.example": "unconfirmed: content-differs"}, nil},
		{"A: Host B; B: no Host; the pages say nearly the same", map[string]*site{
			"a.example": {robots: "User-agent: *\nAllow: /1\nHost: b.example\n", stored: map[string]string{"/1": "old"}, pages: map[string]string{"/1": prose("w", 400) + " at noon"}},
			"b.example": {robots: "404", pages: map[string]string{"/1": prose("w", 400) + " at night"}},
		}, map[string]string{"a.example": "mirror of b.example by pages 1/1"}, nil},
		{"A: Host B; B does not exist", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
		}, map[string]string{"a.example": "unconfirmed: target-unreachable"}, nil},
		{"A: Host B; B: Host A", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
			"b.example": {robots: hostLine("a.example"), stored: page},
		}, map[string]string{"a.example": "unconfirmed: cycle", "b.example": "unconfirmed: cycle"}, nil},
		{"A: Host B; B and C name each other", map[string]*site{
			"a.example": {robots: hostLine("b.example")}, "b.example": {robots: hostLine("c.example")}, "c.example": {robots: hostLine("b.example")},
		}, map[string]string{"a.example": "unconfirmed: cycle", "b.example": "unconfirmed: cycle", "c.example": "unconfirmed: cycle"}, nil},
		{"A: Host B; B: Host C; C: Host C, same files", map[string]*site{
			"a.example": {robots: "User-agent: *\nHost: c.example\n"}, // names C at once
			"b.example": {robots: hostLine("c.example")},
			"c.example": {robots: hostLine("c.example")},
		}, map[string]string{"a.example": "mirror of c.example by robots.txt", "b.example": "mirror of c.example by robots.txt", "c.example": "main"}, nil},
		{"A: Host B; B: Host C; C: Host C, same pages", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
			"b.example": {robots: hostLine("c.example"), stored: page},
			"c.example": {robots: "User-agent: *\nHost: c.example\nDisallow: /x\n", pages: page},
		}, map[string]string{"a.example": "mirror of c.example by pages 3/3", "b.example": "mirror of c.example by pages 3/3", "c.example": "main"}, nil},
		{"a chain whose middle is something else: evidence is between the ends", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
			"b.example": {robots: hostLine("c.example"), stored: map[string]string{"/": "other"}},
			"c.example": {robots: "404", pages: page},
		}, map[string]string{"a.example": "mirror of c.example by pages 3/3", "b.example": "unconfirmed: content-differs"}, nil},
		{"five hops", map[string]*site{
			"a.example": {robots: hostLine("1.example"), stored: page}, "1.example": {robots: hostLine("2.example")}, "2.example": {robots: hostLine("3.example")},
			"3.example": {robots: hostLine("4.example")}, "4.example": {robots: hostLine("5.example")}, "5.example": {robots: "404", pages: page},
		}, map[string]string{"a.example": "mirror of 5.example by pages 3/3"}, nil},
		{"six hops", map[string]*site{
			"a.example": {robots: hostLine("0.example"), stored: page}, "0.example": {robots: hostLine("1.example")},
			"1.example": {robots: hostLine("2.example"), stored: page}, "2.example": {robots: hostLine("3.example")},
			"3.example": {robots: hostLine("4.example")}, "4.example": {robots: hostLine("5.example")}, "5.example": {robots: "404", pages: page},
		}, map[string]string{"a.example": "unconfirmed: chain", "1.example": "mirror of 5.example by pages 3/3"}, nil},
		{"A: Host A and Host B", map[string]*site{
			"a.example": {robots: "User-agent: *\nHost: b.example\nHost: a.example\n", stored: page}, "b.example": {robots: "404", pages: page},
		}, map[string]string{"a.example": "main"}, nil},
		{"Host only for another agent", map[string]*site{
			"a.example": {robots: "User-agent: other\nHost: b.example\n\nUser-agent: *\nDisallow: /2\n", stored: page, pages: page},
			"b.example": {robots: "404", pages: page},
		}, map[string]string{"a.example": "mirror of b.example by pages 3/3"}, nil},
		{"http://h: Host: https://h", map[string]*site{
			"http://a.example":  {robots: hostLine("https://a.example")},
			"https://a.example": {robots: hostLine("https://a.example")},
		}, map[string]string{"http://a.example": "mirror of a.example by robots.txt", "https://a.example": "main"}, nil},
		{"no page known and the files differ", map[string]*site{
			"a.example": {robots: hostLine("b.example")}, "b.example": {robots: hostLine("b.example") + "Disallow: /x\n"},
		}, map[string]string{"a.example": "unconfirmed: no-evidence"}, nil},
		{"M's rules forbid the first pages known: others are compared", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: numbered(8)},
			"b.example": {robots: "User-agent: *\nDisallow: /$\nDisallow: /1\nDisallow: /2\nDisallow: /3\nDisallow: /4\nDisallow: /6\n", pages: numbered(8)},
		}, map[string]string{"a.example": "mirror of b.example by pages 3/3"}, map[string]int{"http://b.example": 3}},
		{"and no end of forbidden pages is tried", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: numbered(60)},
			"b.example": {robots: "User-agent: *\nDisallow: /\nAllow: /9\n", pages: numbered(60)},
		}, map[string]string{"a.example": "unconfirmed: no-evidence"}, map[string]int{}},
		{"M's rules forbid every page", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page}, "b.example": {robots: "User-agent: *\nDisallow: /\n", pages: page},
		}, map[string]string{"a.example": "unconfirmed: no-evidence"}, nil},
		{"the main host is out of scope: nobody is asked", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page}, "b.example": {robots: hostLine("b.example"), pages: page, outside: true},
		}, map[string]string{"a.example": "unconfirmed: out-of-scope"}, map[string]int{}},
		{"a thief copies the whole site, its robots.txt too: only the thief is gone", map[string]*site{
			"thief.example": {robots: hostLine("m.example"), stored: page}, "m.example": {robots: hostLine("m.example"), stored: page},
		}, map[string]string{"thief.example": "mirror of m.example by robots.txt", "m.example": "main"}, nil},
		{"a thief copies the pages and names itself", map[string]*site{
			"thief.example": {robots: hostLine("thief.example"), stored: page}, "m.example": {robots: "404", stored: page},
		}, map[string]string{"thief.example": "main", "m.example": "main"}, nil},
		{"a liar names a site it has nothing of", map[string]*site{
			"liar.example": {robots: hostLine("m.example"), stored: map[string]string{"/": "buy"}}, "m.example": {robots: hostLine("m.example") + "# m\n", pages: page},
		}, map[string]string{"liar.example": "unconfirmed: content-differs", "m.example": "main"}, map[string]int{"http://m.example": 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.sites)
			var names []string
			for name := range c.sites {
				names = append(names, name)
			}
			slices.Sort(names)
			w.read(names...)
			w.run()
			for name, want := range c.want {
				w.want(name, want)
			}
			for _, name := range names { // Formats §2.5: nobody is anything but by its own word
				if m := w.db[originOf(name)]; m.Mirrored() && m.Claim != crawl.ClaimTarget {
					t.Errorf("%s is a mirror and never claimed it", name)
				}
			}
			if c.asked != nil && fmt.Sprint(w.requests) != fmt.Sprint(c.asked) {
				t.Errorf("page requests %v, want %v", w.requests, c.asked)
			}
			// The same again with each refresh changes nothing, and requests no page again.
			was := fmt.Sprint(w.requests)
			w.later(5 * 24 * time.Hour)
			for name, want := range c.want {
				w.want(name, want)
			}
			if got := fmt.Sprint(w.requests); got != was {
				t.Errorf("page requests %s after five days of refreshes, %s before", got, was)
			}
		})
	}
}
