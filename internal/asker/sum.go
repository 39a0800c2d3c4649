package asker

import (
	"cmp"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Sum adds up the parts of a crawl's status. There is one part for each shard. If a shard moved
// while its owners were asked, it may have two; then the later owner's part is used.
func Sum(parts []crawl.Status) crawl.Status {
	latest := map[int]crawl.ShardStatus{}
	for _, p := range parts {
		for _, s := range p.Shards {
			if was, ok := latest[s.Shard]; !ok || cmp.Or(cmp.Compare(s.Epoch, was.Epoch), cmp.Compare(s.Applied, was.Applied)) >= 0 {
				latest[s.Shard] = s
			}
		}
	}
	st := crawl.Status{ByReason: map[string]int64{}}
	for _, p := range parts {
		if len(p.Shards) == 1 {
			s := p.Shards[0]
			if latest[s.Shard] != s {
				continue
			}
			delete(latest, s.Shard)
		}
		st = addStatus(st, p)
	}
	return st
}

func addStatus(a, b crawl.Status) crawl.Status {
	for k, n := range b.ByReason {
		a.ByReason[k] += n
	}
	a.Discovered += b.Discovered
	a.Queued += b.Queued
	a.InFlight += b.InFlight
	a.Stored += b.Stored
	a.Redirected += b.Redirected
	a.Refused += b.Refused
	a.Failed += b.Failed
	a.Bytes += b.Bytes
	a.Hosts += b.Hosts
	a.Again += b.Again
	if b.NextAgain != nil && (a.NextAgain == nil || b.NextAgain.Before(*a.NextAgain)) {
		a.NextAgain = b.NextAgain
	}
	if b.Round != nil {
		// A round may begin while the shards answer.
		if a.Round == nil || b.Round.Began.After(a.Round.Began) {
			a.Round = b.Round
		} else if a.Round.Number == b.Round.Number {
			a.Round.Over = a.Round.Over && b.Round.Over
		}
	}
	a.Rendering.Add(b.Rendering)
	if b.MobileRobots != nil {
		if a.MobileRobots == nil {
			a.MobileRobots = &crawl.MobileRobots{}
		}
		a.MobileRobots.Add(*b.MobileRobots)
	}
	if b.OpensAt != nil && (a.OpensAt == nil || b.OpensAt.After(*a.OpensAt)) {
		a.OpensAt = b.OpensAt
	}
	a.Rate += b.Rate
	a.PausedHosts += b.PausedHosts
	a.PausedURLs += b.PausedURLs
	a.Postponed = append(a.Postponed, b.Postponed...)
	a.Shards = append(a.Shards, b.Shards...)
	if a.Outlook == nil {
		a.Outlook = &crawl.Outlook{}
	}
	a.Outlook.Add(b.Outlook)
	if a.State == "" || b.State == "paused" {
		a.State = b.State
	}
	a.Trouble = cmp.Or(a.Trouble, b.Trouble)
	if a.Limit == "" {
		a.Limit = b.Limit
	}
	return a
}
