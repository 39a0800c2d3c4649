package asker

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// part is what a shard says of hosts with so many URLs each, asked one a delay.
func part(shard int, sent float64, hosts ...crawl.Bottleneck) crawl.Status {
	o := &crawl.Outlook{Requests: sent, SpanS: 30}
	st := crawl.Status{State: "running", Outlook: o, Rate: sent, Hosts: int64(len(hosts)), Shards: []crawl.ShardStatus{{Shard: shard}}}
	for _, h := range hosts {
		h.Kind = crawl.WaitsHost
		h.LeftS = o.AddHost(float64(h.Queued), 0, time.Duration(h.DelayS*float64(time.Second)))
		st.Queued += h.Queued
		if o.Last == nil || h.LeftS > o.Last.LeftS {
			o.Last = &h
		}
	}
	return st
}

func TestForesee(t *testing.T) {
	fast, slow := crawl.Bottleneck{Host: "a.example", Queued: 100, DelayS: 1}, crawl.Bottleneck{Host: "docs.example", Queued: 1204, DelayS: 10}
	many := func(n int, h crawl.Bottleneck) (list []crawl.Bottleneck) {
		for range n {
			list = append(list, h)
		}
		return list
	}
	change := func(st crawl.Status, do func(*crawl.Status)) crawl.Status { do(&st); return st }
	for name, test := range map[string]struct {
		parts   []crawl.Status
		spec    crawl.Spec
		eta     float64 // -1: unknown
		atLeast float64
		kind    string
		says    string
	}{
		"the slowest host, whatever the rate": {parts: []crawl.Status{part(0, 1, fast), part(1, 0.1, slow)}, eta: 12040, kind: "host",
			says: "waiting for docs.example: 1,204 pages at 10 s"},
		"nothing sent yet": {parts: []crawl.Status{part(0, 0, slow)}, eta: 12040, kind: "host", says: "docs.example"},
		"the machine": {parts: []crawl.Status{part(0, 50, many(1000, fast)...)}, eta: 2000, kind: "machine",
			says: "Curtsy's own speed is the limit: 100,000 URLs on 1,000 hosts, 50.0 requests a second"},
		"the machine, after a pause": {parts: []crawl.Status{change(part(0, 50, many(1000, fast)...), func(st *crawl.Status) { st.Rate = 5 })},
			eta: 2000, kind: "machine", says: "50.0 requests a second"},
		"a rate that is nearly what delays allow": {parts: []crawl.Status{part(0, 800, many(1000, fast)...)}, eta: 100, kind: "host", says: "a.example"},
		// The fast host is done after 100 s; then the slow one alone has 40 more.
		"pages run out": {parts: []crawl.Status{change(part(0, 1, fast, slow), func(st *crawl.Status) { st.Stored, st.Redirected = 50, 50 })},
			spec: crawl.Spec{MaxPages: 125}, eta: 500, kind: "limit", says: "--max-pages allows 75 pages more"},
		"bytes run out": {parts: []crawl.Status{change(part(0, 1, slow), func(st *crawl.Status) { st.Stored, st.Bytes = 10, 10<<10 })},
			spec: crawl.Spec{MaxBytes: 15 << 10}, eta: 50, kind: "limit", says: "--max-bytes allows 5.0 KiB more"},
		"a limit that is not reached": {parts: []crawl.Status{part(0, 1, fast)}, spec: crawl.Spec{MaxPages: 5000}, eta: 100, kind: "host", says: "a.example"},
		"it grows": {parts: []crawl.Status{change(part(0, 1, fast, slow), func(st *crawl.Status) { st.Outlook.GrowingS = 12040 })},
			eta: -1, atLeast: 12040, kind: "host", says: "docs.example"},
		"what grows is small": {parts: []crawl.Status{change(part(0, 1, fast, slow), func(st *crawl.Status) { st.Outlook.GrowingS = 100 })},
			eta: 12040, kind: "host", says: "docs.example"},
		"it grows up to a limit": {parts: []crawl.Status{change(part(0, 1, fast), func(st *crawl.Status) { st.Outlook.GrowingS = 100 })},
			spec: crawl.Spec{MaxPages: 5000}, eta: 5000, kind: "limit", says: "allows 5,000 pages"},
		"done": {parts: []crawl.Status{part(0, 1)}, eta: 0},
		"only held hosts": {parts: []crawl.Status{change(part(0, 0), func(st *crawl.Status) {
			st.Queued, st.Postponed = 7, []crawl.PostponedHost{{Host: "slow.example", Queued: 7, Until: time.Date(2026, 11, 23, 1, 2, 0, 0, time.UTC)}}
		})}, eta: 0, kind: "held", says: "1 host cannot be visited now; slow.example may be visited again at 2026-11-23 01:02 UTC"},
		"hosts that are paused": {parts: []crawl.Status{change(part(0, 0), func(st *crawl.Status) { st.Queued = 7 })}, eta: -1,
			kind: "paused", says: "hosts that are paused"},
		"paused":    {parts: []crawl.Status{change(part(0, 0, slow), func(st *crawl.Status) { st.State = "paused" })}, eta: -1, kind: "paused", says: "curtsy resume"},
		"disk full": {parts: []crawl.Status{change(part(0, 0, slow), func(st *crawl.Status) { st.State, st.Trouble = "paused", "disk full" })}, eta: -1, kind: "disk", says: "disk full"},
	} {
		st := Sum(test.parts)
		foresee(&st, test.spec)
		switch {
		case st.Outlook != nil:
			t.Errorf("%s: the outlook of shards is told to people", name)
		case test.eta < 0 && st.ETA != nil, test.eta >= 0 && (st.ETA == nil || math.Abs(*st.ETA-test.eta) > 1):
			t.Errorf("%s: ETA %v, want %v", name, st.ETA, test.eta)
		case math.Abs(st.AtLeast-test.atLeast) > 1:
			t.Errorf("%s: at least %v, want %v", name, st.AtLeast, test.atLeast)
		case test.kind == "" && st.Bottleneck != nil, test.kind != "" && (st.Bottleneck == nil || st.Bottleneck.Kind != test.kind ||
			!strings.Contains(st.Bottleneck.Sentence, test.says)):
			t.Errorf("%s: %+v, want %s: %s", name, st.Bottleneck, test.kind, test.says)
		}
	}
}
