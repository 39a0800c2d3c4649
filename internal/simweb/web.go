package simweb

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/simweb/agentserver"
	"github.com/curtsy/curtsy/internal/simweb/prose"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/atp"
)

// Web is a simulated web: its sites, the state of those that change, and the log of requests. Its
// methods may be called concurrently.
type Web struct {
	cfg    Config
	sites  []*site
	byName map[string]*site
	text   []string // the pool of passages
	log    *requestlog.Log
	login  string // the Authorization that each request must have; "" means none
	agents map[atp.Address]*agentserver.Server

	mu     sync.Mutex     // guards counts
	counts map[string]int // how often a flapping URL was requested, by host and path

	overrides overrides
	editions  editions
	sent      sentLog
}

// New builds the web. Nothing is served and no file is opened until Start.
func New(cfg Config) *Web {
	cfg = cfg.withDefaults()
	w := &Web{
		cfg:    cfg,
		byName: make(map[string]*site, cfg.Hosts),
		text:   prose.Passages(cfg.Seed),
		log:    requestlog.New(cfg.LogLimit),
		counts: make(map[string]int),
	}
	if cfg.Login != "" {
		w.login = "Basic " + base64.StdEncoding.EncodeToString([]byte(cfg.Login))
	}
	for i := range cfg.Hosts {
		b, ok := cfg.Behaviors[i]
		if !ok {
			b = cfg.Mix(i)
		}
		s := newSite(w, i, b.withDefaults())
		w.sites = append(w.sites, s)
		w.byName[s.name] = s
	}
	w.copies()
	w.pair()
	for _, s := range w.sites {
		s.buildRobots()
		s.buildUsagePolicies()
		for _, f := range s.b.Features {
			features{s}.build(f)
		}
	}
	w.growTree()
	buildAgents(w)
	return w
}

// pair finds the peers of mirrors and redirected robots files, before any file is built: a mirror's
// peer claims to be the main host, and both have the same size.
func (w *Web) pair() {
	for _, s := range w.sites {
		kind := s.b.Robots
		if kind != RobotsMirror && kind != RobotsRedirect {
			continue
		}
		peer := s.peer()
		switch {
		case peer == nil:
			s.b.Robots = RobotsAllowAll
		case kind == RobotsRedirect:
			s.lender = peer
		default:
			s.mirror, s.lender, s.pages = peer, peer, peer.pages
			peer.hostLine = peer.name
			if peer.b.Robots == RobotsNone {
				peer.b.Robots = RobotsAllowAll
			}
		}
	}
}

// growTree links the home pages of the open hosts to the home pages of all other hosts, so that a
// crawler which starts at the first host can find every host.
func (w *Web) growTree() {
	const fan = 16
	var open, rest []*site
	for _, s := range w.sites {
		if s.index == 0 || s.mirror == nil && s.queuedBecause == "" && s.allowed("/", w.cfg.Agent) && s.allowed("/", "") {
			open = append(open, s)
		} else {
			rest = append(rest, s)
		}
	}
	for rank, s := range append(open, rest...) {
		if rank == 0 {
			continue
		}
		parent := (rank - 1) / fan
		if parent >= len(open) {
			parent = rank % len(open)
		}
		open[parent].children = append(open[parent].children, s)
	}
}

// Seeds are the URLs from which everything is reachable: the home of the first host.
func (w *Web) Seeds() []string { return []string{w.sites[0].url("/")} }

// Hosts are the names of all hosts, in order.
func (w *Web) Hosts() []string {
	names := make([]string, len(w.sites))
	for i, s := range w.sites {
		names[i] = s.name
	}
	return names
}

// Pages is the number of numbered pages on all hosts, without special pages and mirrors.
func (w *Web) Pages() int {
	n := 0
	for _, s := range w.sites {
		if s.mirror == nil {
			n += s.pages
		}
	}
	return n
}

// RareWords are words that only a few pages contain, with the URLs of those pages.
func (w *Web) RareWords() map[string][]string {
	out := make(map[string][]string, len(w.sites))
	for _, s := range w.sites {
		if s.mirror != nil {
			continue
		}
		for _, p := range s.rarePages {
			u := s.url(s.path(p))
			if list := out[s.rare]; len(list) == 0 || list[len(list)-1] != u {
				out[s.rare] = append(list, u)
			}
		}
	}
	return out
}

// Forbidden reports whether the robots.txt of the URL's host forbids it to the product token. On a
// host whose robots.txt cannot be read everything is forbidden; robots.txt itself never is. Hosts
// outside the web are unknown.
func (w *Web) Forbidden(rawURL, token string) bool {
	host, path, ok := w.split(rawURL)
	if !ok {
		return false
	}
	s := w.byName[host]
	return s != nil && s.forbidden(path, token)
}

// CrawlDelay is the delay that the host's robots.txt requests from the product token, 0 if there is
// none.
func (w *Web) CrawlDelay(host, token string) time.Duration {
	if s := w.byName[normalHost(host)]; s != nil {
		return s.crawlDelay(token)
	}
	return 0
}

// split splits an http URL: the host's name, and its path with the query.
func (w *Web) split(rawURL string) (host, path string, ok bool) {
	u, err := url.Parse(rawURL)
	if err != nil || !strings.EqualFold(u.Scheme, "http") || u.Host == "" {
		return "", "", false
	}
	path = u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return normalHost(u.Host), path, true
}

// normalHost is a Host header's name in lower case, without a port or a final dot.
func normalHost(h string) string {
	if i := strings.LastIndexByte(h, ':'); i >= 0 && !strings.HasSuffix(h, "]") {
		h = h[:i]
	}
	return strings.ToLower(strings.TrimSuffix(h, "."))
}

// failsYet counts one request for a flapping URL and reports whether it must fail.
func (w *Web) failsYet(s *site, path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := s.name + path
	w.counts[key]++
	return w.counts[key] <= s.b.Fails
}

// Reset makes flapping URLs fail again, as if nothing had been requested so far. The log is not
// changed.
func (w *Web) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.counts)
}

func hostName(i int, domain string) string { return fmt.Sprintf("h%04d.%s", i, domain) }
