package dispatch

import (
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// ask notes for which paths of an origin a robot is to be sent. Upkeep sends it.
func (s *Dispatches) ask(h *hosts.Host, i int, now time.Time) error {
	if !s.ledger.Judge.Spec.SendsRobots() {
		return nil
	}
	site, err := s.site(h, i)
	if err != nil || !site.known && !h.Origins[i].Agents {
		return err
	}
	if err := s.refresh(h, i, site, now); err != nil {
		return err
	}
	return s.put(site)
}

// refresh makes the paths of a record those for which a robot is wanted now. What is known of a
// path stays. The caller writes the record.
func (s *records) refresh(h *hosts.Host, i int, site *Site, now time.Time) error {
	site.Drops = slices.DeleteFunc(site.Drops, func(d Drop) bool { return !now.Before(d.Until) })
	if !s.ledger.Judge.Spec.SendsRobots() {
		return s.refuse(h, i, site) // what is known stays until they are switched on again
	}
	wanted := s.wanted(h, i)
	for j := range wanted {
		if p := site.path(wanted[j].About, wanted[j].Server); p != nil {
			line := wanted[j].Line
			wanted[j] = *p
			wanted[j].Line = line
		}
	}
	var about, server canon.URL
	switch {
	case site.Out != nil:
		about, server = site.Out.About, site.Out.Server
	case site.Check != nil:
		about, server = site.Check.About, site.Check.Server
	}
	same := func(p Path) bool { return p.About == about && p.Server == server }
	still := slices.ContainsFunc(wanted, same)
	if p := site.path(about, server); p != nil && !still {
		was := *p
		was.Line = 0
		wanted = append(wanted, was)
	}
	site.Paths = wanted
	switch {
	case site.Out == nil:
	case !still:
		return s.refuse(h, i, site)
	case site.Out.Unwanted:
		site.Out.Unwanted = false
		h.Origins[i].BeginDispatch(site.Out.Life.Add(Patience))
	}
	return nil
}

// wanted are the paths of an origin for which a robot is to be sent.
func (s *records) wanted(h *hosts.Host, i int) []Path {
	o := &h.Origins[i]
	if o.Copy != crawl.RobotsParsed || !o.Agents || o.Mirror.Mirrored() || h.Closed {
		return nil
	}
	list := Named(s.ledger.RobotsFile(h, o), o.Origin, s.mayUse)
	list = slices.DeleteFunc(list, func(p Path) bool {
		return s.ledger.Judge.Forgotten.Has(p.About) || !s.ledger.Judge.Scope.Decide(p.About).In
	})
	return list[:min(len(list), MaxPaths)]
}

// Named are the paths of an origin for which its robots.txt names a server that may be used, in the
// order of the file. A line whose path later lines override as a whole has none, nor has one whose
// path is below another of the same server. Of a file with more than MaxLines such lines, the
// further ones name none.
func Named(f *robots.File, o canon.Origin, mayUse func(o canon.Origin, server canon.URL) bool) (list []Path) {
	lines := f.AgentServers()
	for _, line := range lines[:min(len(lines), MaxLines)] {
		server, ok := crawl.AgentServerURL(line.Target)
		if line.Target == "" || !ok || !mayUse(o, server) {
			continue
		}
		about, ok := subtree(o, line.Path)
		if !ok {
			continue
		}
		// The last matching line decides about a URL. If it decides about the path itself, the line
		// is no longer needed for anything below it, and if it is this one, for everything there.
		if target, _ := f.AgentServer(about.Path()); target != line.Target {
			continue
		}
		p := Path{About: about, Server: server, Line: line.Line}
		if slices.ContainsFunc(list, func(q Path) bool { return q.Server == server && below(about, q.About) }) {
			continue
		}
		list = slices.DeleteFunc(list, func(q Path) bool { return q.Server == server && below(q.About, about) })
		list = append(list, p)
	}
	return list
}

// subtree is the URL below which a robot reads for a path of a robots.txt.
func subtree(o canon.Origin, path string) (u canon.URL, ok bool) {
	if !strings.HasSuffix(path, "/") {
		path += "/"
	}
	u, err := canon.Parse(o.String() + path)
	return u, err == nil && u.Origin() == o && strings.HasSuffix(u.PathQuery(), "/") && !strings.Contains(u.PathQuery(), "?")
}

// below reports that a URL is a path that a robot reads, or below it.
func below(u, about canon.URL) bool { return strings.HasPrefix(string(u), string(about)) }

// mayUse reports whether robots may be sent to a server on behalf of an origin: it is of the same
// registered domain, or the operator lists it.
func (s *records) mayUse(o canon.Origin, server canon.URL) bool {
	if server.Host().Registered() == o.Host.Registered() {
		return true
	}
	_, address, _ := strings.Cut(crawl.AgentAddress(server), "://")
	return slices.ContainsFunc(s.ledger.Judge.Spec.RobotServers, func(entry string) bool {
		return strings.EqualFold(entry, string(server.Host())) || strings.EqualFold(entry, address)
	})
}
