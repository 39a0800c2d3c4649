package frontier

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Lists of hosts, and of what is known of hosts, are asked for page by page. Each page looks at all
// hosts, because no column is kept in order. So the data of a row is in memory, or together in one
// place of the file, and a shard is locked for a few hosts at a time. The rows of a page may
// therefore be of different moments.

// stretch is how many hosts are looked at while a shard is locked.
const stretch = 256

// hostsPage sends a page of the list of hosts.
func (a answers) hostsPage(ctx context.Context, q crawl.HostsQuery, send func(questions.Part[crawl.HostRow]) error) error {
	filter, err := shard.NewHostFilter(q)
	if err != nil {
		return err
	}
	return sendList(a, questions.HostsPage, q, send, func(s *Shard, sum *questions.Sum, top *questions.Top[crawl.HostRow]) error {
		return s.walk(ctx, true, func(h *hosts.Host, now time.Time) {
			sum.Total++
			if !filter.Named(h) {
				return
			}
			row := s.Account.HostRow(h, now)
			if !filter.But(&row) {
				return
			}
			sum.Counts[row.State]++
			if filter.State(&row) {
				sum.Matched++
				top.Add(row)
			}
		})
	})
}

// mirrorsPage sends a page of the list of mirrors. Evicted hosts have no mirrors.
func (a answers) mirrorsPage(ctx context.Context, q crawl.MirrorsQuery, send func(questions.Part[crawl.MirrorInfo]) error) error {
	return sendList(a, questions.MirrorsPage, q, send, func(s *Shard, sum *questions.Sum, top *questions.Top[crawl.MirrorInfo]) error {
		return s.walk(ctx, false, func(h *hosts.Host, _ time.Time) {
			for _, m := range shard.MirrorInfos(h) {
				matches := contains(q.Filter, m.Origin, m.Main)
				offer(sum, top, m, matches, m.State, q.State)
			}
		})
	})
}

// updatesPage sends a page of the list of sites that report their changes.
func (a answers) updatesPage(ctx context.Context, q crawl.UpdatesQuery, send func(questions.Part[crawl.UpdatesInfo]) error) error {
	return sendList(a, questions.UpdatesPage, q, send, func(s *Shard, sum *questions.Sum, top *questions.Top[crawl.UpdatesInfo]) error {
		add := func(h *hosts.Host, _ time.Time) {
			for _, u := range s.Account.UpdatesInfos(h) {
				matches := contains(q.Filter, u.Site) && (q.State == "" || u.State == q.State)
				offer(sum, top, u, matches, u.Source, q.Source)
			}
		}
		if q.Host != "" {
			return s.look(q.Host, add)
		}
		return s.walk(ctx, true, add)
	})
}

// contains reports whether one of the texts contains part, in upper or lower case.
func contains(part string, texts ...string) bool {
	return part == "" || slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(part)) })
}

// offer counts a row, and offers it to top if it is wanted. matches says whether the row passes all
// filters except the one by its word. Rows are counted by this word, also those without the wanted
// word. An empty wanted word is any word.
func offer[Row any](sum *questions.Sum, top *questions.Top[Row], row Row, matches bool, word, wanted string) {
	sum.Total++
	if !matches {
		return
	}
	sum.Counts[word]++
	if wanted == "" || word == wanted {
		sum.Matched++
		top.Add(row)
	}
}

// sendList sends the part of each shard of a page of a list. look goes through the rows of a shard,
// counts them in sum, and offers the wanted ones to top.
func sendList[Req questions.Bounded, Row any](a answers, l questions.List[Req, Row], q Req, send func(questions.Part[Row]) error,
	look func(s *Shard, sum *questions.Sum, top *questions.Top[Row]) error) error {
	for _, s := range a.shards() {
		top, err := l.Top(q)
		if err != nil {
			return err
		}
		sum := questions.Sum{Counts: map[string]int64{}}
		if err := look(s, &sum, top); err != nil {
			return err
		}
		sum.Epoch = s.Ledger.Epoch
		if err := top.Send(s.Ledger.ID, sum, send); err != nil {
			return err
		}
	}
	return nil
}

// look calls do for a host under the shard's lock, if the shard has the host.
func (s *Shard) look(name string, do func(h *hosts.Host, now time.Time)) error {
	err := s.Read(func() error {
		h, err := s.Ledger.HostNamed(canon.Host(name))
		if err == nil && h != nil && !h.Closed {
			do(h, time.Now())
		}
		return err
	})
	return s.Ledger.Blame(err)
}

// walk calls each for every host of a shard under its lock, which it releases after every few
// hosts. Hosts that are not in memory are included only if evicted is true.
func (s *Shard) walk(ctx context.Context, evicted bool, each func(h *hosts.Host, now time.Time)) error {
	for from := store.HostID(0); ; {
		now := time.Now()
		var next store.HostID
		err := s.Read(func() (err error) {
			next, err = s.Ledger.HostsNumbered(from, stretch, evicted, func(h *hosts.Host) { each(h, now) })
			return err
		})
		if err != nil {
			return s.Ledger.Blame(err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if from = next; from == 0 {
			return nil
		}
	}
}
