package simweb

import (
	"fmt"
	"strings"
	"time"
)

// wildcardRobots has patterns with * and $. Its pages show both sides of each.
func (s *site) wildcardRobots() {
	s.robots.text = s.rulesText("Disallow: /*.cgi$\nDisallow: /*?sort=\nDisallow: /tmp*/draft\nAllow: /tmp-public/draft-ok\n")
	s.robots.allows = func(path, _ string) bool {
		if strings.HasPrefix(path, "/tmp-public/draft-ok") {
			return true
		}
		if rest, ok := strings.CutPrefix(path, "/tmp"); ok && strings.Contains(rest, "/draft") {
			return false
		}
		return !strings.HasSuffix(path, ".cgi") && !strings.Contains(path, "?sort=")
	}
	s.robots.opens = func(path string) bool { return strings.HasPrefix(path, "/tmp-public/draft-ok") }
	for _, p := range []string{
		"/run/report.cgi", "/run/report.cgi.html", "/list?sort=name", "/list?page=2", "/tmp1/draft.html", "/tmp/a/draft-2.html",
		"/tmp1/final.html", "/tmp-public/draft-ok.html", "/tmp-public/draft.html",
	} {
		s.enter(s.page(p, doc{text: "Some patterns match this page and some do not."}))
	}
}

// agentRobots forbids everything to everybody except our agent, which has its own group in two
// parts, and another agent with a third group.
func (s *site) agentRobots() {
	agent := s.web.cfg.Agent
	s.robots.text = "User-agent: *\nDisallow: /\n\n" +
		"User-agent: otherbot\nUser-agent: " + agent + "-news\nDisallow: /news/\n\n" +
		"User-agent: " + strings.ToUpper(agent) + "/2.1\nDisallow: /not-for-us/\n" + s.tailLines() +
		"\nUser-agent: " + agent + "\nDisallow: /nor-this/\n"
	s.robots.allows = func(path, token string) bool {
		switch {
		case s.isAgent(token):
			return !strings.HasPrefix(path, "/not-for-us/") && !strings.HasPrefix(path, "/nor-this/")
		case strings.EqualFold(token, "otherbot"), strings.EqualFold(token, agent+"-news"):
			return !strings.HasPrefix(path, "/news/")
		}
		return false
	}
	if d := s.b.CrawlDelay; d > 0 {
		s.robots.delay = func(token string) time.Duration {
			if s.isAgent(token) {
				return d
			}
			return 0
		}
	}
	for _, p := range []string{"/not-for-us/a.html", "/nor-this/b.html", "/news/today.html"} {
		s.enter(s.page(p, doc{text: "Who may read this depends on the name."}))
	}
}

// oddRobots is legal but unusual.
func (s *site) oddRobots() {
	s.robots.text = "\ufeff# a byte order mark, then a rule before any group, which counts for nobody\r\n" +
		"Disallow: /odd/before.html\r\n" +
		"USER-AGENT : nobody-else\r" + // a lone CR ends a line
		"Sitemap: http://" + s.name + "/no-sitemap.xml\r\n" +
		"user-agent:* # everybody, and still the same group\r\n" +
		"\r\n\r\n# blank lines end nothing\r\n" +
		"Noindex: /odd/noindex.html\r\n" +
		"disallow:/odd/a.html#comment\r\n" +
		"  Disallow \t:\t /odd/b.html  \r\n" +
		"Dissallow: /odd/c.html\r\n" +
		"Disallow: /odd/%64.html\r\n" + // %64 is d
		"Disallow: odd/e.html\r\n" + // matches nothing
		"this line is noise\r\n" +
		"\xff\xfe\x00: broken bytes\r\n" +
		"Allow: /odd/\r\n" + strings.ReplaceAll(s.tailLines(), "\n", "\r\n")
	closed := map[string]bool{"/odd/a.html": true, "/odd/b.html": true, "/odd/c.html": true, "/odd/d.html": true}
	s.robots.allows = func(path, _ string) bool {
		for p := range closed {
			if strings.HasPrefix(path, p) {
				return false
			}
		}
		return true
	}
	s.robots.opens = func(path string) bool { return strings.HasPrefix(path, "/odd/") }
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "before", "noindex"} {
		s.enter(s.page("/odd/"+name+".html", doc{text: "An odd line may or may not close this page."}))
	}
}

// hugeRobots has a rule at the start, one across the size limit, and one after it. Only the first
// counts.
func (s *site) hugeRobots() {
	var b strings.Builder
	b.WriteString(s.rulesText("Disallow: /huge/early.html\n"))
	const crossing = "Disallow: /huge/crossing.html\n"
	for filler := "# " + strings.Repeat("filler ", 12) + "\n"; b.Len()+len(filler) < robotsLimit-200; {
		b.WriteString(filler)
	}
	b.WriteString("#" + strings.Repeat("x", robotsLimit-len(crossing)/2-b.Len()-2) + "\n")
	b.WriteString(crossing)
	b.WriteString("Disallow: /huge/late.html\n")
	b.WriteString(strings.Repeat("# and so on, far behind the limit\n", 3000))
	s.robots.text = b.String()
	s.robots.allows = func(path, _ string) bool { return !strings.HasPrefix(path, "/huge/early.html") }
	for _, name := range []string{"early", "crossing", "late"} {
		s.enter(s.page("/huge/"+name+".html", doc{text: "A long file says something about this page."}))
	}
}

// robotsHops serves the file at the end of a chain of n redirects.
func (s *site) robotsHops(n int) {
	for i := 1; i <= n; i++ {
		next := fmt.Sprintf("/robots-hop-%d.txt", i+1)
		hop := &resource{path: fmt.Sprintf("/robots-hop-%d.txt", i), robots: true, answer: func(*request, *buffer) reply {
			return redirect(301, next)
		}}
		if i == n {
			hop.answer = func(*request, *buffer) reply { return plain(200, s.robots.text) }
		}
		s.add(hop)
	}
}

// robotsAnswer is how a kind of robots.txt is served.
func (s *site) robotsAnswer(kind Robots) func(*request, *buffer) reply {
	give := func(r func() reply) func(*request, *buffer) reply {
		return func(*request, *buffer) reply { return r() }
	}
	f := &s.robots
	switch kind {
	case RobotsNone:
		return give(notFound)
	case RobotsServerError:
		return give(func() reply { return plain(500, "something broke\n") })
	case RobotsUnauthorized:
		return give(func() reply { return plain(401, "who are you?\n") })
	case RobotsForbidden:
		return give(func() reply { return plain(403, "go away\n") })
	case RobotsGone:
		return give(func() reply { return plain(410, "gone\n") })
	case RobotsTooMany:
		return give(func() reply { return s.overload(429) })
	case RobotsPage:
		return give(func() reply {
			return reply{status: 200, ctype: htmlType, body: []byte("<html><title>Oops</title><p>We could not find that page.</html>")}
		})
	case RobotsTimeout:
		return give(func() reply { return reply{script: hang} })
	case RobotsReset:
		return give(func() reply { return reply{script: resetAtOnce} })
	case RobotsTruncated:
		return give(func() reply { return reply{status: 200, script: truncated("text/plain", f.text)} })
	case RobotsFlapping:
		return give(func() reply {
			if s.web.failsYet(s, "/robots.txt") {
				return s.overload(503)
			}
			return plain(200, f.text)
		})
	case RobotsSlow:
		return give(func() reply { r := plain(200, f.text); r.wait = s.b.Stall; return r })
	case RobotsRedirect:
		return give(func() reply { return redirect(302, s.lender.url("/robots.txt")) })
	case RobotsRedirectChain, RobotsRedirectLong:
		return give(func() reply { return redirect(301, "/robots-hop-1.txt") })
	case RobotsRedirectLoop:
		s.add(&resource{path: "/robots-hop-1.txt", robots: true, answer: give(func() reply { return redirect(302, "/robots.txt") })})
		return give(func() reply { return redirect(302, "/robots-hop-1.txt") })
	case RobotsMirror:
		return give(func() reply { return plain(200, s.lender.robots.text) })
	}
	tag := textTag(f.text)
	return func(q *request, _ *buffer) reply {
		if q.ifNoneMatch == tag {
			return reply{status: 304, header: "ETag: " + tag + "\r\n"}
		}
		r := plain(200, f.text)
		r.header = "ETag: " + tag + "\r\n"
		return r
	}
}
