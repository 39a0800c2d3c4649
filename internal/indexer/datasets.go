package indexer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
)

// keepData adds data.txt files to the catalogue in one transaction: those of origins, and those
// nested in them. To add a file again changes nothing. A file that cannot be unpacked is dropped;
// the others are stored.
func (s *shard) keepData(all []crawl.Page) error {
	var keys []string
	var bodies [][]byte
	var from []*crawl.Page
	s.gate.RLock()
	defer s.gate.RUnlock()
	for i := range all {
		p := &all[i]
		holder := pages.Page{Page: *p}
		body, err := holder.Unpack(nil)
		if err != nil {
			// This file cannot be read. Only this file is reported, because the others in the
			// message may have to come again.
			s.log.Warn("data.txt dropped", "url", p.URL, "err", err)
			continue
		}
		key := catalog.Key(p)
		if u, err := dataURL(key); err == nil && s.x.hides(u) {
			continue
		}
		keys, bodies, from = append(keys, key), append(bodies, body), append(from, p)
	}
	if len(keys) == 0 {
		return nil
	}
	token := s.x.token()
	return s.updateData(keys, func(i int, e catalog.Entry) (catalog.Entry, bool) {
		var ok bool
		if err := s.marks.read(&pages.Page{Page: *from[i]}, func() { e, ok = catalog.Update(e, from[i], bodies[i], token) }); err != nil {
			return e, false // the previous copy stays
		}
		if ok && e.Failed != "" {
			s.log.Info("data.txt refused; the previous copy is kept", "url", from[i].URL, "err", e.Failed)
		}
		return e, ok
	})
}

// aliasData records that the /data.txt of the main host replaces that of an origin, or no longer
// does (formats §7).
func (s *shard) aliasData(word *crawl.Page) error {
	if !s.x.mine(s.id)(word.URL.Host()) {
		return nil
	}
	origin := word.URL.Origin().String()
	return s.updateData([]string{origin}, func(_ int, e catalog.Entry) (catalog.Entry, bool) {
		if word.Visit.Compare(e.AliasVisit) <= 0 {
			return e, false
		}
		e.Origin, e.AliasOf, e.AliasVisit = origin, string(word.AliasOf), word.Visit
		return e, true
	})
}

// dataURL returns the URL of the data.txt that is stored under a key, which is an origin, or the
// URL of a nested file.
func dataURL(key string) (canon.URL, error) {
	u, err := canon.Parse(key)
	if err != nil || u.Path() != "/" {
		return u, err
	}
	return u.Origin().URL("/data.txt")
}

// updateData replaces each stored data.txt by the result of change, unless that reports that
// nothing changes.
func (s *shard) updateData(keys []string, change func(i int, e catalog.Entry) (catalog.Entry, bool)) error {
	return s.store.Datasets().UpdateFiles(keys, func(i int, old []byte) ([]byte, error) {
		var e catalog.Entry
		if old != nil {
			var err error
			if e, err = catalog.Decode(old); err != nil {
				s.log.Error("a catalogue entry starts again empty", "data_txt", keys[i], "err", err)
				e = catalog.Entry{}
			}
		}
		before := e
		e, ok := change(i, e)
		if !ok {
			return nil, nil
		}
		e.Date(&before, time.Now().UTC())
		return e.Encode()
	})
}

// token is the product token by which records are chosen.
func (x *Indexer) token() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.spec.Agent
}

// entry returns the data.txt that is stored under a key, if it is in use.
func (p part) entry(key string, now time.Time) (e catalog.Entry, ok bool, err error) {
	v, err := p.store.Datasets().File(key)
	if v == nil || err != nil {
		return e, false, err
	}
	return p.live(key, v, now)
}

func (p part) live(key string, v []byte, now time.Time) (e catalog.Entry, ok bool, err error) {
	if e, err = catalog.Decode(v); err != nil || !e.Live(now) {
		return e, false, err
	}
	u, err := dataURL(key)
	return e, err != nil || !p.hidden(u), nil
}

// eachEntry calls fn for the data.txt of every origin that is in use, and with where the files
// nested in it are. One file is in memory at a time, and no transaction is open while fn runs.
func (p part) eachEntry(now time.Time, fn func(own *catalog.Entry, nested func(asked string) (catalog.Entry, bool)) error) error {
	origin := func(key string) bool { return strings.Count(key, "/") == 2 }
	for after := ""; ; {
		key, v, ok, err := p.store.Datasets().NextFile(after, origin)
		if !ok || err != nil {
			return err
		}
		after = key
		e, ok, err := p.live(key, v, now)
		if err != nil {
			return err
		}
		if !ok || e.Asked != "" {
			continue
		}
		var failed error
		err = fn(&e, func(asked string) (catalog.Entry, bool) {
			below, ok, err := p.entry(asked, now)
			failed = errors.Join(failed, err)
			return below, ok && err == nil && below.Asked == asked
		})
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
}

// dataRule sends the rule of a data.txt that forbids the fetch of a URL as a dataset, if there is
// one. Only the data.txt of the URL's own origin can have such a rule.
func (a answers) dataRule(_ context.Context, r questions.URLRequest, send func(crawl.DataRule) error) error {
	u, err := canon.Parse(r.URL)
	if err != nil {
		return fmt.Errorf("data-rule %q: %w", r.URL, err)
	}
	now := time.Now()
	for _, p := range a.parts() {
		own, ok, err := p.entry(u.Origin().String(), now)
		if err != nil {
			if p.gone.Load() {
				continue // the asker learns that there is no answer for this shard
			}
			return err
		}
		if !ok {
			continue
		}
		rule, closed, err := own.Rule(a.token(), u)
		if err == nil && closed {
			err = send(rule)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
