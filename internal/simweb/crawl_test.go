package simweb

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// naive is an obedient crawler in its simplest form. It does not read robots.txt but knows what is
// forbidden.
type naive struct {
	t     *testing.T
	srv   *Server
	c     *http.Client
	got   map[string]Class
	queue []string
	asked map[string]bool // hosts whose robots.txt was requested
}

func crawl(t *testing.T, srv *Server, c *http.Client) map[string]Class {
	n := &naive{t: t, srv: srv, c: c, got: map[string]Class{}, queue: srv.Seeds(), asked: map[string]bool{}}
	for len(n.queue) > 0 {
		u := n.queue[0]
		n.queue = n.queue[1:]
		if _, ok := n.got[u]; !ok && !srv.Trap(u) {
			n.got[u] = n.visit(u)
		}
	}
	for u, class := range n.got {
		if class == "" {
			delete(n.got, u)
		}
	}
	return n.got
}

// visit returns "" for links that do not count.
func (n *naive) visit(u string) Class {
	p, err := url.Parse(u)
	if err != nil || p.Scheme != "http" || !strings.HasSuffix(p.Hostname(), "."+n.srv.cfg.Domain) || len(u) > 2048 {
		return ""
	}
	if s := n.srv.byName[p.Hostname()]; s != nil && s.queuedBecause != "" {
		return StaysQueued
	}
	n.robots(p.Host)
	if n.srv.Forbidden(u, "curtsy") {
		return Refused
	}
	for try := 0; ; try++ {
		class, again := n.fetch(u, p)
		if !again || try == 3 {
			return class
		}
	}
}

func (n *naive) robots(host string) {
	if !n.asked[host] {
		n.asked[host] = true
		for range 2 {
			if res, _, err := get(n.t, n.c, "http://"+host+"/robots.txt"); err == nil && res.StatusCode < 500 {
				return
			}
		}
	}
}

func (n *naive) fetch(u string, base *url.URL) (class Class, again bool) {
	req, _ := http.NewRequest("GET", u, io.NopCloser(strings.NewReader("")))
	req.Header.Set("User-Agent", testAgent)
	res, err := n.c.Do(req)
	if err != nil {
		n.gone()
		var timeout net.Error
		return Failed, !errors.As(err, &timeout) || !timeout.Timeout()
	}
	defer res.Body.Close()
	switch code := res.StatusCode; {
	case code >= 300 && code < 400:
		target, err := base.Parse(res.Header.Get("Location"))
		if err != nil || res.Header.Get("Location") == "" {
			return Failed, false
		}
		n.add(target)
		return Redirected, false
	case code >= 500 || code == 429:
		return Failed, true
	case code != 200:
		return Failed, false
	}
	if coding := res.Header.Get("Content-Encoding"); coding != "" {
		return Failed, false
	}
	timer := time.AfterFunc(time.Second, func() { res.Body.Close() })
	body, err := io.ReadAll(io.LimitReader(res.Body, pageLimit))
	if inTime := timer.Stop(); err != nil {
		n.gone()
		return Failed, inTime
	}
	return n.read(res, string(body), base), false
}

// gone waits until the server has noticed that the client closed the connection: an earlier request
// would count as concurrent.
func (n *naive) gone() {
	for range 500 {
		log := n.srv.Log()
		if len(log) == 0 || !log[len(log)-1].End.IsZero() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// read follows the links of a page and reports whether it may be stored.
func (n *naive) read(res *http.Response, body string, base *url.URL) Class {
	ctype := strings.ToLower(res.Header.Get("Content-Type"))
	if ctype == "" {
		ctype = http.DetectContentType([]byte(body))
	}
	tags := strings.ToLower(strings.Join(append(res.Header.Values("X-Robots-Tag"), res.Header.Values("Robots-Tag")...), ";"))
	noindex, nofollow := ours(tags, "noindex"), ours(tags, "nofollow")
	if !strings.Contains(ctype, "html") {
		if noindex {
			return Refused
		}
		if strings.HasPrefix(ctype, "text/plain") {
			return Stored
		}
		return Refused
	}
	var links []string
	inHead := true
	z := html.NewTokenizer(strings.NewReader(strings.NewReplacer("<noscript>", "", "</noscript>", "").Replace(body)))
	for z.Next() != html.ErrorToken {
		tok := z.Token()
		if tok.Type != html.StartTagToken && tok.Type != html.SelfClosingTagToken {
			continue
		}
		at := map[string]string{}
		for _, a := range tok.Attr {
			at[a.Key] = strings.TrimSpace(a.Val)
		}
		switch {
		case tok.Data == "body":
			inHead = false
		case tok.Data == "base":
			base, _ = base.Parse(at["href"])
		case tok.Data == "meta" && inHead && (strings.EqualFold(at["name"], "robots") || strings.EqualFold(at["name"], "curtsy")):
			v := strings.ToLower(at["content"])
			noindex = noindex || strings.Contains(v, "noindex") || strings.Contains(v, "none")
			nofollow = nofollow || strings.Contains(v, "nofollow") || strings.Contains(v, "none")
		case tok.Data == "meta" && strings.EqualFold(at["http-equiv"], "refresh"):
			_, target, _ := strings.Cut(at["content"], "=")
			links = append(links, target)
		case strings.Contains(strings.ToLower(at["rel"]), "nofollow"):
		case tok.Data == "a" || tok.Data == "area":
			links = append(links, at["href"])
		case tok.Data == "frame" || tok.Data == "iframe":
			links = append(links, at["src"])
		}
	}
	for _, l := range links {
		l = strings.NewReplacer("\n", "", "\t", "").Replace(l)
		if to, err := base.Parse(l); err == nil && l != "" && !nofollow {
			n.add(to)
		}
	}
	if noindex {
		return Refused
	}
	return Stored
}

// add queues a URL in canonical form, as far as the links of this web require.
func (n *naive) add(u *url.URL) {
	u.Fragment, u.Host = "", strings.TrimSuffix(strings.ToLower(u.Host), ":80")
	if u.Path == "" {
		u.Path = "/"
	}
	n.queue = append(n.queue, u.String())
}

// ours reports whether the value of a robots header has the rule for all crawlers or for curtsy, as
// far as the headers of this web require.
func ours(value, rule string) bool {
	for part := range strings.SplitSeq(value, ";") {
		part = strings.TrimSpace(part)
		if strings.HasPrefix(part, "otherbot") {
			continue
		}
		if strings.Contains(part, rule) || strings.Contains(part, "none") {
			return true
		}
	}
	return false
}

func checkCrawl(t *testing.T, cfg Config) {
	t.Helper()
	srv, c := start(t, cfg)
	for i, d := range srv.DiffLinks("curtsy", crawl(t, srv, c)) {
		if i == 20 {
			break
		}
		t.Error(d)
	}
	for i, v := range requestlog.Check(srv.Log(), requestlog.CheckOptions{}) {
		if i == 20 {
			break
		}
		// The naive crawler does not wait.
		if v.Rule != requestlog.RuleRetryAfter && v.Rule != requestlog.RuleDelay {
			t.Error(v)
		}
	}
}

func TestNaiveCrawlerFindsWhatIsExpected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kinds := []Robots{
			RobotsAllowAll, RobotsNone, RobotsClosed, RobotsSubtree, RobotsWildcard, RobotsAgent, RobotsOdd, RobotsServerError, RobotsTimeout,
			RobotsReset, RobotsTruncated, RobotsTooMany, RobotsFlapping, RobotsUnauthorized, RobotsForbidden, RobotsGone, RobotsPage,
			RobotsHuge, RobotsRedirect, RobotsRedirectChain, RobotsRedirectLong, RobotsRedirectLoop, RobotsMirror, RobotsHostSelf,
		}
		checkCrawl(t, Config{Hosts: len(kinds), PagesPerHost: 20, CrossLinks: 3, Mix: func(i int) Behavior {
			return Behavior{Robots: kinds[i], Peer: 3}
		}})
	})
}
