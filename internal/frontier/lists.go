package frontier

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/internal/paging"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Lists of hosts, and of what is known of hosts, are requested in pages. Every host is read for
// each page, because no order by a column is kept. So what is read is in memory, or is stored
// together in the file, and a shard is locked for a limited number of hosts at a time. A page does
// not show one moment.

// stretch is how many hosts are read while a shard is locked.
const stretch = 256

// hostsPage sends a page of the list of hosts.
func (a answers) hostsPage(ctx context.Context, req []byte, send func(any) error) error {
	var q crawl.HostsQuery
	if err := json.Unmarshal(req, &q); err != nil {
		return fmt.Errorf("hosts-page: %w", err)
	}
	filter, err := shard.NewHostFilter(q)
	if err != nil {
		return err
	}
	for _, s := range a.shards() {
		top, err := paging.New[crawl.HostRow](q.Paging, crawl.HostSorts...)
		if err != nil {
			return err
		}
		sum := paging.Sum{Counts: map[string]int64{}}
		err = s.walk(ctx, true, func(h *hosts.Host, now time.Time) {
			sum.Total++
			if !filter.Named(h) {
				return
			}
			row := s.account.HostRow(h, now)
			if !filter.But(&row) {
				return
			}
			sum.Counts[row.State]++
			if !filter.State(&row) {
				return
			}
			sum.Matched++
			top.Add(shard.HostKey(&row, top.Sort()), row)
		})
		if err != nil {
			return err
		}
		sum.Epoch = s.ledger.Epoch
		if err := top.Send(s.ledger.ID, sum, send); err != nil {
			return err
		}
	}
	return nil
}

// mirrorsPage sends a page of the list of mirrors. Evicted hosts are none.
func (a answers) mirrorsPage(ctx context.Context, req []byte, send func(any) error) error {
	var q crawl.MirrorsQuery
	if err := json.Unmarshal(req, &q); err != nil {
		return fmt.Errorf("mirrors-page: %w", err)
	}
	l := list[crawl.MirrorInfo]{
		paging: q.Paging, sorts: crawl.MirrorSorts,
		rows: func(_ *Shard, h *hosts.Host) []crawl.MirrorInfo { return shard.MirrorInfos(h) },
		keep: func(m *crawl.MirrorInfo) bool { return contains(q.Filter, m.Origin, m.Main) },
		word: func(m *crawl.MirrorInfo) (string, bool) { return m.State, q.State == "" || m.State == q.State },
		key:  shard.MirrorKey,
	}
	return l.send(ctx, a, send)
}

// updatesPage sends a page of the list of sites that report changes.
func (a answers) updatesPage(ctx context.Context, req []byte, send func(any) error) error {
	var q crawl.UpdatesQuery
	if err := json.Unmarshal(req, &q); err != nil {
		return fmt.Errorf("updates-page: %w", err)
	}
	l := list[crawl.UpdatesInfo]{
		paging: q.Paging, sorts: crawl.UpdatesSorts, evicted: true, host: q.Host,
		rows: func(s *Shard, h *hosts.Host) []crawl.UpdatesInfo { return s.account.UpdatesInfos(h) },
		keep: func(u *crawl.UpdatesInfo) bool {
			return contains(q.Filter, u.Site) && (q.State == "" || u.State == q.State)
		},
		word: func(u *crawl.UpdatesInfo) (string, bool) { return u.Source, q.Source == "" || u.Source == q.Source },
		key:  shard.UpdatesKey,
	}
	return l.send(ctx, a, send)
}

// contains reports whether one of the texts contains part, ignoring case.
func contains(part string, texts ...string) bool {
	return part == "" || slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(part)) })
}

// list is a list of rows about hosts; each host has few rows or none.
type list[T any] struct {
	paging  crawl.Paging
	sorts   []string
	evicted bool   // evicted hosts have rows, too
	host    string // only rows of this host; "": of all
	rows    func(*Shard, *hosts.Host) []T
	keep    func(*T) bool // all filters except the one by word
	// The value by which rows are counted, and whether it is wanted
	word func(*T) (word string, _ bool)
	key  func(row *T, sort string) paging.Key
}

func (l *list[T]) send(ctx context.Context, a answers, send func(any) error) error {
	for _, s := range a.shards() {
		top, err := paging.New[T](l.paging, l.sorts...)
		if err != nil {
			return err
		}
		sum := paging.Sum{Epoch: s.ledger.Epoch, Counts: map[string]int64{}}
		add := func(h *hosts.Host, _ time.Time) {
			for _, row := range l.rows(s, h) {
				sum.Total++
				if !l.keep(&row) {
					continue
				}
				word, ok := l.word(&row)
				if sum.Counts[word]++; ok {
					sum.Matched++
					top.Add(l.key(&row, top.Sort()), row)
				}
			}
		}
		if l.host != "" {
			err = s.look(l.host, add)
		} else {
			err = s.walk(ctx, l.evicted, add)
		}
		if err != nil {
			return err
		}
		if err := top.Send(s.ledger.ID, sum, send); err != nil {
			return err
		}
	}
	return nil
}

// look calls do for a host, under the shard's lock, if the shard has it.
func (s *Shard) look(name string, do func(h *hosts.Host, now time.Time)) error {
	err := s.locked(func() error {
		h, err := s.ledger.HostNamed(canon.Host(name))
		if err == nil && h != nil && !h.Closed {
			do(h, time.Now())
		}
		return err
	})
	return s.ledger.Blame(err)
}

// walk calls each for every host of a shard. It releases the shard's lock after some of them.
// evicted: also for hosts that are not in memory.
func (s *Shard) walk(ctx context.Context, evicted bool, each func(h *hosts.Host, now time.Time)) error {
	for from := hosts.HostID(0); ; {
		now := time.Now()
		var next hosts.HostID
		err := s.locked(func() (err error) {
			next, err = s.ledger.HostsNumbered(from, stretch, evicted, func(h *hosts.Host) { each(h, now) })
			return err
		})
		if err != nil {
			return s.ledger.Blame(err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if from = next; from == 0 {
			return nil
		}
	}
}
