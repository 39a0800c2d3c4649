package simweb

import "strings"

// Building blocks of mirrors: copies of sites under other names, and robots.txt files that change.

// givenRobots is a robots.txt that replaces a host's own.
type givenRobots struct {
	status int
	text   string
	closed func(path, token string) bool
}

// SetRobots replaces a host's robots.txt from now on; "" means that it has none. closed reports
// which paths it forbids to a product token, for Forbidden and the log; nil means none.
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

// Closed returns a function that forbids everything except the paths that begin with one of these,
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

// PageURLs are the http URLs of the numbered pages of a host, its home first.
func (w *Web) PageURLs(host string) (urls []string) {
	s := w.byName[host]
	for p := range s.pages {
		urls = append(urls, s.url(s.path(p)))
	}
	return urls
}

// copies finds the hosts whose pages the hosts with CopyOf serve.
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
