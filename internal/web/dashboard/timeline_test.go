package dashboard

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
)

// sentAt is a request between two times in milliseconds.
func sentAt(from, to int, bound float64) crawl.Request {
	at := func(ms int) time.Time { return then.Add(time.Duration(ms) * time.Millisecond) }
	return crawl.Request{URL: "https://h.example/", Kind: "page", Start: at(from), End: at(to), Status: 200, BoundS: bound, BoundSource: "crawl-delay"}
}

// No bar begins within the required pause, unless its request did.
func TestTimelineShowsWhoIsEarly(t *testing.T) {
	cut := sentAt(7000, 0, 1)
	cut.Cut, cut.End = true, time.Time{}
	v := drawTimeline(crawl.Timeline{Host: "h.example", Requests: []crawl.Request{
		sentAt(0, 100, 1), sentAt(1100, 1200, 1), sentAt(2199, 2300, 1), sentAt(4300, 5000, 1), sentAt(6005, 6010, 1), cut, sentAt(7500, 7600, 1),
	}})
	early := []bool{false, false, true, false, false, true, false}
	for i, r := range v.Rows {
		if r.Early != early[i] || r.After && (r.X < r.Delay) != early[i] {
			t.Errorf("request %d: early %v, its bar at %v, owed up to %v", i, r.Early, r.X, r.Delay)
		}
		if r.X+r.W > drawWidth || r.W < barLeast && r.After {
			t.Errorf("request %d: a bar from %v, %v wide", i, r.X, r.W)
		}
	}
	if v.Early != 2 || v.Rows[0].After || v.Rows[6].After || v.Older != "" {
		t.Errorf("%d early, %+v", v.Early, v)
	}
	if n := len(v.Strip.Bars); n != 0 {
		t.Errorf("a strip of one request: %d bars", n) // what was before the last is not known
	}
}

// If no request was early, the page says so, with the shortest wait beyond the required pause.
func TestTimelineOfTheHost(t *testing.T) {
	tl := crawl.Timeline{Host: "h.example", More: true}
	for i := range requestsShown + 1 {
		tl.Requests = append(tl.Requests, sentAt(1500*i, 1500*i+480, 1))
	}
	v := drawTimeline(tl)
	if len(v.Rows) != requestsShown || !v.Rows[0].After || v.Early != 0 || v.Least != "20 ms" || len(v.Strip.Bars) != requestsShown {
		t.Fatalf("%d rows, %+v", len(v.Rows), v)
	}
	for i, b := range v.Strip.Bars {
		if i > 0 && b.DelayX+b.DelayWidth > b.X+0.2 {
			t.Errorf("bar %d at %v, owed up to %v", i, b.X, b.DelayX+b.DelayWidth)
		}
	}
	var asked []byte
	c := browse(t, New(Options{Ask: answering(ask.Handlers{
		"hosts": sends(crawl.HostInfo{Host: "h.example", State: "waiting"}, crawl.HostInfo{Host: "other.example"}),
		"timeline": func(ctx context.Context, data []byte, send func(any) error) error {
			asked = data
			return sends(tl)(ctx, data, send)
		},
	})}))
	code, body := c.get("/host/H.example")
	if code != 200 || !strings.Contains(body, "None of these 40 requests began early. Each began at least 20 ms after its delay had ended.") || strings.Contains(body, "other.example") {
		t.Errorf("%d %s", code, body)
	}
	if !strings.Contains(body, "/host/h.example?before=2026-11-22T19%3A00%3A01.5Z#timeline") {
		t.Error("no link to the requests before")
	}
	if n := strings.Count(body, `class="n" data-l="waited">1.020 s`); n != requestsShown {
		t.Errorf("%d pauses in the table", n)
	}
	checkMarkup(t, body)
	if code, _ = c.get("/host/h.example?before=2026-11-22T19%3A00%3A01.5Z"); code != 200 || !strings.Contains(string(asked), `"before":"2026-11-22T19:00:01.5Z"`) {
		t.Errorf("%d, asked %s", code, asked)
	}
	if code, _ = c.get("/host/h.example?before=yesterday"); code != 400 {
		t.Errorf("a time that is none: %d", code)
	}
}

// A timeline may have anything: no time, everything at once, years, any order.
func TestTimelineOfNonsense(t *testing.T) {
	for name, all := range map[string][]crawl.Request{
		"nothing":      nil,
		"nothing owed": {sentAt(0, 0, 0), sentAt(0, 0, 0)},
		"at once":      {sentAt(0, 0, 1), sentAt(0, 0, 1), sentAt(0, 0, 1)},
		"backwards":    {sentAt(5000, 4000, 1), sentAt(1000, 500, 1), sentAt(0, -1, 1)},
		"years":        {sentAt(0, 1, 1e9), sentAt(1<<40, 1<<41, 1e9)},
		"no times":     {{}, {}, {Cut: true}, {}},
	} {
		v := drawTimeline(crawl.Timeline{Host: "h.example", Requests: all})
		for _, r := range v.Rows {
			if !(r.X >= 0 && r.X+r.W <= drawWidth && r.Delay >= 0 && r.Delay <= drawWidth) {
				t.Errorf("%s: %+v", name, r)
			}
		}
		for _, b := range v.Strip.Bars {
			if !(b.X >= 0 && b.X <= drawWidth && b.W >= 0 && b.DelayWidth >= 0) {
				t.Errorf("%s: %+v", name, b)
			}
		}
	}
}
