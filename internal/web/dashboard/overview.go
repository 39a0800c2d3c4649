package dashboard

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/service"
)

// overviewView is what overview.html shows.
type overviewView struct {
	crawl.Status
	TimeLeft      string     // in words
	Ending        *endedView // how the crawl ended; nil: it has not
	Parts         []part     // of the URLs discovered
	Reasons       []service.Count
	MoreReasons   int // that are not listed
	Shards        []crawl.ShardStatus
	CanControl    bool // a process runs that can be controlled
	MorePostponed int  // postponed hosts that are not listed
	Charts        []chart
	Spans         []spanLink
	Archived      bool // there are WARC files
	// What can be searched.
	Types, Langs *counted // nil: nothing is known of it
	Slow         []crawl.HostRow
	Failing      []crawl.HostRow
	Newest       []crawl.PageLine
	Feeds        []feedRow // that fail
	// IndexerOf names the indexer of each shard that has one.
	IndexerOf map[int]string
	// OneProcess reports that one process owns the shards and stores the pages, or that none does.
	OneProcess   bool
	StorageWords string // the size of the stored pages, and the free space of the disk
}

func (v overviewView) ended() bool { return v.Ending != nil }

// counted are numbers of pages by one of their properties.
type counted struct {
	Caption, What string
	Rows          []countedRow
	Total         int64
	More          int // that are not listed
}

// countedRow is a value of a property, and the number of pages with it; URL lists them.
type countedRow struct {
	Name, URL string
	N         int64
}

// part is a class of URLs as a share of all. From and Width are in thousandths.
type part struct {
	Name, Class string
	N           int64
	From, Width float64
}

// How many rows the lists of the overview have, so that they fit on one screen.
const (
	postponedShown = 3
	rankShown      = 5
	newestShown    = 5
	kindsShown     = 5
	reasonsShown   = 8
)

func overview(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	if _, _, err := spanOf(r, false); err != nil {
		return nil, err
	}
	st, err := c.Status(ctx)
	if err != nil && len(st.Shards) == 0 {
		return nil, err
	}
	over := st.State == "done" || st.State == "stopped"
	span, links, _ := spanOf(r, over)
	h, past := c.History(ctx, span)
	if err == nil {
		err = past
	}
	v := overviewView{Status: st, TimeLeft: timeLeft(st), Parts: partsOf(st), Spans: links, CanControl: !c.Stopped()}
	if over {
		all := h
		if span > 0 {
			all, _ = c.History(ctx, 0) // without an answer less is known of the ending
		}
		v.Ending = endingOf(ctx, c, st, all)
	}
	v.Charts = chartsOf(h, v.Ending != nil)
	v.Reasons, v.MoreReasons = cut(service.Reasons(st), reasonsShown)
	v.Shards = slices.SortedFunc(slices.Values(st.Shards), func(a, b crawl.ShardStatus) int { return a.Shard - b.Shard })
	v.Postponed, v.MorePostponed = cut(v.Postponed, postponedShown)
	v.storage()
	v.Types = countedOf("Pages by type", "type", service.PageTypes(st), func(s string) (string, string) { return s, "/pages?type=" + url.QueryEscape(s) })
	v.Langs = countedOf("Pages by language", "language", service.PageLangs(st), func(s string) (string, string) {
		if s == crawl.PageLangNone {
			return langName(s), ""
		}
		return langName(s), "/search?q=" + url.QueryEscape("lang:"+s)
	})
	v.rank(ctx, c, r.rankings)
	if v.Stored > 0 {
		v.Feeds = failingFeeds(ctx, c)
	}
	return v, err
}

// rankings are those of the overview.
type rankings struct{ slow, failing ranking }

// rank fills in the lists of slow hosts, hosts with failures and new pages. If a list cannot be
// read, it stays empty, and the page says that it is not known.
func (v *overviewView) rank(ctx context.Context, c *asker.Crawl, k *rankings) {
	first := func(k *ranking, sort string, wanted func(*crawl.HostRow) bool) []crawl.HostRow {
		return k.of(ctx, v.State, func() ([]crawl.HostRow, error) {
			q := crawl.HostsQuery{Paging: crawl.Paging{Sort: sort, Descending: true, Limit: rankShown}}
			page, err := questions.HostsPage.Ask(ctx, c, q)
			return slices.DeleteFunc(page.Rows, func(h crawl.HostRow) bool { return !wanted(&h) }), err
		})
	}
	if v.Queued > 0 {
		v.Slow = first(&k.slow, "left", func(h *crawl.HostRow) bool { return h.LeftS() > 0 })
	}
	if v.Failed > 0 {
		v.Failing = first(&k.failing, "failed", func(h *crawl.HostRow) bool { return h.Failed > 0 })
	}
	if v.Stored > 0 {
		page, _ := questions.PagesPage.Ask(ctx, c, crawl.PagesQuery{Brief: true, Paging: crawl.Paging{Limit: newestShown}})
		v.Newest = page.Rows
	}
}

// storage fills in what is known about shards and indexers.
func (v *overviewView) storage() {
	v.IndexerOf = map[int]string{}
	owners, stored, free := map[string]bool{}, int64(0), int64(0)
	for _, s := range v.Shards {
		owners[s.Owner] = true
	}
	for _, x := range v.Indexers {
		v.Archived = v.Archived || x.WARCFiles > 0
		stored, free = stored+x.Bytes, max(free, x.DiskFree)
		for _, shard := range x.Shards {
			v.IndexerOf[shard] = x.Instance
		}
	}
	v.OneProcess = len(owners) <= 1 && len(v.Indexers) <= 1
	if len(v.Indexers) > 0 {
		v.StorageWords = count(int64(len(v.Shards)), "shard") + ", " + size(stored) + " of pages"
		if v.OneProcess && free > 0 {
			v.StorageWords += ", " + size(free) + " free on the disk"
		}
	}
}

// countedOf makes a list of counts; name returns what people call a value, and the address of its
// pages.
func countedOf(caption, what string, all []service.TypeCount, name func(string) (string, string)) *counted {
	if len(all) == 0 {
		return nil
	}
	c := &counted{Caption: caption, What: what}
	for _, t := range all {
		c.Total += t.N
	}
	all, c.More = cut(all, kindsShown)
	for _, t := range all {
		text, to := name(t.Type)
		c.Rows = append(c.Rows, countedRow{text, to, t.N})
	}
	return c
}

// timeLeft describes how long a running crawl will take; "" if only postponed or paused hosts are
// left, which the page reports anyway.
func timeLeft(st crawl.Status) string {
	switch {
	case st.Queued+st.InFlight == 0 && st.Round != nil && !st.Round.Over:
		// URLs that are fetched again are not queued.
		return fmt.Sprintf("in round %d", st.Round.Number)
	case st.Queued+st.InFlight == 0:
		return "nothing left"
	case st.ETA == nil && st.AtLeast > 0:
		return "at least " + seconds(math.Ceil(st.AtLeast)) + " left"
	case st.ETA == nil && st.Bottleneck != nil && (st.Bottleneck.Kind == crawl.WaitsPaused || st.Bottleneck.Kind == crawl.WaitsHours):
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
