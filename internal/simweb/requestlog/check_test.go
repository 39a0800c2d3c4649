package requestlog

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const testAgent = "curtsy/1.0 (+mailto:test@example.org)"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// req makes a log record of host a: from and to are milliseconds after noon, to < 0 means an
// incomplete answer.
func req(from, to int, path string, change ...func(*Request)) Request {
	r := Request{
		Start: noon.Add(time.Duration(from) * time.Millisecond), Host: "a", Origin: "a", Method: "GET", Path: path, Status: 200,
		UserAgent: testAgent, Robots: path == "/robots.txt",
	}
	if to >= 0 {
		r.End = noon.Add(time.Duration(to) * time.Millisecond)
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func aborted(r *Request)                   { r.Aborted = true }
func forbidden(r *Request)                 { r.Forbidden = true }
func status(code int) func(*Request)       { return func(r *Request) { r.Status = code } }
func agent(name string) func(*Request)     { return func(r *Request) { r.UserAgent = name } }
func asks(d time.Duration) func(*Request)  { return func(r *Request) { r.RetryAfter = d } }
func wants(d time.Duration) func(*Request) { return func(r *Request) { r.CrawlDelay = d } }
func onHost(name string) func(*Request)    { return func(r *Request) { r.Host, r.Origin = name, name } }
func toAgent(r *Request)                   { r.Agent, r.Method = true, "FETCH" }
func onOrigin(name string) func(*Request)  { return func(r *Request) { r.Origin = name } }

var checkCases = []struct {
	name string
	log  []Request
	want []string
}{
	{"a polite log", []Request{
		req(0, 10, "/robots.txt"), req(110, 150, "/"), req(250, 251, "/a"),
		req(110, 150, "/robots.txt", onHost("b")), req(251, 300, "/", onHost("b")),
	}, nil},
	{"the order of the log does not matter", []Request{req(250, 251, "/a"), req(0, 10, "/robots.txt"), req(110, 150, "/")}, nil},
	{"two at once", []Request{req(0, 10, "/robots.txt"), req(110, 150, "/"), req(130, 140, "/a")}, []string{RuleConcurrent}},
	{"two at once on two origins of a host", []Request{
		req(0, 10, "/robots.txt"), req(5, 20, "/robots.txt", onOrigin("a:8080")),
	}, []string{RuleConcurrent}},
	{"one within a long one, another after it", []Request{
		req(0, 10, "/robots.txt"), req(110, 900, "/"), req(300, 310, "/a"), req(500, 510, "/b"), req(1000, 1001, "/c"),
	}, []string{RuleConcurrent, RuleConcurrent}},
	{"while one never ended", []Request{req(0, 10, "/robots.txt"), req(110, -1, "/"), req(900, 901, "/a")}, []string{RuleConcurrent}},
	{"too soon", []Request{req(0, 10, "/robots.txt"), req(110, 150, "/"), req(240, 241, "/a")}, []string{RuleDelay}},
	{"too soon by less than the tolerance", []Request{req(0, 10, "/robots.txt"), req(110, 150, "/"), req(249, 251, "/a")}, nil},
	{"from start to start would be long enough", []Request{req(0, 10, "/robots.txt"), req(110, 300, "/"), req(310, 311, "/a")}, []string{RuleDelay}},
	{"after an aborted answer noticed late", []Request{req(0, 10, "/robots.txt"), req(110, 150, "/", aborted), req(210, 211, "/a")}, nil},
	{"too soon after an aborted answer", []Request{req(0, 10, "/robots.txt"), req(110, 150, "/", aborted), req(190, 191, "/a")}, []string{RuleDelay}},
	{"too soon after an answer aborted late", []Request{req(0, 10, "/robots.txt"), req(110, 2150, "/", aborted), req(1200, 1201, "/a")}, []string{RuleDelay}},
	{"after an answer aborted late", []Request{req(0, 10, "/robots.txt"), req(110, 2150, "/", aborted), req(1260, 1261, "/a")}, nil},
	{"too soon after the answer that came while nobody noticed", []Request{
		req(0, 10, "/robots.txt"), req(110, 1100, "/", aborted), req(215, 300, "/a"), req(310, 311, "/b"),
	}, []string{RuleDelay}},
	{"sooner than Crawl-delay", []Request{req(0, 10, "/robots.txt", wants(time.Second)), req(510, 520, "/", wants(time.Second))}, []string{RuleDelay}},
	{"robots.txt and its hops before the Crawl-delay is known", []Request{
		req(0, 10, "/robots.txt", wants(time.Second), status(301)),
		req(110, 120, "/hop.txt", wants(time.Second), func(r *Request) { r.Robots = true }), req(1120, 1130, "/", wants(time.Second)),
	}, nil},
	{"robots.txt again, sooner than the known Crawl-delay", []Request{
		req(0, 10, "/robots.txt", wants(time.Second)), req(1010, 1020, "/", wants(time.Second)),
		req(1200, 1210, "/robots.txt", wants(time.Second)),
	}, []string{RuleDelay}},
	{"within Retry-After", []Request{
		req(0, 10, "/robots.txt"), req(110, 150, "/", status(503), asks(2*time.Second)), req(2100, 2110, "/"), req(2210, 2220, "/a"),
	}, []string{RuleRetryAfter}},
	{"after Retry-After", []Request{req(0, 10, "/robots.txt"), req(110, 150, "/", status(429), asks(2*time.Second)), req(2150, 2160, "/")}, nil},
	{"a later Retry-After shortens nothing", []Request{
		req(0, 10, "/robots.txt", asks(9*time.Second)), req(110, 150, "/", asks(time.Second)), req(2000, 2010, "/a"),
	}, []string{RuleRetryAfter, RuleRetryAfter}},
	{"forbidden", []Request{req(0, 10, "/robots.txt"), req(110, 120, "/private/", forbidden)}, []string{RuleForbidden}},
	{"forbidden by the caller's own rule", []Request{req(0, 10, "/robots.txt"), req(110, 120, "/own")}, []string{RuleForbidden}},
	{"only nofollow leads there", []Request{req(0, 10, "/robots.txt"), req(110, 120, "/x", func(r *Request) { r.Hidden = true })}, []string{RuleNofollow}},
	{"page without robots.txt", []Request{req(0, 10, "/"), req(110, 120, "/robots.txt"), req(220, 230, "/a")}, []string{RuleRobotsFirst}},
	{"robots.txt of another origin", []Request{req(0, 10, "/robots.txt"), req(110, 120, "/", onOrigin("a:8080"))}, []string{RuleRobotsFirst}},
	{"page before robots.txt was answered", []Request{req(0, 50, "/robots.txt"), req(20, 60, "/")}, []string{RuleConcurrent, RuleRobotsFirst}},
	{"page though robots.txt answered 503", []Request{req(0, 10, "/robots.txt", status(503)), req(110, 120, "/")}, []string{RuleUnreachable}},
	{"page though robots.txt answered 429", []Request{req(0, 10, "/robots.txt", status(429)), req(110, 120, "/")}, []string{RuleUnreachable}},
	{"page though robots.txt was not answered", []Request{req(0, 10, "/robots.txt", status(0), aborted), req(110, 120, "/")}, []string{RuleUnreachable}},
	{"robots.txt at the second try", []Request{req(0, 10, "/robots.txt", status(500)), req(110, 120, "/robots.txt"), req(220, 230, "/")}, nil},
	{"robots.txt 404", []Request{req(0, 10, "/robots.txt", status(404)), req(110, 120, "/")}, nil},
	{"a good robots.txt, then a bad one", []Request{req(0, 10, "/robots.txt"), req(110, 120, "/robots.txt", status(500)), req(220, 230, "/")}, nil},
	{"robots.txt of yesterday", []Request{req(0, 10, "/robots.txt"), req(25*3600*1000, 25*3600*1000+1, "/")}, []string{RuleStale}},
	{"exchanges with a server for robots, and no robots.txt", []Request{req(0, 10, "/", toAgent), req(110, 500, "/", toAgent)}, nil},
	{"such an exchange too soon after another", []Request{req(0, 10, "/", toAgent), req(100, 120, "/", toAgent)}, []string{RuleDelay}},
	{"such an exchange beside a page of the host", []Request{
		req(0, 10, "/robots.txt"), req(110, 300, "/"), req(200, 250, "/", toAgent, onOrigin("a:434")),
	}, []string{RuleConcurrent}},
	{"such an exchange does not show that the Crawl-delay is known", []Request{
		req(0, 10, "/", toAgent), req(110, 120, "/robots.txt", wants(time.Second)), req(1120, 1130, "/", wants(time.Second)),
	}, nil},
	{"such an exchange sooner than Crawl-delay", []Request{
		req(0, 10, "/robots.txt", wants(time.Second)), req(110, 120, "/", toAgent, wants(time.Second)),
	}, []string{RuleDelay}},
	{"a Retry-After of a server for robots is not one of the host", []Request{
		req(0, 10, "/robots.txt"), req(110, 120, "/", toAgent, onOrigin("a:434"), asks(time.Hour)), req(220, 230, "/"),
		req(330, 340, "/", toAgent, onOrigin("a:435")),
	}, nil},
	{"within the Retry-After of a server for robots", []Request{
		req(0, 10, "/", toAgent, onOrigin("a:434"), asks(time.Hour)), req(110, 120, "/", toAgent, onOrigin("a:434")),
	}, []string{RuleRetryAfter}},
	{"a server for robots within the Retry-After of its host", []Request{
		req(0, 10, "/robots.txt", asks(time.Hour)), req(110, 120, "/", toAgent, onOrigin("a:434")),
	}, []string{RuleRetryAfter}},
	{"such an exchange by a stranger", []Request{req(0, 10, "/", toAgent, agent(""))}, []string{RuleUserAgent}},
	{"no User-Agent", []Request{req(0, 10, "/robots.txt", agent(""))}, []string{RuleUserAgent}},
	{"a browser's User-Agent", []Request{req(0, 10, "/robots.txt", agent("Mozilla/5.0 (X11; Linux)"))}, []string{RuleUserAgent}},
	{"another token", []Request{req(0, 10, "/robots.txt", agent("other/1 (+http://x.example/)"))}, []string{RuleUserAgent}},
	{"no contact", []Request{req(0, 10, "/robots.txt", agent("curtsy/1.0"))}, []string{RuleUserAgent}},
}

func checkOptions() CheckOptions {
	return CheckOptions{
		Delay:     Every(100 * time.Millisecond),
		Token:     "curtsy",
		Forbidden: func(_, path, _ string) bool { return path == "/own" },
	}
}

func rules(list []Violation) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.Rule)
	}
	return out
}

func TestCheck(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range checkCases {
		t.Run(c.name, func(t *testing.T) {
			if got := rules(Check(c.log, checkOptions())); !slices.Equal(got, c.want) {
				t.Errorf("violations %v, want %v", got, c.want)
			}
		})
		for _, rule := range c.want {
			seen[rule] = true
		}
	}
	for _, rule := range []string{
		RuleConcurrent, RuleDelay, RuleRetryAfter, RuleForbidden, RuleNofollow, RuleRobotsFirst, RuleUnreachable, RuleStale, RuleUserAgent,
	} {
		if !seen[rule] {
			t.Errorf("no log here violates %q", rule)
		}
	}
}

func TestCheckFileSaysTheSame(t *testing.T) {
	for _, c := range checkCases {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		for half := range 2 { // two webs, one after the other, append to one file
			l := New(0)
			if err := l.Open(path); err != nil {
				t.Fatal(err)
			}
			n := len(c.log) / 2
			part := [][]Request{c.log[:n], c.log[n:]}[half]
			for i := range part {
				if !part[i].End.IsZero() {
					l.file.add(&part[i])
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		want := c.want
		if c.name == "while one never ended" { // a file only has requests that ended
			want = nil
		}
		got, err := CheckFile(path, checkOptions())
		if err != nil || !slices.Equal(rules(got), want) {
			t.Errorf("%s: violations %v, error %v, want %v", c.name, rules(got), err, want)
		}
	}
}

func TestReadRefusesWhatProvesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := CheckFile(path, CheckOptions{}); err == nil {
		t.Error("a missing file is no error")
	}
	write("")
	if _, err := CheckFile(path, CheckOptions{}); err == nil {
		t.Error("an empty log is no error")
	}
	write("{\"start\":1}\nnoise\n{\"start\":2}\n")
	if _, err := Read(path); err == nil {
		t.Error("noise within the log is no error")
	}
	write("{\"start\":1,\"host\":\"a\"}\n{\"start\":2,\"ho")
	if log, err := Read(path); err != nil || len(log) != 1 || log[0].Origin != "a" {
		t.Errorf("a torn last line: %v, %v, want the first line", log, err)
	}
}
