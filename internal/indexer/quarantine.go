package indexer

import (
	"context"
	"time"
)

// keepQuarantined removes condemned pages from the store until ctx ends.
func (s *shard) keepQuarantined(ctx context.Context) error {
	for {
		all, changed := s.marks.condemned()
		failed := false
		for _, k := range all {
			if !s.x.mine(s.id)(k.url.Host()) {
				continue
			}
			gone, err := s.store.Quarantine(k.url, k.visit)
			if err != nil {
				s.log.Error("an unreadable page is not removed from the store yet", "url", k.url, "err", err)
				failed = true
			} else if gone {
				s.log.Warn("an unreadable page was removed from the store", "url", k.url)
			}
		}
		var again <-chan time.Time
		if failed {
			again = time.After(time.Minute)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-again:
		}
	}
}
