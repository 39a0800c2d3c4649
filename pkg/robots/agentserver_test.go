package robots_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/robots"
)

func agentLines(lines ...string) *robots.File {
	return robots.Parse([]byte("Mobile-agent-server: " + strings.Join(lines, "\nMobile-agent-server: ") + "\n"))
}

// checkTargets takes pairs of path and target, "" for none, and compares them with File and Rules.
func checkTargets(t *testing.T, f *robots.File, pairs ...string) {
	t.Helper()
	r := f.Rules("anybot", origin)
	for pair := range slices.Chunk(pairs, 2) {
		path, want := pair[0], pair[1]
		if got, ok := f.AgentServer(path); got != want || ok != (want != "") {
			t.Errorf("AgentServer(%q) = %q, %v, want %q", path, got, ok, want)
		}
		if got, ok := r.AgentServer(path); got != want || ok != (want != "") {
			t.Errorf("Rules: AgentServer(%q) = %q, %v, want %q", path, got, ok, want)
		}
	}
}

// Formats §3, section 3.1 of the draft.
func TestAgentServer_Example1(t *testing.T) {
	f := agentLines("/ none", "/dir1 atp://www.fict.org:544", "/dir1/dir2 atp://www.fict.org:543")
	checkTargets(t, f,
		"/", "",
		"/x", "",
		"/dir1", "atp://www.fict.org:544",
		"/dir1/a", "atp://www.fict.org:544",
		"/dir1/dir2", "atp://www.fict.org:543",
		"/dir1/dir2/a", "atp://www.fict.org:543",
	)
}

// Formats §3, section 4 of the draft. In its two rows for user2 the draft prints
// user1.fict.org:831, but its own record line has user2. A parser only sees the record.
func TestAgentServer_Example2(t *testing.T) {
	f := agentLines("/ atp://www.fict.org:8001", "/home/ none", "/home/user1/ atp://user1.fict.org:854", "/home/user2/ atp://user2.fict.org:831")
	checkTargets(t, f,
		"/index.html", "atp://www.fict.org:8001",
		"/services/", "atp://www.fict.org:8001",
		"/services/index.html", "atp://www.fict.org:8001",
		"/robots.txt", "atp://www.fict.org:8001",
		"/home/", "",
		"/home/user1/", "atp://user1.fict.org:854",
		"/home/user1/index.html", "atp://user1.fict.org:854",
		"/home/user2/", "atp://user2.fict.org:831",
		"/home/user2/index.html", "atp://user2.fict.org:831",
		"/home/user3/", "",
		"/home/user3/index.html", "",
		"/", "atp://www.fict.org:8001",
	)
}

// Formats §3: the last matching line wins, however short its path.
func TestAgentServer_LastLineWins(t *testing.T) {
	checkTargets(t, agentLines("/a atp://x.example", "/ none"), "/a", "", "/a/b", "", "/", "")
	checkTargets(t, agentLines("/a/b atp://x.example", "/a atp://y.example"), "/a/b", "atp://y.example")
	checkTargets(t, agentLines("/ none", "/ atp://x.example"), "/a", "atp://x.example")
}

// Formats §3: how paths compare.
func TestAgentServer_Paths(t *testing.T) {
	const target = "atp://x.example"
	for _, tt := range []struct {
		path, url string
		match     bool
	}{
		{"/home/", "/home", false},
		{"/dir1", "/dir10", true},
		{"/Dir", "/dir", false},
		{"/a*b", "/axb", false},
		{"/a*b", "/a*b/c", true},
		{"/a$", "/a", false},
		{"/a$", "/a$b", true},
		{"a", "/a/b", true},
		{"a", "/", false},
		{"/a%2fb", "/a%2Fb", true},
		{"/a%2fb", "/a/b", false},
		{"/a/b", "/a%2fb", false},
		{"/%7ejoe", "/~joe/x", true},
		{"/~joe", "/%7Ejoe", true},
		{"/a%3cd", "/a%3Cd", true},
		{"/a<d", "/a%3Cd", true},
		{"/ü", "/%C3%BC", true},
		{"/a%zz", "/a%zz", true},
		{"/a%4", "/a%41", false},
		{"/", "", true},
		{"/a", "/a?x", true},
		{"/a", "/b?/a", false},
		{"/a?x", "/a?x", false},
		{"/a#x", "/a", false},
	} {
		want := ""
		if tt.match {
			want = target
		}
		checkTargets(t, agentLines(tt.path+" "+target), tt.url, want)
	}
}

// Formats §3: which targets are valid. An invalid line leaves older lines in force.
func TestAgentServer_Targets(t *testing.T) {
	for value, want := range map[string]string{
		"/ atp://x.example":          "atp://x.example",
		"/ ATP://X.Example:434":      "atp://x.example:434",
		"/\tatp://x.example":         "atp://x.example",
		"/   \t atp://x.example # c": "atp://x.example",
		"/ http://x.example:65535":   "http://x.example:65535",
		"/ a+b-c.1://x.example:1":    "a+b-c.1://x.example:1",
		"/ 9p://x.example":           "9p://x.example",
		"/ atp://localhost":          "atp://localhost",
		"/ atp://192.0.2.1:9":        "atp://192.0.2.1:9",
		"/ atp://a_b.example":        "atp://a_b.example",
		"/ atp://a%2Db.example":      "atp://a%2db.example",
		"/ none":                     "",
		"/ NONE":                     "",
		"/ None # really":            "",
		"/":                          "old",
		"":                           "old",
		"atp://x.example":            "old",
		"/ atp://x.example more":     "old",
		"/ none none":                "old",
		"/ nonesuch":                 "old",
		"/ x.example:80":             "old",
		"/ atp:/x.example":           "old",
		"/ ://x.example":             "old",
		"/ a_b://x.example":          "old",
		"/ atp://":                   "old",
		"/ atp://:80":                "old",
		"/ atp://x.example:":         "old",
		"/ atp://x.example:0":        "old",
		"/ atp://x.example:65536":    "old",
		"/ atp://x.example:80x":      "old",
		"/ atp://x.example:1:2":      "old",
		"/ atp://x.example/":         "old",
		"/ atp://x.example/path":     "old",
		"/ atp://x.example:80/":      "old",
		"/ atp://x.example?q":        "old",
		"/ atp://u@x.example":        "old",
		"/ atp://u:p@x.example":      "old",
		"/ atp://[::1]:80":           "old",
		"/ atp://пример.example":     "old",
		"/ atp://x%example":          "old",
		"/?q atp://x.example":        "old",
		"/ none, atp://x.example":    "old",
		"/ a://b://c":                "old",
	} {
		if want == "old" {
			want = "atp://old.example"
		}
		checkTargets(t, agentLines("/ atp://old.example", value), "/x", want)
	}
}

// Formats §3: one list for all robots, in whatever group the lines are, without effect on access.
func TestAgentServer_Scope(t *testing.T) {
	const text = `Mobile-agent-server: / atp://a.example
User-agent: other
Mobile-agent-server: /b atp://b.example
Disallow: /
mobile-AGENT-server : c none

User-agent: *
Disallow: /b
`
	f := robots.Parse([]byte(text))
	checkTargets(t, f, "/", "atp://a.example", "/b/x", "atp://b.example", "/c", "")
	check(t, f.Rules("anybot", origin), "/", "!/b")
	want := []robots.AgentServer{
		{Path: "/", Target: "atp://a.example", Line: 1},
		{Path: "/b", Target: "atp://b.example", Line: 3},
		{Path: "/c", Target: "", Line: 5},
	}
	if got := f.AgentServers(); !slices.Equal(got, want) {
		t.Errorf("AgentServers = %+v", got)
	}
	checkTargets(t, robots.ForStatus(503, []byte(text)), "/", "")
}

// Covers is what AgentServer goes by: a line decides unless a later one covers the path too.
func TestAgentServerCovers(t *testing.T) {
	lines := agentLines("/ none", "/dir1 atp://www.fict.org:544", "/%7Ea/ none").AgentServers()
	for path, want := range map[string]string{
		"": "100", "/": "100", "/dir": "100", "/dir1": "110", "/dir10?x": "110", "/~a/b#c": "101", "/%7ea/": "101", "?/dir1": "100",
	} {
		got := ""
		for _, l := range lines {
			got += map[bool]string{true: "1", false: "0"}[l.Covers(path)]
		}
		if got != want {
			t.Errorf("%q is covered by %s, want %s", path, got, want)
		}
	}
}
