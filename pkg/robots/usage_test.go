package robots_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/robots"
)

// usageLines returns the numbers of the lines about use that apply to a URL.
func usageLines(body, token, path string) (lines []int) {
	for _, l := range robots.Parse([]byte(body)).Rules(token, origin).Usage(path) {
		lines = append(lines, l.Line)
	}
	return lines
}

func checkUsage(t *testing.T, body, token, path string, want ...int) {
	t.Helper()
	if got := usageLines(body, token, path); !slices.Equal(got, want) {
		t.Errorf("%s, %s: lines %v speak of use, want %v, in\n%s", token, path, got, want, body)
	}
}

// Formats §8.5: no line about use opens what a rule closes, or shortens a delay.
func TestUsage_8_5_OpensNothing(t *testing.T) {
	const body = "User-agent: *\nCrawl-delay: 9\nDisallow: /x\n"
	const more = "Content-Usage: /x search=y\nContent-Signal: search=yes, use=full\nLicense: https://l.example/\n"
	with, without := robots.Parse([]byte(body+more)).Rules("anybot", origin), robots.Parse([]byte(body)).Rules("anybot", origin)
	for _, path := range []string{"/", "/x", "/x/y"} {
		if with.Match(path) != without.Match(path) {
			t.Errorf("%s: %+v, want %+v", path, with.Match(path), without.Match(path))
		}
	}
	if d, _ := with.CrawlDelay(); d != 9*time.Second {
		t.Errorf("delay %v", d)
	}
}

// Formats §8.6: a line about use does not end a list of user-agent lines, and counts for the agents
// of its own block.
func TestUsage_8_6_ClosesNoGroup(t *testing.T) {
	const body = "User-agent: a\nContent-Usage: train-ai=n\nUser-agent: b\nContent-Signal: search=no\nDisallow: /x\n"
	f := robots.Parse([]byte(body))
	for _, token := range []string{"a", "b"} {
		check(t, f.Rules(token, origin), "!/x", "/")
	}
	checkUsage(t, body, "a", "/", 2)
	checkUsage(t, body, "b", "/", 4)
	// after a rule, for all agents of the group
	const after = "User-agent: a\nUser-agent: b\nDisallow: /x\nLicense: https://l.example/rsl.xml\n"
	checkUsage(t, after, "a", "/", 4)
	checkUsage(t, after, "b", "/", 4)
}

// Formats §8.7: the longest path decides, the order has no meaning, and no path is the shortest.
func TestUsage_8_7_Paths(t *testing.T) {
	const body = `User-agent: *
Content-Usage: train-ai=n
Content-Usage: /pub train-ai=y
Content-Usage: / ai-use=n
Content-Usage: /pub/*.pdf$ search=n
Content-Usage: /%7Ejoe	search=n
Content-Usage: /~joe search=y
Content-Usage: *.pdf train-ai=n
`
	for path, want := range map[string][]int{
		"/":            {4},
		"/pub/x":       {3},
		"/pub/x.pdf":   {5},
		"/pub/x.pdf?1": {3},
		"/~joe/":       {6, 7}, // the same normal form: both
		"/%7ejoe":      {6, 7},
	} {
		checkUsage(t, body, "anybot", path, want...)
	}
	checkUsage(t, "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: *.pdf train-ai=n\n", "anybot", "/a.pdf", 2, 3)
	// different paths with equally many octets: all of them
	checkUsage(t, "User-agent: *\nContent-Usage: /*b search=y\nContent-Usage: /ab search=n\n", "anybot", "/ab", 3, 2)
	// the path is like that of Allow: matched in normal form, with "$" as its end
	got := robots.Parse([]byte("User-agent: *\nContent-Usage: /a$ \t train-ai=n , search=y # said\n")).Rules("anybot", origin).Usage("/a")
	want := robots.UsageLine{Kind: robots.ContentUsage, Path: "/a$", Statement: "train-ai=n , search=y", Line: 2,
		Text: "Content-Usage: /a$ \t train-ai=n , search=y"}
	if len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	checkUsage(t, "User-agent: *\nContent-Usage: /a$ train-ai=n\n", "anybot", "/a/b")
}

// Formats §8.7: Content-Usage does not apply to a URL that may not be fetched; an unreachable file
// has no lines.
func TestUsage_8_7_ClosedURLs(t *testing.T) {
	const body = "User-agent: *\nDisallow: /x\nContent-Usage: train-ai=n\nContent-Signal: ai-train=no\n"
	checkUsage(t, body, "anybot", "/", 4, 3)
	checkUsage(t, body, "anybot", "/x", 4)
	if got := robots.ForState(robots.Unreachable, []byte(body)).Rules("anybot", origin).Usage("/"); got != nil {
		t.Errorf("unreachable: %+v", got)
	}
}

// Formats §8.8: a rule with an invalid statement still counts, and no rule with a shorter path
// replaces it.
func TestUsage_8_8_BrokenStatementStands(t *testing.T) {
	checkUsage(t, "User-agent: *\nContent-Usage: / train-ai=n\nContent-Usage: /a TRAIN=\nContent-Usage: /b\n", "anybot", "/a", 3)
	checkUsage(t, "User-agent: *\nContent-Usage: / train-ai=n\nContent-Usage: /b\n", "anybot", "/b", 3)
}

// Formats §8.9: a line before the first group is the default for robots whose group has none of its
// kind.
func TestUsage_8_9_BeforeTheFirstGroup(t *testing.T) {
	const body = "Content-Usage: train-ai=n\nContent-Signal: search=yes\nLicense: https://l.example/a.xml\nUser-agent: a\nContent-Usage: train-ai=y\nUser-agent: *\nDisallow: /x\n"
	checkUsage(t, body, "a", "/", 2, 3, 5)
	checkUsage(t, body, "b", "/", 2, 3, 1)
	checkUsage(t, "Content-Usage: train-ai=n\n", "b", "/", 1) // without any group
}

// Formats §8.10: a group of our own inherits nothing from the global group.
func TestUsage_8_10_SpecificGroups(t *testing.T) {
	const body = "User-agent: *\nContent-Signal: ai-train=no\n\nUser-agent: a\nDisallow: /x\n"
	checkUsage(t, body, "a", "/")
	checkUsage(t, body, "b", "/", 2)
	// groups for one agent are merged, as in RFC 9309
	checkUsage(t, body+"User-agent: *\nContent-Signal: search=no\n", "b", "/", 2, 7)
}

// Formats §8: the number of lines that apply to every URL is limited, and so are paths.
func TestUsage_8_Limits(t *testing.T) {
	for _, kind := range []string{"Content-Signal", "License"} {
		body := "User-agent: *\n" + strings.Repeat(kind+": search=no\n", 101)
		f := robots.Parse([]byte(body))
		if got := f.Rules("anybot", origin).Usage("/"); len(got) != 100 || f.Odd != 1 || f.Diagnostics[0].Line != 102 {
			t.Errorf("%s: %d lines, %d odd: %+v", kind, len(got), f.Odd, f.Diagnostics)
		}
	}
	long := "/" + strings.Repeat("a", 8<<10-1)
	checkUsage(t, "User-agent: *\nContent-Usage: "+long+" search=n\n", "anybot", long, 2)
	checkUsage(t, "User-agent: *\nContent-Usage: "+long+"a search=n\n", "anybot", long+"a")
}

func TestFileNames(t *testing.T) {
	f := robots.Parse([]byte("User-agent: GPTBot/1.0\nUser-agent: *\nDisallow: /\n"))
	for token, want := range map[string]bool{"gptbot": true, "GPTBot": true, "GPT": false, "*": false, "": false} {
		if got := f.Names(token); got != want {
			t.Errorf("Names(%q) = %v", token, got)
		}
	}
}

// For any lines, each returned line is in the file, matches, and has as many octets as the others.
// A line of the kind that is left out does not.
func FuzzUsage(f *testing.F) {
	f.Add("/a*b$ train-ai=n", "/ search=y", "train-ai=y", "/axb")
	f.Add("/%7E", "/~ a", "*", "/~x")
	closed := robots.Parse([]byte("User-agent: *\nDisallow: /\n")).Rules("anybot", origin)
	f.Fuzz(func(t *testing.T, a, b, c, path string) {
		body := fmt.Sprintf("User-agent: *\nContent-Usage: %s\nContent-Usage: %s\nContent-Usage: %s\nContent-Signal: search=no\n", a, b, c)
		r := robots.Parse([]byte(body)).Rules("anybot", origin)
		got := r.Usage(path)
		for _, l := range got {
			if l.Line < 1 || l.Text == "" || l.Kind == 0 || l.Kind == robots.ContentUsage && l.Path != "" && l.Path[0] != '/' {
				t.Errorf("%+v", l)
			}
			if l.Kind != robots.ContentUsage || l.Path == "" {
				continue
			}
			// the same path as a rule matches the same
			one := robots.Parse([]byte("User-agent: *\nDisallow: "+l.Path+"\n")).Rules("anybot", origin)
			// robots.txt itself is always allowed
			if one.Match(path).Allowed && !closed.Match(path).Allowed {
				t.Errorf("path %q should match %q", l.Path, path)
			}
		}
		if again := r.Usage(path); !slices.Equal(got, again) {
			t.Errorf("%+v, then %+v", got, again)
		}
	})
}
