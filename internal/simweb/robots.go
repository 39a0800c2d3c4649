package simweb

import (
	"strconv"
	"strings"
	"time"
)

// Robots is a kind of robots.txt.
type Robots string

// The kinds of robots.txt. With those marked (queued) nothing else may be requested, and URLs stay
// queued.
const (
	RobotsNone     Robots = ""          // 404: allow all
	RobotsAllowAll Robots = "allow-all" // an empty Disallow
	RobotsClosed   Robots = "closed"    // Disallow: /
	RobotsSubtree  Robots = "subtree"   // a closed subtree with a longer Allow inside
	RobotsWildcard Robots = "wildcard"  // *, $ and query patterns
	// closed to all except Config.Agent, which has its own group
	RobotsAgent Robots = "agent"
	// BOM, CRLF and lone CR, comments, unknown records, rules before any group
	RobotsOdd          Robots = "odd"
	RobotsServerError  Robots = "server-error" // always 500 (queued)
	RobotsTimeout      Robots = "timeout"      // never answers (queued)
	RobotsReset        Robots = "reset"        // the connection is reset (queued)
	RobotsTruncated    Robots = "truncated"    // 200, but cut short by the network (queued)
	RobotsTooMany      Robots = "too-many"     // always 429 with Retry-After (queued)
	RobotsFlapping     Robots = "flapping"     // 503 Fails times, then like subtree
	RobotsUnauthorized Robots = "unauthorized" // 401: allow all
	RobotsForbidden    Robots = "forbidden"    // 403: allow all
	RobotsGone         Robots = "gone"         // 410: allow all
	RobotsPage         Robots = "html-page"    // an HTML error page with status 200: allow all
	RobotsSlow         Robots = "slow"         // like subtree, after Stall
	// over 512,000 bytes; text after the limit does not count
	RobotsHuge          Robots = "huge"
	RobotsRedirect      Robots = "redirect"       // to Peer's file, whose rules then hold here
	RobotsRedirectChain Robots = "redirect-chain" // five redirects, then like subtree
	RobotsRedirectLong  Robots = "redirect-long"  // six redirects: allow all
	RobotsRedirectLoop  Robots = "redirect-loop"  // allow all
	// Peer's site and file, whose Host line names Peer: closed here
	RobotsMirror Robots = "mirror"
	// like subtree, and a Host line naming this host: open
	RobotsHostSelf Robots = "host-self"
	// names sitemaps with pages to which no link leads
	RobotsSitemap Robots = "sitemap"
	RobotsPatient Robots = "patient" // a Crawl-delay of an hour (queued)
	RobotsCustom  Robots = "custom"  // Behavior.RobotsText
)

// steady reports whether other hosts can use the file of a host with this kind.
func (k Robots) steady() bool {
	switch k {
	case RobotsServerError, RobotsTimeout, RobotsReset, RobotsTruncated, RobotsTooMany, RobotsFlapping, RobotsPatient,
		RobotsRedirect, RobotsRedirectChain, RobotsRedirectLong, RobotsRedirectLoop, RobotsMirror:
		return false
	}
	return true
}

// robotsLimit is how much of a robots.txt counts.
const robotsLimit = 512000

// robotsFile is a site's robots.txt and, by construction, what it means.
type robotsFile struct {
	text   string                        // the file, where there is one
	allows func(path, token string) bool // its Allow and Disallow rules; nil allows all
	// paths that an explicit Allow longer than one octet permits; nil means none
	opens       func(path string) bool
	delay       func(token string) time.Duration  // its Crawl-delay; nil is none
	answer      func(q *request, b *buffer) reply // how it is served; nil means as text
	sitemapURLs []string                          // pages that only its sitemaps name
}

func (s *site) isAgent(token string) bool { return strings.EqualFold(token, s.web.cfg.Agent) }

// allowed reports whether the rules of the current file permit a path, including the implied rule
// of a Host line.
func (s *site) allowed(path, token string) bool {
	if strings.HasPrefix(path, "/robots.txt") && len(path) == len("/robots.txt") {
		return true
	}
	if g := s.given.Load(); g != nil {
		return !g.closed(path, token)
	}
	file, host := &s.robots, s.hostLine
	if s.lender != nil {
		file, host = &s.lender.robots, s.lender.hostLine
	}
	if file.allows != nil && !file.allows(path, token) {
		return false
	}
	return host == "" || host == s.name || file.opens != nil && file.opens(path)
}

func (s *site) forbidden(path, token string) bool {
	if path == "/robots.txt" {
		return false
	}
	if res := s.special[path]; res != nil && res.robots {
		return false
	}
	return s.given.Load() == nil && s.queuedBecause != "" && s.queuedBecause != ReasonCrawlDelay || !s.allowed(path, token)
}

func (s *site) crawlDelay(token string) time.Duration {
	file := &s.robots
	if s.lender != nil {
		file = &s.lender.robots
	}
	if s.given.Load() != nil || file.delay == nil {
		return 0
	}
	return file.delay(token)
}

// subtree is the rule that most variants share: /private/ is closed, /private/open/ is not.
func subtree(path, _ string) bool {
	return !strings.HasPrefix(path, "/private/") || subtreeOpens(path)
}

func subtreeOpens(path string) bool { return strings.HasPrefix(path, "/private/open/") }

const subtreeRules = "Disallow: /private/\nAllow: /private/open/\n"

// subtreePages are pages about which the subtree rules decide.
func (s *site) subtreePages() {
	for _, p := range []string{"/private/secret-1.html", "/private/secret-2.html", "/private/open/door.html", "/privately.html"} {
		s.enter(s.page(p, doc{text: "This page stands near a fence."}))
	}
}

func delayLine(d time.Duration) string {
	return "Crawl-delay: " + strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "\n"
}

// rulesText is a file with one group for everybody, the site's Crawl-delay, and its extra lines.
func (s *site) rulesText(rules string) string {
	text := "# robots.txt of " + s.name + "\nUser-agent: *\n" + rules
	return text + s.tailLines()
}

func (s *site) tailLines() string {
	var text string
	if s.b.CrawlDelay > 0 {
		text += delayLine(s.b.CrawlDelay)
	}
	if s.hostLine != "" {
		text += "Host: " + s.hostLine + "\n"
	}
	if s.hasSitemap() {
		text += "Sitemap: " + s.url(sitemapIndex) + "\nSitemap: /sitemap.txt\nSitemap: /sitemap-old.txt\n"
	}
	for _, line := range s.b.Extra {
		text += line + "\n"
	}
	return text + agents{s}.lines()
}

// buildRobots sets up the file, its pages and its redirects.
func (s *site) buildRobots() {
	f := &s.robots
	if s.b.CrawlDelay > 0 {
		d := s.b.CrawlDelay
		f.delay = func(string) time.Duration { return d }
		if d > 10*time.Minute {
			s.queuedBecause = ReasonCrawlDelay
		}
	}
	kind := s.b.Robots
	if kind == RobotsNone && (s.b.CrawlDelay > 0 || len(s.b.Extra) > 0 || len(s.b.Agents) > 0 || s.hasSitemap()) {
		kind = RobotsAllowAll
	}
	if s.hasSitemap() {
		features{s}.sitemaps()
	}
	useSubtree := func() {
		f.allows, f.opens = subtree, subtreeOpens
		f.text = s.rulesText(subtreeRules)
		s.subtreePages()
	}
	switch kind {
	case RobotsAllowAll, RobotsSitemap:
		f.text = s.rulesText("Disallow:\n")
	case RobotsClosed:
		f.text = s.rulesText("Disallow: /\n")
		f.allows = func(string, string) bool { return false }
	case RobotsSubtree, RobotsFlapping, RobotsSlow:
		useSubtree()
	case RobotsHostSelf:
		s.hostLine = s.name
		useSubtree()
	case RobotsWildcard:
		s.wildcardRobots()
	case RobotsAgent:
		s.agentRobots()
	case RobotsOdd:
		s.oddRobots()
	case RobotsHuge:
		s.hugeRobots()
	case RobotsPatient:
		s.b.CrawlDelay = time.Hour
		s.queuedBecause = ReasonCrawlDelay
		f.delay = func(string) time.Duration { return time.Hour }
		useSubtree()
	case RobotsRedirectChain:
		useSubtree()
		s.robotsHops(5)
	case RobotsRedirectLong:
		f.text = s.rulesText("Disallow: /\n")
		f.delay = nil
		s.robotsHops(6)
	case RobotsServerError, RobotsTimeout, RobotsReset, RobotsTruncated, RobotsTooMany:
		f.text = s.rulesText("Disallow:\n")
		f.delay = nil
		s.queuedBecause = ReasonUnreachable
	case RobotsCustom:
		f.text, f.allows = s.b.RobotsText, func(path, token string) bool { return s.b.Disallow == nil || !s.b.Disallow(path, token) }
	default: // no file, or none with a rule: allow all
		f.delay = nil
	}
	f.answer = s.robotsAnswer(kind)
}
