package indexer

import (
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// keepData takes a /data.txt into the catalogue. Taking it in again changes nothing.
func (s *shard) keepData(p *crawl.Page) error {
	holder := pages.Page{Page: *p}
	body, err := holder.Unpack(nil)
	if err != nil {
		return fmt.Errorf("data.txt of %s: %w: %w", p.Origin, queue.ErrDrop, err)
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	if u, err := canon.Parse(p.Origin.String() + "/data.txt"); err == nil && s.x.hides(u) {
		return nil
	}
	return s.updateData(p.Origin.String(), func(e catalog.Entry) (catalog.Entry, bool) {
		e, ok := catalog.Update(e, p, body, s.x.token())
		if ok && e.Failed != "" {
			s.log.Info("data.txt refused; the copy before it stays", "origin", e.Origin, "err", e.Failed)
		}
		return e, ok
	})
}

// aliasData takes in that an origin's /data.txt gives way to the one of its main host, or counts again (protocols §7).
func (s *shard) aliasData(word *crawl.Page) error {
	if !s.x.mine(s.id)(word.URL.Host()) {
		return nil
	}
	origin := word.URL.Origin().String()
	return s.updateData(origin, func(e catalog.Entry) (catalog.Entry, bool) {
		if word.Visit.Compare(e.AliasVisit) <= 0 {
			return e, false
		}
		e.Origin, e.AliasOf, e.AliasVisit = origin, string(word.AliasOf), word.Visit
		return e, true
	})
}

// updateData replaces what is kept of an origin's data.txt by what change makes of it, unless that says that nothing changes.
func (s *shard) updateData(origin string, change func(catalog.Entry) (catalog.Entry, bool)) error {
	return s.store.UpdateFile(origin, func(old []byte) ([]byte, error) {
		var e catalog.Entry
		if old != nil {
			var err error
			if e, err = catalog.Decode(old); err != nil {
				s.log.Error("catalogue entry begun anew", "origin", origin, "err", err)
				e = catalog.Entry{}
			}
		}
		e, ok := change(e)
		if !ok {
			return nil, nil
		}
		return e.Encode()
	})
}

// token is the product token by which records are chosen.
func (x *Indexer) token() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.spec.Agent
}

// liveEntries are the data.txt files that are in use.
func (p part) liveEntries(now time.Time) (entries []catalog.Entry, err error) {
	err = p.store.EachFile(func(origin string, v []byte) error {
		e, err := catalog.Decode(v)
		if err != nil || !e.Live(now) {
			return err
		}
		u, err := canon.Parse(origin + "/data.txt")
		if err == nil && p.hidden(u) {
			return nil
		}
		entries = append(entries, e)
		return nil
	})
	return entries, err
}
