package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Links of other shards come with the outcome of the visit that found them, so that a page costs
// one event instead of one for each shard it links to. What this shard owes for them is in its
// file with the state and the position in the log that caused it, and many pages' links leave as
// one message for each shard and commit.

// forgetEvery is how long links that were forwarded, or taken in, are remembered at most. Who was
// told of a link may have left it out, and takes it in when it is found again.
const forgetEvery = 10 * time.Minute

// Receive applies what one page leads to, or enqueues it for the shards that it belongs to.
func (s *Links) Receive(l *crawl.Links, now time.Time) error {
	shards := s.ledger.Judge.Spec.Shards
	for rest := l.URLs; len(rest) > 0; {
		// A fetcher sorts links by shard: there is one round, or few.
		to := crawl.ShardOf(rest[0].Host(), shards)
		n := 1
		for host := rest[0].Host(); n < len(rest); n++ {
			if h := rest[n].Host(); h != host {
				if crawl.ShardOf(h, shards) != to {
					break
				}
				host = h
			}
		}
		some := *l
		some.URLs = rest[:n]
		if len(l.Mods) == len(l.URLs) && len(l.Mods) > 0 {
			at := len(l.URLs) - len(rest)
			some.Mods = l.Mods[at : at+n]
		}
		rest = rest[n:]
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

// forward owes links to another shard. Most are repeats from page to page and from visit to visit,
// which end here. Those of redirects do not, since they say more than that there is such a URL.
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
