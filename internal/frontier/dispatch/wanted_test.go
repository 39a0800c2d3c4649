package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// Which lines of a robots.txt lead to a robot: those that decide about everything below their path
// that no later line is about, once for each server and part of the site.
func TestNamed(t *testing.T) {
	for lines, want := range map[string][]string{
		"":                         nil,
		"/ none":                   nil,
		"/ atp://a.example":        {"/ atp://a.example:434"},
		"/ ATPS://A.example:443":   {"/ atps://a.example:443"},
		"/ gopher://a.example":     nil,
		"/ atp://a.example,/ none": nil,
		"/a atp://a.example,/ none,/a/b atp://a.example": {"/a/b/ atp://a.example:434"},
		"/ none,/a atp://a.example":                      {"/a/ atp://a.example:434"},
		"/a/ atp://a.example,/a/b/ none":                 {"/a/ atp://a.example:434"},
		// A line about the same path, with or without the slash
		"/a atp://a.example,/a/ none":               nil,
		"/a/ atp://a.example,/a none":               nil,
		"/ atp://a.example:1,/ atp://a.example:2":   {"/ atp://a.example:2"},
		"/a atp://a.example:1,/b atp://a.example:1": {"/a/ atp://a.example:1", "/b/ atp://a.example:1"},
		// One robot for what is below another path of the same server, in whatever order they come
		"/ atp://a.example,/a/ atp://a.example":                   {"/ atp://a.example:434"},
		"/a/ atp://a.example,/b/ none,/a/c/ atp://a.example":      {"/a/ atp://a.example:434"},
		"/ atp://a.example,/a/ none,/a/b/ atp://a.example":        {"/ atp://a.example:434"},
		"/ atp://a.example,/a/ atp://b.example":                   {"/ atp://a.example:434", "/a/ atp://b.example:434"},
		"/%61/ atp://a.example":                                   {"/a/ atp://a.example:434"},
		"/a%2Fb atp://a.example":                                  {"/a%2Fb/ atp://a.example:434"},
		"/a/../b/ atp://a.example":                                nil, // no URL has this path
		"/ atp://other.example":                                   nil,
		"/ atp://a.example:99999":                                 nil,
		"/x atp://other.example,/ atp://a.example,/y atp://o.com": {"/ atp://a.example:434"},
	} {
		text := "User-agent: *\n"
		for line := range strings.SplitSeq(lines, ",") {
			text += "Mobile-agent-server: " + line + "\n"
		}
		var got []string
		site := canon.URL("http://www.example/").Origin()
		for _, p := range Named(robots.Parse([]byte(text)), site, func(_ canon.Origin, server canon.URL) bool {
			return server.Host() == "a.example" || server.Host() == "b.example"
		}) {
			got = append(got, p.About.PathQuery()+" "+crawl.AgentAddress(p.Server))
			if p.About.Origin() != site || p.Line == 0 {
				t.Errorf("%q: %+v", lines, p)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
}

// Whatever a robots.txt names, the line of a path decides about its URL, and no path is below
// another one of its server.
func FuzzNamed(f *testing.F) {
	f.Add("/ none\n/dir1 atp://www.fict.org:544\n/dir1/dir2 atp://www.fict.org:543")
	f.Add("/ atp://a.example\n/%61/ atps://a.example:1\n/b none")
	f.Fuzz(func(t *testing.T, lines string) {
		text := ""
		for line := range strings.Lines(lines) {
			text += "Mobile-agent-server: " + strings.TrimSpace(line) + "\n"
		}
		file := robots.Parse([]byte(text))
		list := Named(file, canon.URL("http://www.example/").Origin(), func(canon.Origin, canon.URL) bool { return true })
		for i, p := range list {
			target, ok := file.AgentServer(p.About.Path())
			if server, is := crawl.AgentServerURL(target); !ok || !is || server != p.Server {
				t.Errorf("%q: %+v, but the path is for %q", lines, p, target)
			}
			for j, q := range list {
				if i != j && q.Server == p.Server && below(q.About, p.About) {
					t.Errorf("%q: %s is below %s", lines, q.About, p.About)
				}
			}
		}
	})
}

// Of a robots.txt with very many lines, those up to the limit name servers, and all of them may
// override others.
func TestManyLines(t *testing.T) {
	named := func(n int, more string) []Path {
		var text []byte
		for i := range n {
			text = fmt.Appendf(text, "Mobile-agent-server: /%d/ atp://a.example:%d\n", i, 1+i)
		}
		return Named(robots.Parse(append(text, more...)), canon.URL("http://www.example/").Origin(), func(canon.Origin, canon.URL) bool { return true })
	}
	for n, want := range map[int]int{MaxLines: MaxLines, MaxLines + 1: MaxLines, 5000: MaxLines} {
		if list := named(n, ""); len(list) != want || list[want-1].Line != want {
			t.Errorf("%d lines: %d paths", n, len(list))
		}
	}
	if list := named(5000, "Mobile-agent-server: / none\n"); len(list) != 0 {
		t.Errorf("%d paths, although the last line overrides all", len(list))
	}
}
