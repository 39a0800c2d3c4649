package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Links to other shards arrive with the outcome of the visit that found them, so that a page costs
// one event instead of one for each shard to which it links. This shard stores them in its outbox,
// in the transaction of the event, and sends the links of many pages as one message for each shard
// and commit.

// forgetEvery is the maximum time for which forwarded and accepted links are remembered. The shard
// that received a link may have left it out, and may accept it when it is found again.
const forgetEvery = 10 * time.Minute

// Receive applies the links of one page, or forwards them to the shards to which they belong.
func (s *Links) Receive(l *crawl.Links, now time.Time) error {
	shards := s.ledger.Judge.Spec.Shards
	for remaining := l.URLs; len(remaining) > 0; {
		// A fetcher sorts links by shard, so there are one or few rounds.
		to := crawl.ShardOf(remaining[0].Host(), shards)
		n := 1
		for host := remaining[0].Host(); n < len(remaining); n++ {
			if h := remaining[n].Host(); h != host {
				if crawl.ShardOf(h, shards) != to {
					break
				}
				host = h
			}
		}
		some := *l
		some.URLs = remaining[:n]
		if len(l.Mods) == len(l.URLs) && len(l.Mods) > 0 {
			at := len(l.URLs) - len(remaining)
			some.Mods = l.Mods[at : at+n]
		}
		remaining = remaining[n:]
		var err error
		if to == s.ledger.ID {
			err = s.Apply(&some, now)
		} else {
			err = s.forward(to, &some, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forward sends links to another shard. Most are repetitions from page to page and from visit to
// visit, which are dropped here. Links of redirects are not dropped, because they carry more
// information.
func (s *Links) forward(to int, l *crawl.Links, now time.Time) error {
	if now.Sub(s.forgot) > forgetEvery {
		s.forgot, s.Recent = now, Recent{}
	}
	if l.Source == crawl.SourcePage && l.Redirects == 0 && !l.Seed && !l.Gone && len(l.Mods) == 0 {
		fresh := l.URLs[:0:0]
		for _, u := range l.URLs {
			if !s.Recent.known(u, l.Depth) {
				s.Recent.add(u, l.Depth)
				fresh = append(fresh, u)
			}
		}
		l.URLs = fresh
	}
	if len(l.URLs) == 0 {
		return nil
	}
	s.ledger.Metrics.Forwarded.Add(float64(len(l.URLs)))
	return s.ledger.Forward(to, l)
}
