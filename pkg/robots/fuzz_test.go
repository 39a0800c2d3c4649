package robots_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/robots"
)

const fuzzSeed = `User-agent: *
Disallow: /a*b$ # c
Allow: /a%2fb
Crawl-delay: 1.5
Host: www.example.org
Clean-param: s&t /x
Mobile-agent-server: / atp://x.example:1

user-agent: foobot/2
disallow /y
Sitemap: /s.xml
`

// For any input there is no panic, the results are consistent, and an additional invalid line
// changes nothing else.
func FuzzParse(f *testing.F) {
	f.Add([]byte(fuzzSeed), "/axb?s=1", uint(3))
	f.Add([]byte(strings.ReplaceAll(fuzzSeed, "\n", "\r")), "/", uint(0))
	f.Add(encodeUTF16(fuzzSeed, false), "/y", uint(1))
	f.Fuzz(func(t *testing.T, body []byte, path string, at uint) {
		file := robots.Parse(body)
		lines := bytes.Count(body, []byte("\n")) + bytes.Count(body, []byte("\r")) + 1
		origins := []robots.Origin{{}, origin, {Scheme: "http", Host: "localhost", Port: 8080}}
		for _, token := range []string{"foobot", "otherbot"} {
			for _, o := range origins {
				r := file.Rules(token, o)
				v := r.Match(path)
				if (v.Line == 0) != (v.Rule == "") || v.Line == 0 && !v.Allowed || v.Line > lines {
					t.Errorf("verdict %+v in %d lines", v, lines)
				}
				if v.Line > 0 && v.Allowed != strings.HasPrefix(strings.ToLower(v.Rule), "allow") {
					t.Errorf("verdict %+v", v)
				}
				if d, ok := r.CrawlDelay(); d < 0 || !ok && d != 0 {
					t.Errorf("delay %v, %v", d, ok)
				}
				if !r.Match("/robots.txt").Allowed {
					t.Error("robots.txt not allowed")
				}
			}
		}
		for _, o := range origins {
			if c := file.Claim(o); (c.Kind == robots.ClaimNone) != (c.Line == 0) || (c.Kind == robots.ClaimTarget) != (c.Target != robots.Origin{}) {
				t.Errorf("claim %+v", c)
			}
		}
		clean := file.CleanURL(path)
		if again := file.CleanURL(clean); again != clean {
			t.Errorf("CleanURL(%q) = %q, then %q", path, clean, again)
		}
		for _, s := range file.SitemapURLs("https://www.example.org/robots.txt") {
			if !strings.Contains(s, "://") {
				t.Errorf("sitemap %q", s)
			}
		}
		if file.Odd < len(file.Diagnostics) || len(file.Diagnostics) > robots.MaxDiagnostics {
			t.Errorf("%d diagnostics, %d counted", len(file.Diagnostics), file.Odd)
		}
		for _, d := range file.Diagnostics {
			if d.Line < 1 || d.Line > lines || d.Reason == "" {
				t.Errorf("diagnostic %+v in %d lines", d, lines)
			}
		}
		insertBadLine(t, file, body, path, at)
	})
}

// insertBadLine inserts a meaningless line after line number at, and expects all results to stay
// the same.
func insertBadLine(t *testing.T, before *robots.File, body []byte, path string, at uint) {
	if len(body) > 10_000 || bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff")) {
		return // near the size limit, or bytes between which a line cannot be inserted
	}
	ends := bytes.Count(body, []byte("\n"))
	if ends == 0 {
		return
	}
	pos, line := 0, 0
	for range at%uint(ends) + 1 {
		pos += bytes.IndexByte(body[pos:], '\n') + 1
	}
	line = strings.Count(strings.ReplaceAll(strings.ReplaceAll(string(body[:pos]), "\r\n", "\n"), "\r", "\n"), "\n")
	changed := string(body[:pos]) + "this line means nothing\n" + string(body[pos:])
	after := robots.Parse([]byte(changed))
	if after.Odd != before.Odd+1 {
		t.Errorf("%d diagnostics, then %d", before.Odd, after.Odd)
	}
	for _, token := range []string{"foobot", "otherbot"} {
		r, s := before.Rules(token, origin), after.Rules(token, origin)
		for _, p := range []string{path, "/", "/a", "/y"} {
			want, got := r.Match(p), s.Match(p)
			if want.Line > line {
				want.Line++
			}
			if got != want {
				t.Errorf("%s, %q: %+v, want %+v", token, p, got, want)
			}
		}
		d1, ok1 := r.CrawlDelay()
		d2, ok2 := s.CrawlDelay()
		if d1 != d2 || ok1 != ok2 {
			t.Errorf("%s: delay %v, then %v", token, d1, d2)
		}
	}
	if len(after.Sitemaps) != len(before.Sitemaps) || len(after.CleanParams) != len(before.CleanParams) ||
		len(after.AgentServers()) != len(before.AgentServers()) || after.HostHint != before.HostHint ||
		after.Claim(origin).Target != before.Claim(origin).Target {
		t.Error("a bad line changed other records")
	}
}

// A Host argument never causes a panic, means the same alone and in a file, and matches only an
// origin with that name.
func FuzzHostArgument(f *testing.F) {
	for _, s := range []string{"www.example.org", "https://a.example:8443", "a_b", "1.2.3.4", "localhost", "a.example.", "[::1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, argument string) {
		for _, o := range []robots.Origin{origin, {Scheme: "http", Host: "localhost", Port: 80}} {
			result, reason := robots.CheckHost(argument, o)
			if (result == robots.HostMatch) != (reason == "") {
				t.Errorf("%q: %v, %q", argument, result, reason)
			}
			if result == robots.HostMatch && !strings.Contains(strings.ToLower(argument), o.Host) {
				t.Errorf("%q matches %v", argument, o)
			}
			if strings.ContainsAny(argument, "\r\n") {
				continue
			}
			file := robots.Parse([]byte("User-agent: *\nHost: " + argument))
			if got := file.Rules("anybot", o).Match("/").Allowed; got != (result != robots.HostNoMatch) {
				t.Errorf("%q is %v for %v, but allowed %v", argument, result, o, got)
			}
			want := map[robots.HostResult]robots.ClaimKind{robots.HostIgnored: robots.ClaimNone, robots.HostMatch: robots.ClaimSelf, robots.HostNoMatch: robots.ClaimTarget}[result]
			claim := file.Claim(o)
			if claim.Kind != want {
				t.Errorf("%q is %v for %v, but claims %v", argument, result, o, claim.Kind)
			}
			if want == robots.ClaimTarget {
				if again, err := robots.ParseOrigin(claim.Target.String()); err != nil || again != claim.Target {
					t.Errorf("%q: target %+v reads back as %+v, %v", argument, claim.Target, again, err)
				}
				if r, _ := robots.CheckHost(argument, claim.Target); r != robots.HostMatch && strings.Contains(claim.Target.Host, ".") {
					t.Errorf("%q does not match its own target %v", argument, claim.Target)
				}
			}
		}
	})
}

// A Mobile-agent-server line is used completely or ignored, and its values can be parsed again.
func FuzzAgentServer(f *testing.F) {
	f.Add("/dir atp://www.fict.org:544", "/dir/x")
	f.Add("/ none", "/")
	f.Add("a%2Fb x://y", "/a%2fb")
	f.Fuzz(func(t *testing.T, value, path string) {
		if strings.ContainsAny(value, "\r\n") {
			return
		}
		file := robots.Parse([]byte("Mobile-agent-server: " + value))
		servers := file.AgentServers()
		target, ok := file.AgentServer(path)
		if ok && (len(servers) != 1 || target != servers[0].Target || target == "") || !ok && target != "" {
			t.Errorf("%q: %q, %v of %+v", value, target, ok, servers)
		}
		if len(servers) == 0 {
			if file.Odd == 0 {
				t.Errorf("%q was dropped unsaid", value)
			}
			return
		}
		s := servers[0]
		if got, _ := file.AgentServer(s.Path + "/more"); got != s.Target {
			t.Errorf("%q: %q under its own path", value, got)
		}
		if s.Target == "" {
			s.Target = "none"
		}
		again := robots.Parse([]byte("Mobile-agent-server: " + s.Path + " " + s.Target)).AgentServers()
		if len(again) != 1 || again[0] != servers[0] {
			t.Errorf("%q: %+v, read again %+v", value, servers, again)
		}
	})
}
