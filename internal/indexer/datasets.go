package indexer

import (
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/queue"
)

// keepData takes a /data.txt into the catalogue. Taking it in again changes nothing.
func (s *shard) keepData(p *crawl.Page) error {
	holder := pages.Page{Page: *p}
	body, err := holder.Unpack(nil)
	if err != nil {
		return fmt.Errorf("data.txt of %s: %w: %w", p.Origin, queue.ErrDrop, err)
	}
	return s.store.UpdateFile(p.Origin.String(), func(old []byte) ([]byte, error) {
		var e catalog.Entry
		if old != nil {
			var err error
			if e, err = catalog.Decode(old); err != nil {
				s.log.Error("catalogue entry begun anew", "origin", p.Origin.String(), "err", err)
				e = catalog.Entry{}
			}
		}
		e, ok := catalog.Update(e, p, body, s.x.token())
		if !ok {
			return nil, nil
		}
		if e.Failed != "" {
			s.log.Info("data.txt refused; the copy before it stays", "origin", e.Origin, "err", e.Failed)
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

// eachDataset calls fn for every dataset that sites announce, origin by origin.
func eachDataset(parts []part, token string, fn func(crawl.DatasetInfo) error) error {
	now := time.Now()
	for _, p := range parts {
		var entries []catalog.Entry
		err := p.store.EachFile(func(_ string, v []byte) error {
			e, err := catalog.Decode(v)
			if err == nil && e.Live(now) {
				entries = append(entries, e)
			}
			return err
		})
		if err != nil {
			return err
		}
		// Outside of the file's transaction: fn may wait for whoever reads.
		for i := range entries {
			sets, err := entries[i].Datasets(token)
			if err != nil {
				return err
			}
			for _, d := range sets {
				if err := fn(d); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Datasets calls fn for every dataset that sites announce to the robot with that product token.
func (r *Reader) Datasets(token string, fn func(crawl.DatasetInfo) error) error {
	return eachDataset(r.all, token, fn)
}
