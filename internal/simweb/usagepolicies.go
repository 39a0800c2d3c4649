package simweb

import "slices"

// Uses is what somebody says pages may be used for: of a purpose ("search", "ai-input", "ai-train",
// "tdm") that it may, or that it may not. Of those that are missing nothing is said.
type Uses map[string]bool

// UsagePolicy is a page that says what it may be used for, and what that comes to, by construction:
// the crawler's own reading of it has no part here.
type UsagePolicy struct {
	Path   string   // "/": the home, which says what its site does
	Header []string // header lines, "Name: value"
	Head   string   // markup for its head

	Robots Uses // what the site's robots.txt says of it
	Answer Uses // what its headers and its markup say
	// Rights is what a tdmrep.json or a licence document says of it, for which a crawler asks only
	// when it crawls for more than search.
	Rights   Uses
	Inferred Uses // what it does not say, but may be concluded when pages are handed on
	Paid     bool // the answer is 402
}

// Asked tells whether a crawler for these purposes may ask for the page: some use of it is left by
// what can be known before.
func (w UsagePolicy) Asked(purposes ...string) bool {
	return left(purposes, w.Robots, w.before(purposes))
}

// before is what is said apart, if a crawler for these purposes asks for it.
func (w UsagePolicy) before(purposes []string) Uses {
	if slices.ContainsFunc(purposes, func(p string) bool { return p != "search" }) {
		return w.Rights
	}
	return nil
}

// Kept tells whether a crawler for these purposes may keep the page.
func (w UsagePolicy) Kept(purposes ...string) bool {
	return !w.Paid && left(purposes, w.Robots, w.before(purposes), w.Answer)
}

// Preference is what the page, as crawled for these purposes, says of a use: "allow", "disallow" or
// "unknown". The strictest counts.
func (w UsagePolicy) Preference(use string, purposes ...string) string {
	return strictest(use, w.Robots, w.before(purposes), w.Answer)
}

// Delivered is Says for pages that are handed on, what is inferred included.
func (w UsagePolicy) Delivered(use string, purposes ...string) string {
	return strictest(use, w.Robots, w.before(purposes), w.Answer, w.Inferred)
}

// RobotsPreference is what can be had of its site's robots.txt alone, what is inferred included.
func (w UsagePolicy) RobotsPreference(use string) string { return strictest(use, w.Robots, w.Inferred) }

func strictest(use string, all ...Uses) string {
	said := "unknown"
	for _, u := range all {
		switch yes, ok := u[use]; {
		case ok && !yes:
			return "disallow"
		case ok:
			said = "allow"
		}
	}
	return said
}

// left tells whether one of the purposes is not forbidden.
func left(purposes []string, all ...Uses) bool {
	return slices.ContainsFunc(purposes, func(p string) bool { return strictest(p, all...) != "disallow" })
}

// buildUsagePolicies adds the pages of Behavior.Wishes.
func (s *site) buildUsagePolicies() {
	for _, w := range s.b.UsagePolicies {
		if w.Path == "/" {
			continue
		}
		var header string
		for _, line := range w.Header {
			header += line + "\r\n"
		}
		r := s.page(w.Path, doc{text: "This page has a wish.", header: header, head: w.Head})
		if w.Paid {
			pay := plain(402, "payment required\n")
			pay.header = header
			r.answer = always(pay)
		}
		r.want = w.expect()
		s.enter(r)
	}
	for _, f := range s.b.Files {
		s.add(&resource{path: f.Path, want: Expectation{Class: Stored, Optional: true}, answer: always(reply{status: 200, ctype: f.ContentType, body: []byte(f.Body)})})
	}
}

// expect is what a crawler whose one purpose is search makes of the page.
func (w UsagePolicy) expect() Expectation {
	switch {
	case w.Paid:
		return refused(ReasonPayment)
	case !w.Kept("search"):
		return refused(ReasonUsage)
	}
	return Expectation{Class: Stored}
}

// File is something a site has that no page of it leads to.
type File struct{ Path, ContentType, Body string }

// UsagePolicies returns the pages of the web that say what they may be used for, by URL.
func (w *Web) UsagePolicies() map[string]UsagePolicy {
	out := map[string]UsagePolicy{}
	for _, s := range w.sites {
		for _, p := range s.b.UsagePolicies {
			out[s.url(p.Path)] = p
		}
	}
	return out
}
