package dashboard

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
)

// overviewView is what overview.html shows.
type overviewView struct {
	crawl.Status
	TimeLeft string // in words
	Parts    []part // of the URLs discovered
	Reasons  []service.Count
	Shards   []crawl.ShardStatus
	Steered  bool // somebody is there who can be told what to do
	MoreHeld int  // hosts on hold that are not listed
	Charts   []chart
	Spans    []spanLink
	Archived bool                // there are WARC files
	Types    []service.TypeCount // pages that search has, by what they are
	// IndexerOf names the indexer of each shard that has one.
	IndexerOf map[int]string
}

// part is a class of URLs as part of all of them. From and Width are in thousandths.
type part struct {
	Name, Class string
	N           int64
	From, Width float64
}

// heldShown is how many hosts on hold the overview lists.
const heldShown = 10

func overview(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	span, links, err := spanOf(r)
	if err != nil {
		return nil, err
	}
	st, err := c.Status(ctx)
	if err != nil && len(st.Shards) == 0 {
		return nil, err
	}
	h, past := c.History(ctx, span)
	if err == nil {
		err = past
	}
	v := overviewView{Status: st, TimeLeft: timeLeft(st), Reasons: service.Reasons(st), Parts: partsOf(st), Charts: chartsOf(h), Spans: links, Steered: !c.AtRest()}
	v.Shards = slices.SortedFunc(slices.Values(st.Shards), func(a, b crawl.ShardStatus) int { return a.Shard - b.Shard })
	v.IndexerOf = map[int]string{}
	for _, x := range st.Indexers {
		v.Archived = v.Archived || x.WARCFiles > 0
		for _, shard := range x.Shards {
			v.IndexerOf[shard] = x.Instance
		}
	}
	v.Types = service.PageTypes(st)
	if n := len(v.Held); n > heldShown {
		v.Held, v.MoreHeld = v.Held[:heldShown], n-heldShown
	}
	return v, err
}

// timeLeft is how long a crawl that runs is going to take, in words; "" where only hosts on hold
// are left, or such that are paused, which the page says anyway.
func timeLeft(st crawl.Status) string {
	switch {
	case st.Queued+st.InFlight == 0 && st.Round != nil && !st.Round.Over:
		// What is looked at again is not queued.
		return fmt.Sprintf("in round %d", st.Round.Number)
	case st.Queued+st.InFlight == 0:
		return "nothing left"
	case st.ETA == nil && st.AtLeast > 0:
		return "at least " + seconds(math.Ceil(st.AtLeast)) + " left"
	case st.ETA == nil && st.Bottleneck != nil && st.Bottleneck.Kind == crawl.WaitsPaused:
		return ""
	case st.ETA == nil:
		return "time left unknown"
	case *st.ETA <= 0:
		return ""
	}
	return seconds(math.Ceil(*st.ETA)) + " left"
}

// partsOf are the classes of all URLs, as pieces of one bar.
func partsOf(st crawl.Status) []part {
	all := []part{
		{Name: "stored", Class: "stored", N: st.Stored}, {Name: "redirected", Class: "redirected", N: st.Redirected},
		{Name: "refused", Class: "refused", N: st.Refused}, {Name: "failed", Class: "failed", N: st.Failed},
		{Name: "in flight", Class: "flight", N: st.InFlight}, {Name: "queued", Class: "queued", N: st.Queued},
	}
	var sum int64
	for _, p := range all {
		sum += p.N
	}
	from := 0.0
	for i := range all {
		if sum > 0 {
			all[i].From, all[i].Width = from, 1000*float64(all[i].N)/float64(sum)
		}
		from += all[i].Width
	}
	return all
}
