package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// Stacks as in profiles, shortened: innermost function first, the path of our module as ~.
func TestStageOf(t *testing.T) {
	for _, tt := range []struct {
		stack string
		want  stage
	}{
		{"runtime.memmove net/http.(*persistConn).readLoop", fetch},
		{"internal/runtime/syscall/linux.Syscall6 syscall.write ~internal/fetcher/wire.(*conn).Write net/http.(*persistConn).writeLoop", fetch},
		{"~pkg/robots.(*Rules).Match ~internal/fetcher/visit.(*Visit).one ~internal/fetcher/visit.(*Visit).run", fetch},
		{"golang.org/x/net/html.(*Tokenizer).readByte ~internal/htmlscan.(*Scanner).tokenize ~internal/htmlscan.(*Scanner).Scan ~internal/fetcher/page.(*Pages).keep", tokenize},
		{"~pkg/canon.(*Base).JoinBytes ~internal/htmlscan.(*Scanner).resolve ~internal/htmlscan.(*Scanner).Scan", resolve},
		{"~internal/scope.(*Scope).Decide ~internal/fetcher/publish.(*outlinks).add ~internal/fetcher/page.(*Pages).Offer", resolve},
		{"~internal/scope.(*Scope).Decide ~internal/frontier/shard.(*Links).Apply ~internal/frontier.(*Shard).apply ~pkg/queue.(*follower).batch", apply},
		{"crypto/sha256.Sum256 ~internal/fetcher/publish.(*Publisher).Pack ~internal/fetcher/page.(*Pages).keep", pack},
		{"net.(*pipe).Write github.com/nats-io/nats%2ego.(*Conn).publish ~pkg/queue.(*publisher).try ~internal/fetcher/publish.(*Publisher).Event", handOff},
		{"~internal/crawl.AppendEvent ~internal/fetcher/publish.(*Publisher).Event ~internal/fetcher/visit.(*Visit).Close ~internal/fetcher.(*runner).start.func1", handOff},
		{"~pkg/queue.(*pull).take ~pkg/queue.(*Log).Follow ~internal/frontier.(*Frontier).follow", handOff},
		{"runtime.memclrNoHeapPointers github.com/nats-io/nats%2ego.(*Conn).readLoop", handOff},
		{"os.(*File).Write github.com/nats-io/nats-server/v2/server.(*msgBlock).flushPendingMsgsLocked", broker},
		{"go.etcd.io/bbolt.(*Tx).Commit ~internal/frontier/hosts.(*Ledger).Commit ~internal/frontier.(*Shard).applyOne", commit},
		{"go.etcd.io/bbolt.(*Bucket).Put ~internal/frontier/shard.(*Links).accept ~internal/frontier/shard.(*Links).Apply", apply},
		{"go.etcd.io/bbolt.(*Cursor).Seek ~internal/frontier/schedule.(*Visits).visitTo ~internal/frontier/schedule.(*Visits).Grant ~internal/frontier.(*matcher).grant", grant},
		{"~internal/crawl.DecodeGrants ~internal/fetcher.(*Fetcher).askVisits ~internal/fetcher.(*runner).take", grant},
		{"time.Time.AppendFormat ~internal/frontier/urls.(*URLs).LogLine ~internal/frontier/shard.(*Outcomes).result", crawlLog},
		{"go.etcd.io/bbolt.(*Tx).Commit ~internal/pages.(*Store).Put ~internal/indexer.(*shard).keep ~pkg/queue.(*consumption).batch", store},
		{"~internal/pagetext.(*Extractor).Text ~internal/search.(*Index).analyze ~internal/indexer.(*shard).followSearch", index},
		{"go.etcd.io/bbolt.(*Cursor).Next ~internal/pages.(*Store).Changes ~internal/search.(*Index).Step", index},
		{"runtime.scanObject runtime.gcDrain runtime.gcBgMarkWorker.func2 runtime.systemstack runtime.gcBgMarkWorker", collector},
		{"runtime.futex runtime.findRunnable runtime.schedule runtime.park_m runtime.mcall", scheduler},
		{"encoding/json.Unmarshal ~internal/asker.Done ~bench/crawling.Watch main.run", overhead},
		{"somebody.else", unattributed},
		{"", unattributed},
	} {
		if got := stageOf(strings.Fields(strings.ReplaceAll(tt.stack, "~", our))); got != tt.want {
			t.Errorf("%s\n  is %q, want %q", tt.stack, stageNames[got], stageNames[tt.want])
		}
	}
}

func TestEveryStageHasAName(t *testing.T) {
	for i, name := range stageNames {
		if name == "" {
			t.Errorf("stage %d has no name", i)
		}
	}
}

// Work for statements about use is found in any stage, also by types of generic functions.
func TestUseOf(t *testing.T) {
	sample := func(n int64, names ...string) *profile.Sample {
		s := &profile.Sample{Value: []int64{n, n}}
		for _, name := range names {
			s.Location = append(s.Location, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}})
		}
		return s
	}
	p := &profile.Profile{Sample: []*profile.Sample{
		sample(1, "runtime.mallocgc", our+"internal/pages.appendUsage", our+"internal/pages.(*Store).Put"),
		sample(2, our+"internal/crawl.fields.each[go.shape.struct { "+our+"pkg/usage.Place }].func1"),
		sample(4, our+"pkg/robots.(*Rules).Match", our+"internal/fetcher/visit.(*Visit).one"),
	}, SampleType: []*profile.ValueType{{}, {}}}
	if got := useOf(p); got != 3 {
		t.Errorf("%d, want 3", got)
	}
}

// Every sample is attributed exactly once: the sum equals that of the profile.
func TestCostsOf(t *testing.T) {
	at := func(names ...string) (locs []*profile.Location) {
		for _, n := range names {
			locs = append(locs, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: n}}}})
		}
		return locs
	}
	ms := int64(time.Millisecond)
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample: []*profile.Sample{
			{Location: at("runtime.mallocgc", "net/http.(*Transport).RoundTrip"), Value: []int64{2, 20 * ms}},
			{Location: at("internal/runtime/syscall/linux.Syscall6", "net/http.(*persistConn).readLoop"), Value: []int64{1, 10 * ms}},
			{Location: at("who.knows"), Value: []int64{1, 10 * ms}},
		},
	}
	c := costsOf(p)
	if got := c[fetch]; got != (cost{30 * time.Millisecond, 20 * time.Millisecond, 10 * time.Millisecond}) {
		t.Errorf("fetch: %+v", got)
	}
	if c[unattributed].total != 10*time.Millisecond || c.sum() != 40*time.Millisecond {
		t.Errorf("unattributed %v, sum %v", c[unattributed].total, c.sum())
	}
}
