package questions

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Status asks for the accounting of each shard.
var Status = add(Question[struct{}, crawl.Status]{Name: "status", By: Frontier})

// History asks for the accounting of each shard in the past.
var History = add(Question[crawl.HistoryRequest, crawl.HistoryPart]{Name: "history", By: Frontier})

// Hosts asks for everything that is known of hosts. Only the shards of named hosts are waited for.
var Hosts = add(Question[*HostsRequest, crawl.HostInfo]{Name: "hosts", By: Frontier, Shards: (*HostsRequest).shards})

// HostsRequest asks for some hosts. A nil pointer, or one without hosts, asks for all.
type HostsRequest struct {
	Hosts []canon.Host `json:"hosts,omitempty"`
}

// shards are the shards of the hosts, or all.
func (r *HostsRequest) shards(of int) (list []int) {
	wanted := make([]bool, of)
	if r != nil {
		for _, h := range r.Hosts {
			wanted[crawl.ShardOf(h, of)] = true
		}
	}
	all := r == nil || len(r.Hosts) == 0
	for k := range of {
		if all || wanted[k] {
			list = append(list, k)
		}
	}
	return list
}

// HostsPage asks for a page of the list of hosts. It is cheap enough to be asked whenever a person
// looks: with 100,000 hosts it takes about a tenth of a second. Hosts without a reason or a time
// are the last in ascending order.
var HostsPage = add(List[crawl.HostsQuery, crawl.HostRow]{Name: "hosts-page", By: Frontier, Sorts: Sorts[crawl.HostRow]{
	// Without Text the order could not be descending: IDs are always compared in ascending order.
	{Word: "host", Key: func(r *crawl.HostRow) Key { return Key{Text: r.Host, ID: r.Host} }},
	{Word: "state", Key: func(r *crawl.HostRow) Key { return Key{Text: r.State, ID: r.Host} }},
	{Word: "queued", Key: func(r *crawl.HostRow) Key { return Key{N: float64(r.Queued), ID: r.Host} }},
	{Word: "fetched", Key: func(r *crawl.HostRow) Key { return Key{N: float64(r.Fetched), ID: r.Host} }},
	{Word: "stored", Key: func(r *crawl.HostRow) Key { return Key{N: float64(r.Stored), ID: r.Host} }},
	{Word: "failed", Key: func(r *crawl.HostRow) Key { return Key{N: float64(r.Failed), ID: r.Host} }},
	{Word: "delay", Key: func(r *crawl.HostRow) Key { return Key{N: r.DelayS, ID: r.Host} }},
	{Word: "source", Key: func(r *crawl.HostRow) Key { return Key{Text: r.DelaySource, ID: r.Host} }},
	{Word: "next_due", Key: func(r *crawl.HostRow) Key {
		k := Key{N: math.MaxFloat64, ID: r.Host}
		if r.NextDue != nil {
			k.N = float64(r.NextDue.UnixMilli())
		}
		return k
	}},
	{Word: "reason", Key: func(r *crawl.HostRow) Key { return Key{Text: cmp.Or(r.Reason, "\uffff"), ID: r.Host} }},
	{Word: "left", Key: func(r *crawl.HostRow) Key { return Key{N: r.LeftS(), ID: r.Host} }},
}})

// Mirrors asks for all origins that name a main host, or were found to be a mirror.
var Mirrors = add(Question[Nothing, crawl.MirrorInfo]{Name: "mirrors", By: Frontier})

// MirrorsPage asks for a page of the list of such origins.
var MirrorsPage = add(List[crawl.MirrorsQuery, crawl.MirrorInfo]{Name: "mirrors-page", By: Frontier, Sorts: Sorts[crawl.MirrorInfo]{
	{Word: "origin", Key: func(m *crawl.MirrorInfo) Key { return Key{Text: m.Origin, ID: m.Origin} }},
	{Word: "main", Key: func(m *crawl.MirrorInfo) Key { return Key{Text: m.Main, ID: m.Origin} }},
	{Word: "state", Key: func(m *crawl.MirrorInfo) Key { return Key{Text: m.State, ID: m.Origin} }},
	{Word: "since", Key: func(m *crawl.MirrorInfo) Key {
		return Key{N: float64(m.Since.UnixMilli()), ID: m.Origin}
	}},
}})

// Updates asks for all sites that report their changes.
var Updates = add(Question[Nothing, crawl.UpdatesInfo]{Name: "updates", By: Frontier})

// UpdatesPage asks for a page of the list of such sites. In the order of the last report, sites
// without a report are the first.
var UpdatesPage = add(List[crawl.UpdatesQuery, crawl.UpdatesInfo]{Name: "updates-page", By: Frontier, Sorts: Sorts[crawl.UpdatesInfo]{
	{Word: "site", Key: func(u *crawl.UpdatesInfo) Key { return Key{Text: u.Site, ID: u.Site} }},
	{Word: "state", Key: func(u *crawl.UpdatesInfo) Key { return Key{Text: u.State, ID: u.Site} }},
	{Word: "told", Key: func(u *crawl.UpdatesInfo) Key { return Key{N: float64(u.Reported), ID: u.Site} }},
	{Word: "confirmed", Key: func(u *crawl.UpdatesInfo) Key { return Key{N: float64(u.Confirmed), ID: u.Site} }},
	{Word: "last", Key: func(u *crawl.UpdatesInfo) Key {
		k := Key{ID: u.Site}
		if u.LastReport != nil {
			k.N = float64(u.LastReport.At.UnixMilli())
		}
		return k
	}},
}})

// Explain asks what is known of URLs. Each URL is known to one shard at most.
var Explain = add(Question[ExplainRequest, crawl.Explanation]{
	Name: "explain", By: Frontier,
	Merge: func(x *crawl.Explanation, other crawl.Explanation) {
		if !x.Seen {
			*x = other
		}
	},
	Whole: func(x *crawl.Explanation) bool { return x.Seen },
})

// ExplainRequest asks for one URL or for several.
type ExplainRequest struct {
	URL  string   `json:"url,omitempty"`
	URLs []string `json:"urls,omitempty"`
}

// Timeline asks for the requests that were sent to a host.
var Timeline = add(Question[TimelineRequest, crawl.Timeline]{Name: "timeline", By: Frontier, Whole: one[crawl.Timeline]})

// TimelineRequest asks for the last requests to a host.
type TimelineRequest struct {
	Before time.Time  `json:"before,omitzero"` // only requests that started before it; zero: all
	Host   canon.Host `json:"host"`
	Limit  int        `json:"limit"` // 0: all that are kept, which are the last 512 or a few more
}

// RobotsText asks for the stored copy of the robots.txt of a URL's origin.
var RobotsText = add(Question[URLRequest, crawl.RobotsText]{Name: "robots-text", By: Frontier, Check: URLRequest.check, Whole: one[crawl.RobotsText]})

// Log asks for lines of the crawl log. Each instance of the frontier has a log file of its own.
var Log = add(Question[crawl.LogRequest, crawl.LogPart]{Name: "log", By: Frontier})

// URLsUnder asks how many URLs of a host, or below a URL, are known.
var URLsUnder = add(Question[PrefixRequest, crawl.PrefixCount]{Name: "urls-under", By: Frontier, Merge: (*crawl.PrefixCount).Add})

// PrefixRequest asks about an entry of Spec.Forgotten. Frontiers read Entry, and indexers read URL.
type PrefixRequest struct {
	Entry string `json:"entry"`
	URL   string `json:"url"`
}

// Under makes a PrefixRequest.
func Under(entry string) PrefixRequest { return PrefixRequest{entry, entry} }

// Judge asks what another spec would make of the URLs of each shard.
var Judge = add(Question[crawl.Spec, crawl.SpecEffect]{Name: "judge", By: Frontier, Merge: (*crawl.SpecEffect).Merge})

// WebSub asks the shard of a topic whether a hub was asked for what the hub now wants confirmed.
// While the shard moves, two owners may answer. One yes is enough, and a subscription has been left
// only if both say so.
var WebSub = add(Question[crawl.WebSubQuestion, crawl.WebSubIntent]{
	Name: "websub", By: Frontier,
	Check: func(req crawl.WebSubQuestion) error {
		_, err := canon.Parse(req.Topic)
		return err
	},
	Shards: func(req crawl.WebSubQuestion, of int) []int {
		topic, err := canon.Parse(req.Topic)
		if err != nil {
			return nil
		}
		return []int{crawl.ShardOf(topic.Host(), of)}
	},
	Merge: func(answer *crawl.WebSubIntent, other crawl.WebSubIntent) {
		answer.Wanted, answer.Left = answer.Wanted || other.Wanted, answer.Left && other.Left
	},
	Whole: one[crawl.WebSubIntent],
})

// Nothing is a request without contents. On the wire it is null.
type Nothing = *struct{}

// URLRequest asks about one URL, which need not be canonical.
type URLRequest struct {
	URL string `json:"url"`
}

func (r URLRequest) check() error { return checkURL(r.URL) }

// checkURL reports why a text is not a URL.
func checkURL(url string) error {
	if _, err := canon.Parse(url); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}
