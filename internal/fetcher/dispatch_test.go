package fetcher

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A robot is sent, its results are fetched, and each document becomes a page as if it had been
// requested.
func TestDispatch(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var records [][]byte
		for i := range 20 {
			records = append(records, docRecord(fmt.Sprintf("/docs/%02d.html", i), fmt.Sprintf("<title>%d</title><a href=/docs/new>x</a><p>This is page %d of the manual.", i, i), "Last-Modified: Fri, 20 Nov 2026 10:00:00 GMT"))
		}
		records = append(records, endRecord(20))
		h := newRobotHost(t, func(h *robotHost) { h.stream = resultsOf(t, 7, records...) })
		d := newDispatchDesk(t, func(p *crawl.DispatchPlan) {
			p.Known = []crawl.KnownPage{{Path: reading.PathHash("/docs/03.html"), Digest: 77, Depth: 5}, {Path: reading.PathHash("/docs/04.html"), Depth: 2}}
		})
		startFetcher(t, d.desk, dispatchSpec(h.addr), Options{Robot: testRobot(t)})
		out, a := d.carry(t)
		if a == nil || a.State != crawl.DispatchDone || a.Reason != "" || a.Pages != 20 || a.Documents != 20 || a.Ignored+a.Unchanged != 0 || a.AgentID != robotRun || a.Requests != 3 || a.Sent == 0 || a.Received < int64(len(h.stream)) {
			t.Fatalf("%+v", a)
		}
		if got := strings.Join(h.requests(), ", "); got != "DISPATCH, DISPATCH, FETCH octets=0-" {
			t.Errorf("requests: %s", got)
		}
		h.spaced(time.Second)
		if out.Requests != 3 || len(out.Done) != 1 || len(out.Results) != 0 || out.Bytes < int64(len(h.stream)) {
			t.Errorf("the server's visit: %+v", out)
		}
		ticket := h.tickets[1]
		if ticket.Site != robotSite || ticket.Subtree != "/docs/" || ticket.Token != "curtsy" || ticket.Host != "atp://agents.site.test" {
			t.Errorf("ticket %+v", ticket)
		}
		in, err := reading.ParseInput(h.inputs[1])
		if err != nil || in.Known.Len() != 1 || !in.Known.Has(reading.KnownHash("/docs/03.html", 77)) || in.MaxPages != 0 || in.MaxSize != 10<<20 || !in.Accepts("text/html; charset=utf-8") || in.Accepts("image/png") {
			t.Errorf("input %+v, %v", in, err)
		}
		results := d.results()
		links := d.links()
		for i := range 20 {
			u := mustURL(t, fmt.Sprintf("%s/docs/%02d.html", robotSite, i))
			r := results[u]
			if r.Class != crawl.Stored || r.Status != 200 || r.Rule != "mobile robot "+robotServer || r.LastModified == "" || r.Digest == 0 {
				t.Errorf("result %+v", r)
			}
			page := d.pageOf(u)
			depth := map[int]int{3: 5, 4: 2}[i]
			if depth == 0 {
				depth = 1
			}
			if page.Visit != d.visit || page.Depth != depth || page.FoundOn != robotSite+"/robots.txt" || !strings.Contains(string(unpack(t, page)), fmt.Sprintf("page %d of", i)) || page.Head.Title != fmt.Sprint(i) {
				t.Errorf("page %+v", page)
			}
			if l, ok := links[u]; ok == (i == 3 || i == 4) || ok && (l.Source != crawl.SourceRobot || l.Depth != 1 || l.FoundOn != robotSite+"/robots.txt") {
				t.Errorf("%s is offered as %+v", u, l)
			}
		}
		if l := links[robotSite+"/docs/new"]; l.FoundOn == "" || l.Source != crawl.SourcePage {
			t.Errorf("the link on the pages is offered as %+v", l)
		}
		checkSample(t, d, a, 8)
		d.checkProgress(t)
	})
}

// checkSample: the sample has so many pages, and what the server sent of them.
func checkSample(t testing.TB, d *dispatchDesk, a *crawl.Dispatch, want int) {
	t.Helper()
	results, seen := d.results(), map[canon.URL]bool{}
	for _, s := range a.Sample {
		if seen[s.URL] || s.Digest == 0 || s.Digest != results[s.URL].Digest || s.Type != "text/html" {
			t.Errorf("sample %+v", s)
		}
		seen[s.URL] = true
	}
	if len(a.Sample) != want {
		t.Errorf("%d pages in the sample, want %d", len(a.Sample), want)
	}
}

// checkProgress: the first report has the Agent-Id, so that another fetcher can go on, and counts
// and positions only grow.
func (d *dispatchDesk) checkProgress(t testing.TB) {
	t.Helper()
	all := d.progress()
	if len(all) == 0 || all[0].AgentID == "" || all[0].Pages != 0 || all[0].Offset != 0 || all[0].Began.IsZero() {
		t.Errorf("the first report is not about the beginning: %+v", all)
		return
	}
	for i, p := range all[1:] {
		if b := all[i]; p.Pages < b.Pages || p.Offset < b.Offset || p.Offset == b.Offset && p.Skip < b.Skip || p.Requests < b.Requests || p.AgentID != b.AgentID {
			t.Errorf("report %+v after %+v", p, b)
		}
	}
}

// Results come in pieces and over connections that are cut anywhere. Each page comes once.
func TestDispatchInPieces(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var records [][]byte
		for i := range 30 {
			records = append(records, docRecord(fmt.Sprintf("/docs/%02d.html", i), strings.Repeat(fmt.Sprintf("<p>%d and much text", i*7919), 50+i)))
		}
		records = append(records, endRecord(30))
		stream := resultsOf(t, 4, records...)
		h := newRobotHost(t, func(h *robotHost) { h.stream, h.piece, h.has = stream, len(stream)/7, true })
		d := newDispatchDesk(t, nil)
		startFetcher(t, d.desk, dispatchSpec(h.addr), Options{Robot: testRobot(t)})
		_, a := d.carry(t)
		if a == nil || a.State != crawl.DispatchDone || a.Pages != 30 || a.Ignored != 0 || len(d.results()) != 30 {
			t.Fatalf("%+v, %d results; %v", a, len(d.results()), h.requests())
		}
		if n := len(h.requests()); n < 8 || n > 20 {
			t.Errorf("%d requests: %v", n, h.requests())
		}
		h.spaced(time.Second)
		d.checkProgress(t)
		d.mu.Lock()
		defer d.mu.Unlock()
		times := map[canon.URL]int{}
		for _, p := range d.pages {
			if times[p.URL]++; times[p.URL] > 1 {
				t.Errorf("%s was published again", p.URL)
			}
		}
	})
}
