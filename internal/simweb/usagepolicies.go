package simweb

import "slices"

// Uses says whether pages may be used for a purpose ("search", "ai-input", "ai-train", "tdm").
// Purposes that are missing are not mentioned.
type Uses map[string]bool

// UsagePolicy is a page with statements about its use, and their meaning by construction: it does
// not depend on the crawler's own reading.
type UsagePolicy struct {
	Path   string   // "/": the home page, with the behaviour of its site
	Header []string // header lines, "Name: value"
	Head   string   // markup for its head

	Robots Uses // stated in the site's robots.txt
	Answer Uses // stated in its headers and its markup
	// Rights is what a tdmrep.json or a licence document states, which a crawler requests only when
	// it crawls for more than search.
	Rights   Uses
	Inferred Uses // not stated, but may be inferred when pages are passed on
	Paid     bool // the answer is 402
}

// Asked reports whether a crawler for these purposes may request the page: some use of it is left
// by what can be known before.
func (w UsagePolicy) Asked(purposes ...string) bool {
	return left(purposes, w.Robots, w.before(purposes))
}

// before is what rights files state, if a crawler for these purposes requests them.
func (w UsagePolicy) before(purposes []string) Uses {
	if slices.ContainsFunc(purposes, func(p string) bool { return p != "search" }) {
		return w.Rights
	}
	return nil
}

// Kept reports whether a crawler for these purposes may keep the page.
func (w UsagePolicy) Kept(purposes ...string) bool {
	return !w.Paid && left(purposes, w.Robots, w.before(purposes), w.Answer)
}

// Preference is the statement of the page about a use, if it is crawled for these purposes:
// "allow", "disallow" or "unknown". The strictest counts.
func (w UsagePolicy) Preference(use string, purposes ...string) string {
	return strictest(use, w.Robots, w.before(purposes), w.Answer)
}

// Delivered is Preference for pages that are passed on, including what is inferred.
func (w UsagePolicy) Delivered(use string, purposes ...string) string {
	return strictest(use, w.Robots, w.before(purposes), w.Answer, w.Inferred)
}

// RobotsPreference is what follows from its site's robots.txt alone, including what is inferred.
func (w UsagePolicy) RobotsPreference(use string) string { return strictest(use, w.Robots, w.Inferred) }

func strictest(use string, all ...Uses) string {
	value := "unknown"
	for _, u := range all {
		switch yes, ok := u[use]; {
		case ok && !yes:
			return "disallow"
		case ok:
			value = "allow"
		}
	}
	return value
}

// left reports whether one of the purposes is not forbidden.
func left(purposes []string, all ...Uses) bool {
	return slices.ContainsFunc(purposes, func(p string) bool { return strictest(p, all...) != "disallow" })
}

// buildUsagePolicies adds the pages of Behavior.UsagePolicies.
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

// expect is the expected result in a crawler whose only purpose is search.
func (w UsagePolicy) expect() Expectation {
	switch {
	case w.Paid:
		return refused(ReasonPayment)
	case !w.Kept("search"):
		return refused(ReasonUsage)
	}
	return Expectation{Class: Stored}
}

// File is a file of a site to which no page leads.
type File struct{ Path, ContentType, Body string }

// UsagePolicies returns the pages of the web with statements about their use, by URL.
func (w *Web) UsagePolicies() map[string]UsagePolicy {
	out := map[string]UsagePolicy{}
	for _, s := range w.sites {
		for _, p := range s.b.UsagePolicies {
			out[s.url(p.Path)] = p
		}
	}
	return out
}
