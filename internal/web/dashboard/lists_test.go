package dashboard

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
)

var nextLink = regexp.MustCompile(`<a href="([^"]+)" rel="next">`)

// follow counts the rows of a list on all its pages.
func follow(t *testing.T, c *client, path string, rows string) (n, pages int) {
	t.Helper()
	for ; path != "" && pages < 20; pages++ {
		code, body := c.get(path)
		if code != 200 {
			t.Fatalf("%s: %d %s", path, code, body)
		}
		n, path = n+strings.Count(body, rows), ""
		if m := nextLink.FindStringSubmatch(body); m != nil {
			path = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	return n, pages
}

// The list of hosts is sorted, filtered and paged, and each column shows how it is sorted.
func TestHostsPage(t *testing.T) {
	var rows []crawl.HostRow
	for i := range 120 {
		rows = append(rows, crawl.HostRow{Host: fmt.Sprintf("h%03d.example", i), State: "due", Queued: int64(i), Agents: i%2 == 0})
	}
	c := browse(t, New(Options{Ask: answering(ask.Handlers{"hosts-page": pagesHosts(rows)})}))
	for path, want := range map[string]int{"/hosts": 120, "/hosts?sort=queued&down=1": 120, "/hosts?q=h00": 10, "/hosts?has=agents&state=due": 60} {
		if n, pages := follow(t, c, path, `<th scope="row">`); n != want || pages != (want+perPage-1)/perPage {
			t.Errorf("%s: %d hosts on %d pages", path, n, pages)
		}
	}
	_, body := c.get("/hosts?sort=queued&down=1&q=h")
	if !strings.Contains(body, `aria-sort="descending"><a href="/hosts?q=h&amp;sort=queued">queued</a>`) || strings.Index(body, "h119.example") > strings.Index(body, "h118.example") {
		t.Errorf("not in the order asked for: %s", body)
	}
	if !strings.Contains(body, `<option value="due">due (120)`) || !strings.Contains(body, `href="/host/h119.example"`) {
		t.Errorf("no counts or links: %s", body)
	}
	for _, path := range []string{"/hosts?sort=nonsense", "/hosts?has=nonsense", "/hosts?after=nonsense", "/mobile-robots?after=nonsense", "/log?before=nonsense", "/log?class=nonsense"} {
		if code, _ := c.get(path); code != 400 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

func TestMobileRobotsPage(t *testing.T) {
	c := browse(t, New(Options{Ask: answering(ask.Handlers{
		"hosts-page": pagesHosts([]crawl.HostRow{{Host: "a.example", Agents: true}, {Host: "b.example"}}),
		"hosts": sends(crawl.HostInfo{Host: "a.example", AgentServers: []crawl.AgentInfo{{Path: "/x/", Target: "agents.example:7000", Line: 12}, {Path: "/", Target: "none", Line: 3}}},
			crawl.HostInfo{Host: "b.example", AgentServers: []crawl.AgentInfo{{Path: "/not-asked"}}}),
	})}))
	if resp := c.ask("GET", "/agents?q=a", ""); resp.StatusCode != 301 || resp.Header.Get("Location") != "/mobile-robots?q=a" {
		t.Errorf("by its old address: %d %v", resp.StatusCode, resp.Header)
	}
	_, body := c.get("/mobile-robots")
	if !strings.Contains(body, "agents.example:7000") || strings.Contains(body, "not-asked") || strings.Index(body, ">none<") > strings.Index(body, "/x/") {
		t.Errorf("%s", body)
	}
	if !strings.Contains(body, "This crawl sends no robots.") || !strings.Contains(body, "curtsy crawl --mobile-robots robot.pem") || strings.Contains(body, "Robots sent") {
		t.Errorf("a crawl that sends no robots: %s", body)
	}
}

// Each row says what came of a server, on the page of all and on that of its host.
func TestMobileRobotsRows(t *testing.T) {
	later := then.Add(720 * time.Hour)
	good := crawl.DispatchInfo{Origin: "https://a.example", Path: "/docs/", Server: "atp://a.example:434", Line: 2, State: "done", Sent: 1, At: &then, Next: &later,
		Pages: 1200, Unchanged: 34, Requests: 5, BytesReceived: 3 << 20, Sampled: 12, Confirmed: 11, Unclear: 1}
	bad := good
	bad.Path, bad.Server, bad.Line, bad.DroppedUntil, bad.DropReason, bad.Next = "/bad/", "atps://a.example:7000", 0, &later, "https://a.example/bad/x has other content", nil
	h := crawl.HostInfo{Host: "a.example", State: "due", Dispatches: []crawl.DispatchInfo{good, bad, {Origin: "https://a.example", Path: "/new/", Server: "atp://a.example:1", Line: 3, State: "waiting"}},
		AgentServers: []crawl.AgentInfo{{Path: "/docs", Target: "atp://a.example", Line: 2}, {Path: "/new/", Target: "atp://a.example:1", Line: 3}, {Path: "/far/", Target: "atp://b.example:9", Line: 4},
			{Path: "/old/", Target: "http://a.example:9", Line: 5}, {Path: "/", Target: "none", Line: 6}}}
	for i := range robotsShown {
		h.AgentServers = append(h.AgentServers, crawl.AgentInfo{Path: fmt.Sprintf("/p%d/", i), Target: "atp://a.example:1", Line: 7 + i})
	}
	spec := crawl.Spec{Name: "manuals", Shards: 2, SendRobots: true, MaxDepth: -1}
	st := running()
	st.MobileRobots = &crawl.MobileRobots{Outstanding: 1, Sent: 2, Pages: 2400, Dropped: 1}
	c := browse(t, New(Options{Ask: Of(asker.Stopped(spec, func() error { return nil }, ask.Handlers{
		"hosts-page": pagesHosts([]crawl.HostRow{{Host: "a.example", Agents: true}}), "hosts": sends(h), "status": sends(st), "timeline": sends(), "updates-page": sends(),
	}))}))
	for path, more := range map[string]string{"/mobile-robots": "and 46 more of this host", "/host/a.example": "<p>and 6 more.</p>"} {
		_, body := c.get(path)
		checkMarkup(t, body)
		for _, want := range []string{
			"<code>/docs/</code> <span class=\"soft\">line 2</span>", "1,200", "3 MiB", `5 <span class="soft">not 1,234</span>`, `11 of 12 same <span class="soft">1 unclear</span>`,
			"<code>/bad/</code><br>atps://a.example:7000", `<b class="alert">server dropped until `, "has other content", "none was sent yet",
			"--mobile-robots-server b.example:9", "neither atp:// nor atps://", "no robots", more,
		} {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %q: %s", path, want, body)
			}
		}
		if strings.Contains(body, "This crawl sends no robots.") || strings.Contains(body, "<code>/docs</code>") || strings.Count(body, "/new/</code>") != 1 {
			t.Errorf("%s: %s", path, body)
		}
	}
	if _, body := c.get("/mobile-robots"); !strings.Contains(body, "<dt>Servers dropped<dd>1</div>") || !strings.Contains(body, "<dt>Pages brought<dd>2,400</div>") {
		t.Errorf("the whole crawl: %s", body)
	}
}

// The log is shown from its end, with links to earlier lines. Actions are shown with their
// operator.
func TestLogPage(t *testing.T) {
	var lines []crawl.LogLine
	for i := range 250 {
		lines = append(lines, crawl.LogLine{Time: then, URL: fmt.Sprintf("https://h.example/%d", i), State: "failed", Reason: "timeout"})
	}
	lines = append(lines, crawl.LogLine{Time: then, Audit: "pause-host", What: "h.example", Who: "dashboard", From: "10.0.0.2"})
	c := browse(t, New(Options{Ask: answering(ask.Handlers{"log": logs(lines)})}))
	if n, pages := follow(t, c, "/log", `<th scope="row">`); n != 251 || pages != 3 {
		t.Errorf("%d lines on %d pages", n, pages)
	}
	_, body := c.get("/log?class=audit")
	if !strings.Contains(body, "<b>pause-host</b> h.example") || !strings.Contains(body, "by dashboard from 10.0.0.2") || strings.Contains(body, "<td>timeout") {
		t.Errorf("%s", body)
	}
	if _, body = c.get("/log?reason=dns"); strings.Contains(body, "<td>timeout") || strings.Contains(body, "h.example/249") {
		t.Errorf("of another reason: %s", body)
	}
	_, body = c.get("/log")
	if strings.Index(body, "pause-host") > strings.Index(body, "https://h.example/249") {
		t.Error("the latest is not first")
	}
}
