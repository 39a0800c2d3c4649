package mirrors

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/pkg/canon"
)

// messageSize is from which size on, in bytes, a message is sent and another one begun.
const messageSize = 128 << 10

// forwards are the URLs to pass on to main hosts once the event is applied.
type forwards struct {
	ledger *hosts.Ledger
	list   []forwarded
}

// forwarded is a URL of a mirror with the origin of the main host.
type forwarded struct {
	url              canon.URL
	foundOn          canon.URL
	depth, redirects int
}

func (f *forwards) add(u forwarded) { f.list = append(f.list, u) }

// flush sends the URLs that were passed on, and notifies the indexer of aliases.
func (f *forwards) flush(now time.Time) error {
	for len(f.list) > 0 { // a main host of this shard may be a mirror itself
		list := f.list
		f.list = nil
		byShard := map[int][]forwarded{}
		for _, u := range list {
			to := crawl.ShardOf(u.url.Host(), f.ledger.Judge.Spec.Shards)
			byShard[to] = append(byShard[to], u)
		}
		// In order, so that the messages do not depend on the order of a map.
		for to := range f.ledger.Judge.Spec.Shards {
			if err := f.sendTo(to, byShard[to], now); err != nil {
				return err
			}
		}
	}
	return f.notifyIndexer()
}

func (f *forwards) sendTo(to int, list []forwarded, now time.Time) error {
	var ev crawl.Event
	size := 0
	send := func() (err error) {
		defer func() { ev, size = crawl.Event{}, 0 }()
		if to != f.ledger.ID {
			return f.ledger.Send(to, &ev)
		}
		for i := range ev.Links {
			if err := f.ledger.Accept(&ev.Links[i], now); err != nil {
				return err
			}
		}
		return nil
	}
	for _, u := range list {
		last := len(ev.Links) - 1
		if last < 0 || ev.Links[last].FoundOn != u.foundOn || ev.Links[last].Depth != u.depth || ev.Links[last].Redirects != u.redirects {
			ev.Links = append(ev.Links, crawl.Links{FoundOn: u.foundOn, Depth: u.depth, Redirects: u.redirects})
			size += len(u.foundOn) + 32
			last++
		}
		ev.Links[last].URLs = append(ev.Links[last].URLs, u.url)
		if size += len(u.url) + 8; size >= messageSize {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if len(ev.Links) == 0 {
		return nil
	}
	return send()
}

// notifyIndexer sends alias updates. Each message has the number of a visit that is never granted:
// it is newer than everything fetched so far, and older than everything fetched later.
func (f *forwards) notifyIndexer() error {
	if len(f.ledger.Aliases) == 0 {
		return nil
	}
	id := f.ledger.NextVisit()
	list, size := f.ledger.TakeAliases(), 0
	from := 0
	for i := range list {
		list[i].Visit, list[i].FetchedAt = id, time.Now()
		if size += len(list[i].URL) + len(list[i].AliasOf) + 64; size >= messageSize || i == len(list)-1 {
			if err := f.ledger.SendPages(list[from : i+1]); err != nil {
				return err
			}
			from, size = i+1, 0
		}
	}
	return nil
}
