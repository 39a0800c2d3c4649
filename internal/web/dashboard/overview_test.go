package dashboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/web"
)

// The overview has the numbers of the status with units, and text from sites is text.
func TestOverview(t *testing.T) {
	code, body := browse(t, shows(Options{}, running())).get("/")
	if code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	for _, want := range []string{
		"Running", "3 h 20 min left", "Waiting for docs.example.org: 1,204 pages at 10 s.", "Rate", "<dd>1,000", "<dd>1,204", "<dd>3.2/s", "<dd>5 MiB", "2,410 URLs discovered", "robots", "slow.example",
		"Crawl-delay: &lt;b&gt;3600&lt;/b&gt;", "indexer-1", "4,711", "its robots.txt forbids it", "30 GiB of 120 GiB", `<a href="/pages?type=html">html</a><td class="n">970<td class="n soft">97%`, `<a href="/search?q=lang%3Ade">German</a><td class="n">40`, `href="/search"`, `aria-current="page"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the overview does not say %q", want)
		}
	}
	if strings.Contains(body, "\u202e") || strings.Contains(body, "<b>3600") {
		t.Error("text of a site controls the page")
	}
}

// The owner of a shard is shown while there is one. In a crawl that does not run, a file has the
// last owner.
func TestWhoHasShards(t *testing.T) {
	v := overviewView{Status: crawl.Status{State: "running"}, Shards: []crawl.ShardStatus{{Shard: 0, Owner: "frontier-1"}, {Shard: 1, Owner: "frontier-2"}}, IndexerOf: map[int]string{0: "indexer-1"}}
	for _, controlled := range []bool{true, false} {
		var body bytes.Buffer
		v.CanControl = controlled
		if err := pageTemplates.Of("overview.html").Execute(&body, web.Frame{V: v}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(body.String(), "frontier-1") && strings.Contains(body.String(), "none at the moment"); got != controlled {
			t.Errorf("somebody runs: %v, frontiers are named: %v", controlled, got)
		}
		if got := strings.Count(body.String(), "not running"); controlled && got != 0 || !controlled && got != 3 {
			t.Errorf("somebody runs: %v, not running are %d", controlled, got)
		}
	}
}

// The time left is shown once, and only if there is any.
func TestTimeLeft(t *testing.T) {
	eta := func(s float64) *float64 { return &s }
	for _, tt := range []struct {
		st   crawl.Status
		want string
	}{
		{crawl.Status{ETA: eta(0)}, "nothing left"}, {crawl.Status{}, "nothing left"},
		{crawl.Status{Queued: 3, ETA: eta(8.2)}, "9 s left"}, {crawl.Status{Queued: 3, AtLeast: 8}, "at least 8 s left"},
		{crawl.Status{InFlight: 3, ETA: eta(12000)}, "3 h 20 min left"}, {crawl.Status{Queued: 3}, "time left unknown"},
		{crawl.Status{ETA: eta(0), Round: &crawl.Round{Number: 3}}, "in round 3"}, {crawl.Status{ETA: eta(0), Round: &crawl.Round{Number: 3, Over: true}}, "nothing left"},
		{crawl.Status{Queued: 3, ETA: eta(0), Postponed: []crawl.PostponedHost{{}}}, ""},
		{crawl.Status{Queued: 3, Bottleneck: &crawl.Bottleneck{Kind: crawl.WaitsPaused}}, ""},
	} {
		if got := timeLeft(tt.st); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.st, got, tt.want)
		}
	}
	st := running()
	st.Queued, st.InFlight, st.Outlook, st.Postponed = 0, 0, &crawl.Outlook{}, nil
	if _, body := browse(t, shows(Options{}, st)).get("/"); !strings.Contains(body, ", nothing left</span>") {
		t.Errorf("with nothing left: %.3000s", body)
	}
}

// A crawl with rounds shows the number of the current one, when it began, and when the next begins.
func TestOverviewOfRounds(t *testing.T) {
	began := time.Date(2026, 11, 24, 6, 0, 0, 0, time.UTC)
	at := func(t time.Time) string { return `<time datetime="` + t.Local().Format(time.RFC3339) + `"` }
	for _, over := range []bool{false, true} {
		st := running()
		st.Round = &crawl.Round{Number: 3, Began: began, Next: began.Add(24 * time.Hour), Over: over}
		_, body := browse(t, shows(Options{}, st)).get("/")
		_, said, _ := strings.Cut(body, "<p>Round 3 ")
		said, _, _ = strings.Cut(said, "</p>")
		if strings.HasPrefix(said, "is over; it began") != over || !strings.Contains(said, "began "+at(began)) || !strings.Contains(said, "the next begins "+at(began.Add(24*time.Hour))) {
			t.Errorf("over %v: %q", over, said)
		}
	}
	if _, body := browse(t, shows(Options{}, running())).get("/"); strings.Contains(body, "Round") {
		t.Error("a crawl without rounds tells of one")
	}
}

// Suggested commands are about this crawl, the archive is mentioned, and a reason leads to its
// URLs.
func TestOverviewLeadsOn(t *testing.T) {
	st := running()
	st.Limit = "max-pages"
	w := shows(Options{Typed: " --dir /srv/x"}, st)
	_, body := browse(t, w).get("/")
	for _, want := range []string{"<code>curtsy crawl --dir /srv/x</code>", `<a href="/log?reason=http-4xx"`, `data-l="WARC files">7<td class="n" data-l="size of these">3 MiB`} {
		if !strings.Contains(body, want) {
			t.Errorf("the overview does not say %q: %s", want, body)
		}
	}
	_, body = browse(t, w).get("/nowhere")
	if strings.Contains(body, "--dir") {
		t.Errorf("a page that says nothing to type: %s", body)
	}
}

// An empty crawl shows what to type, and one in trouble what is wrong.
func TestOverviewOfNothing(t *testing.T) {
	_, body := browse(t, shows(Options{}, crawl.Status{State: "done", Shards: []crawl.ShardStatus{{}}})).get("/")
	if !strings.Contains(body, "curtsy crawl --contact") || strings.Contains(body, "NaN") {
		t.Errorf("of nothing: %s", body)
	}
	_, body = browse(t, shows(Options{}, crawl.Status{State: "paused", Trouble: "the disk is <full>"})).get("/")
	if !strings.Contains(body, "the disk is &lt;full&gt;") || !strings.Contains(body, "Paused") {
		t.Errorf("in trouble: %s", body)
	}
}

// Missing parts are reported. If no process answers, a page says so, and reveals no secret.
func TestMissing(t *testing.T) {
	part := running()
	for name, c := range map[string]struct {
		err  error
		sent bool
		code int
		says string
	}{
		"a part": {&ask.IncompleteError{Question: "status", Missing: []int{1, 3}, Shards: 4}, true, 200, "(shards 1 and 3)"},
		"all":    {&ask.IncompleteError{Question: "status", Missing: []int{0, 1}, Shards: 2}, false, 503, "No process of this crawl"},
		"nobody": {fmt.Errorf("%w: really", ask.ErrNobody), false, 503, "No process of this crawl"},
		"late":   {context.DeadlineExceeded, false, 503, "No answer came in time"},
		"broken": {errors.New("/secret/file is damaged"), false, 500, "The server’s log"},
	} {
		w := New(Options{Ask: answering(ask.Handlers{"status": func(_ context.Context, _ []byte, send func(any) error) error {
			if c.sent {
				if err := send(part); err != nil {
					return err
				}
			}
			return c.err
		}})})
		resp := browse(t, w).ask("GET", "/", "")
		body := read(t, resp)
		if resp.StatusCode != c.code || !strings.Contains(body, c.says) || strings.Contains(body, "secret") || (resp.Header.Get("Retry-After") != "") != (c.code == 503) {
			t.Errorf("%s: %d %v %s", name, resp.StatusCode, resp.Header, body)
		}
	}
}

// Every reason has a description.
func TestReasonWords(t *testing.T) {
	source, err := os.ReadFile("../../crawl/reason.go")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`Reason\w+ +Reason = "([^"]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(all) < 30 || len(all) != len(allReasons) {
		t.Errorf("%d reasons, of %d is said what they mean", len(all), len(allReasons))
	}
	for _, m := range all {
		if reasonWord(m[1]) == "" {
			t.Errorf("nothing is said of %s", m[1])
		}
	}
	if reasonWord("x") != "" {
		t.Error("a reason that is none means something")
	}
}

// The parts of the bar add up to the whole.
func TestPartsOf(t *testing.T) {
	end := 0.0
	for _, p := range partsOf(running()) {
		if p.From != end {
			t.Errorf("%s begins at %v, not at %v", p.Name, p.From, end)
		}
		end = p.From + p.Width
	}
	if math.Abs(end-1000) > 1e-9 {
		t.Errorf("the bar ends at %v", end)
	}
	for _, p := range partsOf(crawl.Status{}) {
		if p.Width != 0 {
			t.Errorf("of nothing %s has %v", p.Name, p.Width)
		}
	}
}

// Only existing addresses answer, by the methods that they have.
func TestRoutes(t *testing.T) {
	c := browse(t, shows(Options{Metrics: true}, running()))
	var paths []string
	for _, n := range menu {
		for _, n := range append(n.Sub, n) {
			if n.Path != "" && n.Path != "/search" {
				paths = append(paths, n.Path)
			}
		}
	}
	for _, path := range paths {
		if code, body := c.get(path); code != 200 || !strings.Contains(body, "<h1") {
			t.Errorf("%s: %d", path, code)
		}
		if code := c.ask("HEAD", path, "").StatusCode; code != 200 {
			t.Errorf("HEAD %s: %d", path, code)
		}
		if resp := c.ask("POST", path, ""); resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") == "" {
			t.Errorf("POST %s: %d", path, resp.StatusCode)
		}
	}
	for _, path := range []string{"/nothing", "/static/", "/static/../web.go", "/static/nothing.css", "//"} {
		if code, _ := c.get(path); code != 404 && code != 301 && code != 307 {
			t.Errorf("%s: %d", path, code)
		}
	}
	w := c.web.(*Web)
	for path, ours := range map[string]bool{"/": true, "/search": true, "/metrics": false, "/livez": false, "/readyz": false, "/debug/pprof/": false, "/debug": true} {
		if w.Serves(path) != ours {
			t.Errorf("%s is ours: %v", path, !ours)
		}
	}
}

// Browsers store files until they change.
func TestStatic(t *testing.T) {
	c := browse(t, shows(Options{}, running()))
	for _, name := range []string{"bar.css", "style.css", "live.js", "icon.svg"} {
		at, err := web.StaticURL(name)
		if err != nil {
			t.Fatal(err)
		}
		for path, kept := range map[string]bool{at: true, "/static/" + name: false, "/static/" + name + "?0": false} {
			resp := c.ask("GET", path, "")
			if resp.StatusCode != 200 || strings.Contains(resp.Header.Get("Cache-Control"), "immutable") != kept || resp.Header.Get("Content-Type") == "" {
				t.Errorf("%s: %d %v", path, resp.StatusCode, resp.Header)
			}
		}
	}
}

// Search has the same bar, and its policy allows its style.
func TestSearchMounted(t *testing.T) {
	c := browse(t, shows(Options{}, running()))
	resp := c.ask("GET", "/search?q=quiet", "")
	if body := read(t, resp); resp.StatusCode != 200 || !strings.Contains(body, `<li><a href="/search" aria-current="page">Search</a>`) || !strings.Contains(body, ".bar {") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if code, body := c.get("/api/v1/search?q=quiet"); code != 200 || !strings.Contains(body, `"hits":[]`) {
		t.Errorf("for programs: %d %s", code, body)
	}
}
