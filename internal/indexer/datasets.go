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

// keepData takes a data.txt into the catalogue: an origin's own, or one nested in it. Taking it in again changes nothing.
func (s *shard) keepData(p *crawl.Page) error {
	holder := pages.Page{Page: *p}
	body, err := holder.Unpack(nil)
	if err != nil {
		return fmt.Errorf("data.txt of %s: %w: %w", p.Origin, queue.ErrDrop, err)
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	key := catalog.Key(p)
	if u, err := dataURL(key); err == nil && s.x.hides(u) {
		return nil
	}
	return s.updateData(key, func(e catalog.Entry) (catalog.Entry, bool) {
		e, ok := catalog.Update(e, p, body, s.x.token())
		if ok && e.Failed != "" {
			s.log.Info("data.txt refused; the copy before it stays", "url", p.URL, "err", e.Failed)
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

// dataURL is where a data.txt was asked for that is kept under that key: an origin, or the URL of a nested file.
func dataURL(key string) (canon.URL, error) {
	u, err := canon.Parse(key)
	if err != nil || u.Path() != "/" {
		return u, err
	}
	return u.Origin().URL("/data.txt")
}

// updateData replaces what is kept of a data.txt by what change makes of it, unless that says that nothing changes.
func (s *shard) updateData(key string, change func(catalog.Entry) (catalog.Entry, bool)) error {
	return s.store.UpdateFile(key, func(old []byte) ([]byte, error) {
		var e catalog.Entry
		if old != nil {
			var err error
			if e, err = catalog.Decode(old); err != nil {
				s.log.Error("catalogue entry begun anew", "data_txt", key, "err", err)
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

// liveEntries are the data.txt files that are in use: those of origins, and by their URLs those nested in them.
func (p part) liveEntries(now time.Time) (own []catalog.Entry, nested map[string]catalog.Entry, err error) {
	nested = map[string]catalog.Entry{}
	err = p.store.EachFile(func(key string, v []byte) error {
		e, err := catalog.Decode(v)
		if err != nil || !e.Live(now) {
			return err
		}
		if u, err := dataURL(key); err == nil && p.hidden(u) {
			return nil
		}
		if e.Asked != "" {
			nested[e.Asked] = e
		} else {
			own = append(own, e)
		}
		return nil
	})
	return own, nested, err
}

// dataRule calls fn for the rule of a data.txt in use that closes a URL to fetches of datasets, if there is one.
func dataRule(parts []part, token, rawURL string, fn func(crawl.DataRule) error) error {
	u, err := canon.Parse(rawURL)
	if err != nil {
		return fmt.Errorf("data-rule %q: %w", rawURL, err)
	}
	now := time.Now()
	for _, p := range parts {
		own, _, err := p.liveEntries(now)
		if err != nil {
			if p.gone.Load() {
				continue // the asker is told that the shard was not answered for
			}
			return err
		}
		for i := range own {
			rule, closed, err := own[i].Rule(token, u)
			if err == nil && closed {
				err = fn(rule)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
