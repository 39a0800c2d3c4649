package simweb

import "strings"

// What mirrors are made of: copies of sites under other names, and robots.txt files that change.

// givenRobots is a robots.txt that was put in the place of a host's own.
type givenRobots struct {
	status int
	text   string
	closed func(path, token string) bool
}

// SetRobots gives a host this robots.txt from now on, "" none at all. closed says what it forbids
// to a product token, for Forbidden and the log; nil means nothing.
func (w *Web) SetRobots(host, text string, closed func(path, token string) bool) {
	s := w.byName[host]
	if s == nil {
		panic("simweb: no host " + host)
	}
	g := &givenRobots{200, text, closed}
	if text == "" {
		g.status = 404
	}
	if closed == nil {
		g.closed = func(string, string) bool { return false }
	}
	s.given.Store(g)
}

// Closed says that a robots.txt closes everything except the paths that begin with one of these,
// for SetRobots and Behavior.Disallow.
func Closed(open ...string) func(path, token string) bool {
	return func(path, _ string) bool {
		for _, p := range open {
			if strings.HasPrefix(path, p) {
				return false
			}
		}
		return true
	}
}

// PageURLs are the numbered pages of a host, its home first, as they are on http.
func (w *Web) PageURLs(host string) (urls []string) {
	s := w.byName[host]
	for p := range s.pages {
		urls = append(urls, s.url(s.path(p)))
	}
	return urls
}

// copies finds whose pages the hosts with CopyOf serve.
func (w *Web) copies() {
	for _, s := range w.sites {
		if s.b.CopyOf == "" {
			continue
		}
		of := w.byName[s.b.CopyOf]
		if of == nil || of == s || of.b.CopyOf != "" {
			panic("simweb: " + s.name + " cannot be a copy of " + s.b.CopyOf)
		}
		s.mirror, s.pages = of, of.pages
	}
}
