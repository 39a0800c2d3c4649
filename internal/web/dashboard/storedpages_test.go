package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// The list of pages keeps its filters, shows by what it can be narrowed, and leads from each page
// to its explanation and its text.
func TestStoredPages(t *testing.T) {
	var asked crawl.PagesQuery
	c := browse(t, New(Options{Ask: answering(ask.Handlers{"pages-page": func(_ context.Context, data []byte, send func(any) error) error {
		asked = crawl.PagesQuery{}
		if err := json.Unmarshal(data, &asked); err != nil {
			return err
		}
		top, err := questions.PagesPage.Top(asked)
		if err != nil {
			return err
		}
		for i := range 120 {
			at := fmt.Sprintf("https://docs.example.org/%d", i)
			stored := then.Add(time.Duration(i) * time.Second)
			top.Add(crawl.PageLine{URL: at, Title: fmt.Sprintf("Page <%d>", i), Type: "application/pdf", Lang: "de", Size: 3 << 20, StoredAt: stored,
				Fields: crawl.Fields{{Name: "doc_kind", Values: []string{"a <b>", "c"}}}})
		}
		return top.Send(0, questions.Sum{Total: 200, Matched: 120, Counts: map[string]int64{"type:pdf": 120, "type:html": 80, "lang:de": 110, "lang:none": 10}}, func(p questions.Part[crawl.PageLine]) error { return send(p) })
	}})}))
	_, body := c.get("/pages?q=page+one&host=docs&type=pdf&lang=de")
	for _, want := range []string{
		"120 pages of 200, newest first", `<option value="pdf" selected>pdf (120)`, `<option value="html">html (80)`, `<option value="de" selected>German (110)`,
		`<option value="none">not known (10)`, "<b>Page &lt;119&gt;</b>", `href="/explain?url=https%3A%2F%2Fdocs.example.org%2F119"`, `href="/copy?url=https%3a%2f%2fdocs.example.org%2f119"`, "3 MiB",
		`<dt>doc kind</dt> <dd dir="auto">a &lt;b&gt;, c</dd>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the list does not have %q: %.3000s", want, body)
		}
	}
	if strings.Contains(body, "newest pages of each shard") {
		t.Error("a whole list is said to be a part")
	}
	if asked.Title != "page one" || asked.Host != "docs" || asked.Type != "pdf" || asked.Lang != "de" || !asked.Descending || asked.Brief {
		t.Errorf("asked for %+v", asked)
	}
	if n, pages := follow(t, c, "/pages?q=page", `<th scope="row">`); n != 120 || pages != 3 {
		t.Errorf("%d rows on %d pages", n, pages)
	}
	if code, _ := c.get("/pages?after=nonsense"); code != 400 {
		t.Errorf("a cursor of nothing: %d", code)
	}
}

// The shards report whether the list is complete: one of them may have more pages than are listed
// while the sum is small, because hidden pages do not count, or all of them may have fewer while
// the sum is large.
func TestStoredPagesPartial(t *testing.T) {
	for _, tt := range []struct {
		total, partial int64
		want           bool
	}{{crawl.MaxPagesListed - 1, 1, true}, {3 * crawl.MaxPagesListed, 0, false}} {
		w := New(Options{Ask: answering(ask.Handlers{"pages-page": func(_ context.Context, _ []byte, send func(any) error) error {
			top, err := questions.PagesPage.Top(crawl.PagesQuery{Paging: crawl.Paging{Limit: 1}})
			if err != nil {
				return err
			}
			return top.Send(0, questions.Sum{Total: tt.total, Matched: tt.total, Counts: map[string]int64{crawl.CountPartial: tt.partial}}, func(p questions.Part[crawl.PageLine]) error { return send(p) })
		}})})
		if _, body := browse(t, w).get("/pages"); strings.Contains(body, "The list has the 100,000 newest pages of each shard") != tt.want {
			t.Errorf("%d pages of shards of which %d have more: %.2000s", tt.total, tt.partial, body)
		}
	}
}

// A crawl that has ended is shown with the time, the duration and the result, and without a current
// rate.
func TestEnding(t *testing.T) {
	begun := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	st := crawl.Status{State: "done", Discovered: 110, Stored: 100, Redirected: 1, Refused: 6, Failed: 3, Bytes: 5 << 20, Hosts: 12, Shards: []crawl.ShardStatus{{}}}
	for _, state := range []string{"done", "stopped"} {
		st.State = state
		if state == "stopped" {
			st.Queued, st.Discovered = 7, 117
		}
		w := New(Options{Typed: " --dir /srv/x", Ask: answering(ask.Handlers{
			"status": sends(st), "history": sends(crawl.HistoryPart{Since: begun, Samples: past(begun).Samples}),
			"log": logs([]crawl.LogLine{{Time: begun.Add(200 * time.Second), URL: "https://a.example/", State: "stored"}, {Time: begun.Add(time.Hour), Audit: "forget"}}),
		})})
		_, body := browse(t, w).get("/")
		for _, want := range []string{
			map[string]string{"done": "Finished", "stopped": "Stopped"}[state], `<span class="soft"> <time datetime="` + begun.Add(200*time.Second).Local().Format(time.RFC3339),
			"100 pages of 12 hosts are stored. 6 URLs were refused and 3 failed.", "</time>, after ", `aria-current="true">all<`, "peak ", "curtsy export pages --dir /srv/x",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the overview does not have %q: %.4000s", state, want, body)
			}
		}
		if strings.Contains(body, "<dd>0/s") || strings.Contains(body, "<b>0/s") || strings.Contains(body, "Live.") || strings.Contains(body, "In flight") || strings.Contains(body, "Running") {
			t.Errorf("%s: it looks as if it went on: %.4000s", state, body)
		}
		if got := strings.Contains(body, "7 URLs are still queued"); got != (state == "stopped") {
			t.Errorf("%s: URLs are still queued: %v", state, got)
		}
	}
}

// Time in which the crawl did not run is not part of its duration.
func TestSilent(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	if got := silent(past(at), at, at.Add(3*time.Minute)); got != time.Minute {
		t.Errorf("silent for %v, want a minute", got)
	}
}

// The overview lists the hosts that take longest first, and only hosts that have failures.
func TestOverviewRanks(t *testing.T) {
	h := ask.Handlers{"status": sends(running()), "hosts-page": pagesHosts([]crawl.HostRow{
		{Host: "many.example", State: "due", Queued: 1000, DelayS: 1}, {Host: "slow.example", State: "due", Queued: 200, DelayS: 10, Failed: 2},
		{Host: "paused.example", State: "paused", Queued: 9000, DelayS: 10}, {Host: "idle.example", State: "idle", Failed: 7},
	}), "pages-page": pagesOf(questions.PagesPage.Sorts, []crawl.PageLine{{URL: "https://a.example/new", Title: "The newest", StoredAt: then}})}
	_, body := browse(t, New(Options{Ask: answering(h)})).get("/")
	section := func(id string) string {
		_, s, _ := strings.Cut(body, `id="`+id+`"`)
		s, _, _ = strings.Cut(s, "</section>")
		return s
	}
	slow, failing := section("slow-h"), section("failing-h")
	if a, b := strings.Index(slow, "slow.example"), strings.Index(slow, "many.example"); a < 0 || b < a || strings.Contains(slow, "paused.example") || strings.Contains(slow, "idle.example") || !strings.Contains(slow, "33 min 20 s") {
		t.Errorf("slow: %s", slow)
	}
	if a, b := strings.Index(failing, "idle.example"), strings.Index(failing, "slow.example"); a < 0 || b < a || strings.Contains(failing, "many.example") {
		t.Errorf("failing: %s", failing)
	}
	if s := section("newest-h"); !strings.Contains(s, "The newest") {
		t.Errorf("newest: %s", s)
	}
	if strings.Contains(body, "<details open") {
		t.Error("the shards of one process are not folded away")
	}
	st := running()
	st.Shards = append(st.Shards, crawl.ShardStatus{Shard: 1, Owner: "frontier-2"})
	h["status"] = sends(st)
	if _, body = browse(t, New(Options{Ask: answering(h)})).get("/"); !strings.Contains(body, "<details open") {
		t.Error("the shards of two processes are folded away")
	}
}

// A list for which there is no answer is unknown. Only if nothing is counted is there nothing.
func TestOverviewRanksUnknown(t *testing.T) {
	fails := func(context.Context, []byte, func(any) error) error { return errors.New("the disk is full") }
	unknown := []string{"The slowest hosts are not known at the moment.", "The hosts with failures are not known at the moment.", "The newest pages are not known at the moment."}
	nothing := []string{"No host has URLs to fetch.", "No URL failed.", "No page is stored yet."}
	none := running()
	none.Queued, none.Failed, none.Stored = 0, 0, 0
	for _, tt := range []struct {
		st       crawl.Status
		has, not []string
	}{{running(), unknown, nothing}, {none, nothing, unknown}} {
		_, body := browse(t, New(Options{Ask: answering(ask.Handlers{"status": sends(tt.st), "hosts-page": fails, "pages-page": fails})})).get("/")
		for i := range tt.has {
			if !strings.Contains(body, tt.has[i]) || strings.Contains(body, tt.not[i]) {
				t.Errorf("%d failed: want %q and not %q: %.3000s", tt.st.Failed, tt.has[i], tt.not[i], body)
			}
		}
	}
}

// The navigation has groups, and marks the page that is shown and its group.
func TestNavigation(t *testing.T) {
	c := browse(t, shows(Options{}, running()))
	for path, want := range map[string]string{
		"/": `<a href="/" aria-current="page">Overview</a>`, "/pages": `<a href="/pages" aria-current="page">Pages</a>`, "/mirrors": `<details class="on"><summary>More</summary>`,
		"/mobile-robots": `<a href="/mobile-robots" aria-current="page">Mobile robots</a>`,
	} {
		_, body := c.get(path)
		if strings.Count(body, `aria-current="page"`) != 1 || !strings.Contains(body, want) {
			t.Errorf("%s: the navigation has no %s", path, want)
		}
	}
}
