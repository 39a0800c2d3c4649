package simweb

import (
	"fmt"
	"net/http"
	"time"
)

// statuses adds missing pages of different kinds.
func (s features) statuses() {
	for _, code := range []int{400, 403, 404, 410, 451} {
		s.enter(&resource{
			path: fmt.Sprintf("/status/%d.html", code), want: failed(ReasonHTTP4xx), answer: always(plain(code, "no\n")),
		})
	}
	page := reply{status: 404, ctype: htmlType, body: []byte(`<html><title>Lost</title><p>Try <a href="/status/from-404.html">this</a>.</html>`)}
	s.enter(&resource{path: "/status/404-with-links.html", want: failed(ReasonHTTP4xx), answer: always(page)})
	empty := Expectation{Class: Stored, Also: []Class{Failed, Refused}}
	s.enter(&resource{path: "/status/empty.html", want: empty, answer: always(reply{status: 200, ctype: htmlType})})
}

// flaky makes a page fail a few times before it answers.
func (s features) flaky(path string, fail func() reply) {
	r := s.page(path, doc{text: "It took more than one request to read this."})
	good := r.answer
	r.varies = true
	r.answer = func(q *request, buf *buffer) reply {
		if s.web.failsYet(s.site, path) {
			return fail()
		}
		return good(q, buf)
	}
	s.enter(r)
}

func (s features) flapping() {
	s.flaky("/flapping/500.html", func() reply { return plain(500, "try again\n") })
	s.flaky("/flapping/502.html", func() reply { return plain(502, "try again\n") })
	s.flaky("/flapping/closed.html", func() reply { return reply{script: func(*wire) {}} })
}

func (s features) busy() {
	date := func() reply {
		now := time.Now().Add(s.wait("/busy/503-date.html")) // when it is sent
		// a date has whole seconds
		until := now.Add(s.b.RetryAfter).Truncate(time.Second).Add(time.Second)
		r := plain(503, "not now\n")
		r.asks = until.Sub(now)
		r.header = "Retry-After: " + until.UTC().Format(http.TimeFormat) + "\r\n"
		return r
	}
	all := []struct {
		name   string
		answer func() reply
	}{
		{"429", func() reply { return s.overload(429) }}, {"503", func() reply { return s.overload(503) }}, {"503-date", date},
	}
	for i, one := range all {
		if s.b.Busy == 0 || i < s.b.Busy {
			s.flaky("/busy/"+one.name+".html", one.answer)
		}
	}
}

// redirects adds redirects of every kind.
func (s features) redirects() {
	hop := func(path string, status int, location, target string) *resource {
		return &resource{
			path: path, answer: always(redirect(status, location)), want: Expectation{Class: Redirected, Location: target},
		}
	}
	local := func(name string, status int, location, target string) {
		s.enter(hop("/redirect/"+name, status, location, s.url(target)))
	}
	leaf := func(path string) string {
		s.add(s.page(path, doc{text: "The end of a redirect."}))
		return path
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		target := leaf(fmt.Sprintf("/redirected/%d.html", code))
		local(fmt.Sprintf("%d.html", code), code, s.url(target), target)
	}
	local("root-relative.html", 302, leaf("/redirected/root.html"), "/redirected/root.html")
	local("relative.html", 302, "../redirected/relative.html", leaf("/redirected/relative.html"))
	local("fragment.html", 301, "/redirected/fragment.html#part", leaf("/redirected/fragment.html"))

	local("chain-1.html", 301, "chain-2.html", "/redirect/chain-2.html")
	chain2 := hop("/redirect/chain-2.html", 302, "chain-3.html", s.url("/redirect/chain-3.html"))
	chain3 := hop("/redirect/chain-3.html", 307, "/redirected/chain.html", s.url(leaf("/redirected/chain.html")))
	chain2.want.Optional, chain3.want.Optional = true, true
	s.add(chain2)
	s.add(chain3)

	// Loops and endless chains: crawlers differ in whether each redirect counts, and where it ends.
	unclear := Expectation{Class: Refused, Reason: ReasonRedirects, Also: []Class{Redirected, Failed}}
	maybe := unclear
	maybe.Optional = true
	knot := func(path, location string, want Expectation, enter bool) {
		want.Location = s.url(location)
		r := &resource{path: path, answer: always(redirect(302, location)), want: want}
		if enter {
			s.enter(r)
		} else {
			s.add(r)
		}
	}
	knot("/redirect/self.html", "/redirect/self.html", unclear, true)
	knot("/redirect/loop-a.html", "/redirect/loop-b.html", unclear, true)
	knot("/redirect/loop-b.html", "/redirect/loop-a.html", maybe, false)
	knot("/redirect/long-1.html", "/redirect/long-2.html", unclear, true)
	const long = 16
	for i := 2; i < long; i++ {
		knot(fmt.Sprintf("/redirect/long-%d.html", i), fmt.Sprintf("/redirect/long-%d.html", i+1), maybe, false)
	}
	end := s.add(s.page(fmt.Sprintf("/redirect/long-%d.html", long), doc{text: "Sixteen steps from home."}))
	end.want.Optional = true

	other := s.web.sites[(s.index+1)%len(s.web.sites)]
	s.enter(hop("/redirect/other-host.html", 301, other.url("/"), other.url("/")))
	if !s.allowed("/private/secret-1.html", s.web.cfg.Agent) {
		local("forbidden.html", 302, "/private/secret-1.html", "/private/secret-1.html")
	}
	for _, away := range [][2]string{
		{"outside.html", "http://elsewhere.example/"}, {"metadata.html", "http://169.254.169.254/latest/meta-data/"},
		{"loopback.html", "http://127.0.0.1/"}, {"localhost.html", "http://localhost/"}, {"private-net.html", "http://10.1.2.3/"},
	} {
		s.enter(hop("/redirect/"+away[0], 302, away[1], away[1]))
	}
	nowhere := plain(302, "no Location\n")
	s.enter(&resource{path: "/redirect/nowhere.html", want: failed(ReasonLocation), answer: always(nowhere)})
	odd := failed(ReasonLocation)
	odd.Also = []Class{Refused, Redirected}
	s.enter(&resource{path: "/redirect/mail.html", want: odd, answer: always(redirect(302, "mailto:webmaster@"+s.name))})
}
