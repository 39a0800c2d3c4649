package requestlog

import (
	"fmt"
	"regexp"
	"slices"
	"time"
)

// The rules with which a log is checked.
const (
	// a request began while another to the same host was being answered
	RuleConcurrent = "concurrent"
	// a request began too soon after the end of the previous answer
	RuleDelay = "delay"
	// a request began before the time that a Retry-After had set: for the host, or for the server
	// for mobile robots that has set it
	RuleRetryAfter = "retry-after"
	RuleForbidden  = "forbidden" // robots.txt forbids the URL to this product token
	RuleNofollow   = "nofollow"  // only nofollow links lead to the URL
	// a page was requested before the robots.txt of its origin was answered
	RuleRobotsFirst = "robots-first"
	// a page was requested although robots.txt never had a usable answer
	RuleUnreachable = "robots-unreachable"
	RuleStale       = "robots-stale" // the last usable robots.txt was too old
	RuleUserAgent   = "user-agent"   // the User-Agent is missing or does not have the promised form
)

// CheckOptions contain the promises of the crawler. The zero value checks everything except a delay
// of the crawler's own; Crawl-delay is always checked, because the log contains it.
type CheckOptions struct {
	// minimum time from the end of an answer to the next start; nil means none
	Delay func(host string) time.Duration
	// 0 means 1 ms; little is needed, because the times of the log favour the crawler
	Tolerance time.Duration
	// how late the close of an aborted answer may have been noticed; 0 means 1 s. In any case the
	// next request must begin at least the delay after this one began.
	AbortTolerance time.Duration
	// the product token User-Agents must have; "" means any
	Token string
	// whether a User-Agent is right; nil means token/version (+contact)
	UserAgent func(agent string) bool
	// forbidden URLs that are unknown to the web; nil means none
	Forbidden    func(host, path, agent string) bool
	RobotsMaxAge time.Duration // 0 means 24 h
}

// Every is the same delay for every host.
func Every(d time.Duration) func(host string) time.Duration {
	return func(string) time.Duration { return d }
}

// Violation is one broken promise.
type Violation struct {
	Rule     string
	Request  Request
	Previous Request // the request that it followed too closely, for rules about two requests
	Detail   string
}

// String describes the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s http://%s%s at %s: %s", v.Rule, v.Request.Method, v.Request.Origin, v.Request.Path,
		v.Request.Start.Format("15:04:05.000000"), v.Detail)
}

var politeAgent = regexp.MustCompile(`^[A-Za-z_-]+/[^ ()]+ \(\+[^ ()][^()]*\)$`)

func (o CheckOptions) withDefaults() CheckOptions {
	if o.Delay == nil {
		o.Delay = func(string) time.Duration { return 0 }
	}
	if o.Tolerance == 0 {
		o.Tolerance = time.Millisecond
	}
	if o.AbortTolerance == 0 {
		o.AbortTolerance = time.Second
	}
	if o.UserAgent == nil {
		o.UserAgent = func(agent string) bool {
			return politeAgent.MatchString(agent) && (o.Token == "" || ProductToken(agent) == o.Token)
		}
	}
	if o.Forbidden == nil {
		o.Forbidden = func(string, string, string) bool { return false }
	}
	if o.RobotsMaxAge == 0 {
		o.RobotsMaxAge = 24 * time.Hour
	}
	return o
}

// Check finds every broken promise in a log, in the order of the requests. The log
// need not be sorted.
func Check(log []Request, opts CheckOptions) []Violation {
	opts = opts.withDefaults()
	log = slices.Clone(log)
	slices.SortStableFunc(log, func(a, b Request) int { return a.Start.Compare(b.Start) })
	hosts := make(map[string]*hostState)
	origins := make(map[string]*originState)
	var out []Violation
	for i := range log {
		r := &log[i]
		h := hosts[r.Host]
		if h == nil {
			h = &hostState{}
			hosts[r.Host] = h
		}
		o := origins[r.Origin]
		if o == nil {
			o = &originState{}
			origins[r.Origin] = o
		}
		report := func(rule string, prev *Request, format string, args ...any) {
			v := Violation{Rule: rule, Request: *r, Detail: fmt.Sprintf(format, args...)}
			if prev != nil {
				v.Previous = *prev
			}
			out = append(out, v)
		}
		h.check(r, &opts, report)
		o.check(r, &opts, report)
		if r.Forbidden || opts.Forbidden(r.Host, r.Path, r.UserAgent) {
			report(RuleForbidden, nil, "robots.txt forbids it to %q", ProductToken(r.UserAgent))
		}
		if r.Hidden {
			report(RuleNofollow, nil, "only nofollow links lead here")
		}
		if !opts.UserAgent(r.UserAgent) {
			report(RuleUserAgent, nil, "the User-Agent is %q", r.UserAgent)
		}
	}
	return out
}

// end is the earliest time at which the client can have finished with an answer. It may have closed
// the connection before that was noticed, but not before its request.
func (o *CheckOptions) end(r *Request) time.Time {
	if !r.Aborted || r.End.IsZero() {
		return r.End
	}
	if end := r.End.Add(-o.AbortTolerance); end.After(r.Start) {
		return end
	}
	return r.Start
}

type reporter func(rule string, prev *Request, format string, args ...any)

// hostState is the state for checking the spacing of requests to a host.
type hostState struct {
	last      *Request // the request whose answer ended last so far, or is still being answered
	patience  patience
	servers   map[string]*patience // of the host's servers for mobile robots, by origin
	pagesSeen bool                 // a page was requested, so the crawler had read the Crawl-delay
}

// patience is a time before which nothing may be requested.
type patience struct {
	until time.Time
	asker *Request // the answer with the Retry-After; nil: there was none
}

func (h *hostState) check(r *Request, o *CheckOptions, report reporter) {
	if p := h.last; p != nil {
		need := o.Delay(r.Host)
		if !r.Robots || h.pagesSeen {
			need = max(need, r.CrawlDelay)
		}
		gap := r.Start.Sub(o.end(p))
		switch {
		case p.End.IsZero():
			report(RuleConcurrent, p, "%s had begun %v before and is still being answered", p.Path, r.Start.Sub(p.Start))
		case gap < -o.Tolerance:
			report(RuleConcurrent, p, "%s was still being answered for %v", p.Path, -gap)
		case gap+o.Tolerance < need:
			report(RuleDelay, p, "%v after the answer to %s, want %v", gap, p.Path, need)
		}
	}
	// A server for robots that has no room says nothing about the web server beside it.
	p := &h.patience
	if r.Agent {
		if h.servers == nil {
			h.servers = map[string]*patience{}
		}
		if p = h.servers[r.Origin]; p == nil {
			p = new(patience)
			h.servers[r.Origin] = p
		}
	}
	for _, p := range []*patience{&h.patience, p} {
		if p.asker != nil && r.Start.Before(p.until) {
			report(RuleRetryAfter, p.asker, "%v before the Retry-After of %s ends", p.until.Sub(r.Start), p.asker.Path)
			break
		}
	}
	if r.RetryAfter > 0 {
		if until := r.End.Add(r.RetryAfter - o.Tolerance); until.After(p.until) {
			p.until, p.asker = until, r
		}
	}
	if h.last == nil || !h.last.End.IsZero() && (r.End.IsZero() || o.end(r).After(o.end(h.last))) {
		h.last = r
	}
	h.pagesSeen = h.pagesSeen || !r.Robots && !r.Agent
}

// originState is what is known of an origin's robots.txt.
type originState struct {
	asked bool
	good  []time.Time // when usable answers ended
}

func (s *originState) check(r *Request, o *CheckOptions, report reporter) {
	if r.Path == "/robots.txt" {
		s.asked = true
		if r.Status >= 200 && r.Status < 500 && r.Status != 402 && r.Status != 429 && !r.End.IsZero() {
			s.good = append(s.good, r.End)
		}
		return
	}
	if r.Robots || r.Agent { // a redirect on the way to a robots.txt, or no page
		return
	}
	var newest time.Time
	for _, t := range s.good {
		if !t.After(r.Start.Add(o.Tolerance)) && t.After(newest) {
			newest = t
		}
	}
	switch {
	case !s.asked:
		report(RuleRobotsFirst, nil, "its robots.txt was not requested before")
	case len(s.good) == 0:
		report(RuleUnreachable, nil, "its robots.txt never had a usable answer")
	case newest.IsZero():
		report(RuleRobotsFirst, nil, "its robots.txt was not answered yet")
	case r.Start.Sub(newest) > o.RobotsMaxAge:
		report(RuleStale, nil, "its robots.txt was read %v before", r.Start.Sub(newest).Round(time.Second))
	}
	if n := len(s.good); n > 2 { // older ones do not matter any more
		s.good = append(s.good[:0], s.good[n-2:]...)
	}
}

// CheckFile is Check for a log file, which may contain any number of runs of the crawler. A log
// without a request is an error, because it proves nothing.
func CheckFile(path string, opts CheckOptions) ([]Violation, error) {
	log, err := Read(path)
	if err != nil {
		return nil, err
	}
	if len(log) == 0 {
		return nil, fmt.Errorf("request log %s: no request in it", path)
	}
	return Check(log, opts), nil
}
