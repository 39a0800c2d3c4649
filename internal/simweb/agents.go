package simweb

import (
	"bufio"
	"cmp"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/simweb/agentserver"
	"github.com/curtsy/curtsy/pkg/atp"
)

// AgentServer is a server for mobile robots. Start serves it at the same address as the web: a
// connection that begins with a method of ATP is one to an agent server.
type AgentServer struct {
	Host string // its name; "" is the site's own
	Port int    // 0 is the default port
	TLS  bool   // atps; Config.TLS must be set
	// robots.txt names the server for these paths; none means that Extra or RobotsText does so
	Paths []string
	agentserver.Behavior
}

// address returns where an agent server of the site is.
func (a *AgentServer) address(s *site) atp.Address {
	port := atp.Port // of both schemes, for a crawl
	return atp.Address{TLS: a.TLS, Host: strings.ToLower(cmp.Or(a.Host, s.name)), Port: cmp.Or(a.Port, port)}
}

// agents are the agent servers of a site.
type agents struct{ *site }

// buildAgents makes the agent servers of all sites.
func buildAgents(w *Web) {
	for _, s := range w.sites {
		for _, a := range s.b.Agents {
			o := agentserver.Options{Address: a.address(s), Origin: strings.TrimSuffix(s.url(""), "/"), Documents: agents{s}.documents, Log: w.log, Behavior: a.Behavior}
			if o.Address.Host == s.name {
				o.CrawlDelay = s.crawlDelay
			}
			if w.agents == nil {
				w.agents = make(map[atp.Address]*agentserver.Server)
			}
			w.agents[o.Address] = agentserver.New(o)
		}
	}
}

// AgentServer returns the server for mobile robots at an address such as atp://h0001.sim.test:434,
// or nil.
func (w *Web) AgentServer(address string) *agentserver.Server {
	a, err := atp.ParseAddress(address)
	if err != nil {
		return nil
	}
	return w.agents[a]
}

// lines are the lines of robots.txt that name the agent servers.
func (s agents) lines() (lines string) {
	for _, a := range s.b.Agents {
		for _, path := range a.Paths {
			at := a.address(s.site)
			lines += "Mobile-agent-server: " + path + " " + at.Scheme() + "://" + at.HostPort() + "\n"
		}
	}
	return lines
}

// documents are what a robot with a product token finds: the pages without a query that robots.txt
// does not close, as the site serves them. It does not find hidden pages, so that a crawl that
// compares some of them with the site's never requests one.
func (s agents) documents(token string) (docs []agentserver.Document) {
	add := func(path string, r reply) {
		if r.status != 200 || r.script != nil || strings.Contains(path, "?") || s.forbidden(path, token) {
			return
		}
		d := agentserver.Document{Path: path, Type: r.ctype, Body: slices.Clone(r.body)}
		for line := range strings.SplitSeq(strings.TrimSuffix(r.header, "\r\n"), "\r\n") {
			if name, _, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Content-Encoding") {
				return
			} else if line != "" {
				d.Header = append(d.Header, line)
			}
		}
		docs = append(docs, d)
	}
	buf := getBuffer()
	defer putBuffer(buf)
	for page := range s.pages {
		path := s.path(page)
		q := request{method: "GET", host: s.name, path: path}
		r, ok := s.web.overrides.reply(s.site, &q)
		if !ok {
			buf.b, buf.refs = buf.b[:0], buf.refs[:0]
			r = s.numbered(page, path, buf)
		}
		add(path, r)
	}
	for path, res := range s.special {
		if res.hidden || res.robots || res.varies || res.want.Class != Stored && res.want.Reason != ReasonNoindex {
			continue
		}
		q := request{method: "GET", host: s.name, path: path}
		r, ok := s.web.overrides.reply(s.site, &q)
		if !ok {
			buf.b, buf.refs = buf.b[:0], buf.refs[:0]
			r = res.answer(&q, buf)
		}
		add(path, r)
	}
	slices.SortFunc(docs, func(a, b agentserver.Document) int { return strings.Compare(a.Path, b.Path) })
	return docs
}

// Body returns the body with which a URL of the web is answered now. ok is false if it is not
// answered with 200, or if the answer depends on what was requested before.
func (w *Web) Body(rawURL string) (body []byte, ok bool) {
	host, path, ok := w.split(rawURL)
	s := w.byName[host]
	if !ok || s == nil {
		return nil, false
	}
	q := request{method: "GET", host: s.name, path: path}
	buf := getBuffer()
	defer putBuffer(buf)
	r, ok := w.overrides.reply(s, &q)
	if page, res, found := s.lookup(path); !ok {
		if s.mirror != nil {
			s = s.mirror
		}
		switch {
		case !found || res != nil && res.varies || s.b.MovedTo != "":
			return nil, false
		case res != nil:
			r = res.answer(&q, buf)
		default:
			r = s.numbered(page, path, buf)
		}
	}
	return slices.Clone(r.body), r.status == 200 && r.script == nil
}

// isATP reports whether a connection begins with a method of ATP.
func isATP(br *bufio.Reader) bool {
	first, _ := br.Peek(6) // what is missing makes it something else
	switch string(first) {
	case "DISPAT", "FETCH ", "RETRAC", "MESSAG":
		return true
	}
	return false
}
