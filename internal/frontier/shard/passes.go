package shard

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
)

// Passes runs the passes over the records of one shard.
type Passes struct {
	datafiles *wellknown.DataFiles
	features  *hosts.Features
	ledger    *hosts.Ledger
	links     *Links
	mirrors   *mirrors.Mirrors
	recrawl   *urls.Recrawl
	urls      *urls.URLs
	visits    *schedule.Visits

	// Hosts that have their maximum of pages, and whose queued URLs are to be refused (judging.go).
	Filled map[*hosts.Host]struct{}

	List []hosts.Pass
}

// NewPasses returns the passes of one shard.
func NewPasses(datafiles *wellknown.DataFiles, features *hosts.Features, ledger *hosts.Ledger, links *Links, mirrors *mirrors.Mirrors, recrawl *urls.Recrawl, urls *urls.URLs, visits *schedule.Visits) *Passes {
	return &Passes{Filled: map[*hosts.Host]struct{}{}, datafiles: datafiles, features: features, ledger: ledger, links: links, mirrors: mirrors, recrawl: recrawl, urls: urls, visits: visits}
}

// Register adds the passes of features to those that no feature has. It is called once.
func (s *Passes) Register(all []hosts.Feature) {
	s.List = s.CorePasses()
	for i := range all {
		if all[i].Pass.Some != nil {
			s.List = append(s.List, all[i].Pass)
		}
	}
}

// Foresee changes r, a copy, as a running pass will change it.
func (s *Passes) Foresee(h *hosts.Host, r *urls.Record) {
	open := r.Class == crawl.Refused && r.Reason.Has(crawl.UndoneBySpec)
	if !s.ledger.Meta.Judging.Running || r.Class != crawl.Queued && !open && !s.visits.Undone(h, r) {
		return
	}
	if v := s.urls.Decide(r, h); v.Class != crawl.Queued || r.Class != crawl.Queued {
		r.Foreseen(v)
	}
}

// CorePasses are the passes that do not belong to a feature.
func (s *Passes) CorePasses() []hosts.Pass {
	return []hosts.Pass{
		{Some: s.judgeSome, Left: func() bool { return s.ledger.Meta.Judging.Running }},
		{Some: s.fillSome, Left: func() bool { return len(s.Filled) > 0 }},
		{Begin: s.beginForgetting, Some: s.forgetSome, Left: func() bool { return s.Listed(store.BucketForget) }},
		{Some: s.retrySome, Left: func() bool { return s.Listed(store.BucketRetry) }},
		{Some: s.RefillSome, Left: func() bool { return s.ledger.Meta.Lost.Running }},
		{Begin: s.recrawl.BeginPlanning, Some: s.recrawl.PlanSome, Left: func() bool { return s.ledger.Meta.Plan.Running }},
		{Begin: s.features.Respec, Some: s.features.AskSome, Left: s.features.Asking},
		{Some: s.ledger.EvictSome, Left: func() bool { return len(s.ledger.ToEvict) > 0 }},
		{Some: s.urls.OpenPass, Left: func() bool {
			return s.ledger.Meta.Closed > 0 && s.ledger.Meta.MaxHosts != hosts.MaxHosts(&s.ledger.Judge)
		}},
	}
}

// RunPasses runs passes until ctx ends. It takes the lock itself.
func (s *Passes) RunPasses(ctx context.Context) error { return s.ledger.InStretches(ctx, s.Some) }

// Some runs a stretch of every pass and reports whether any has more to do. No pass begins before
// the log was read.
func (s *Passes) Some(now time.Time) (more bool, err error) {
	if !s.ledger.Phase.Active() {
		return false, nil
	}
	for _, p := range s.List {
		busy, err := p.Some(now)
		if err != nil {
			return false, s.ledger.Fail(err)
		}
		more = more || busy
	}
	// URLs that they permitted or queued may belong to a mirror.
	if err := s.mirrors.Flush(now); err != nil {
		return false, s.ledger.Fail(err)
	}
	if s.ledger.Changes >= store.CommitChanges {
		err = s.ledger.Commit(true)
	}
	return more, err
}

// passOver lists a host for the pass of that bucket, from its first URL on.
func (s *Passes) passOver(bucket []byte, h *hosts.Host) error {
	return s.ledger.Put(bucket, h.ID.Append(nil), binary.BigEndian.AppendUint64(nil, 0))
}

// Listed reports whether a bucket lists hosts for its pass.
func (s *Passes) Listed(bucket []byte) bool {
	b := s.ledger.Tx.Bucket(bucket)
	if b == nil {
		return false // an older file, opened for reading
	}
	k, _ := b.Cursor().First()
	return k != nil
}

// hostPass handles a stretch of the URLs of the first host that a bucket lists: host id → order of
// the next URL. one returns whether it changed the record, which is then written; done is called
// after the host's last URL.
func (s *Passes) hostPass(bucket []byte, one func(*hosts.Host, *urls.Record) (bool, error), done func(*hosts.Host) error) (more bool, err error) {
	waiting := s.ledger.Tx.Bucket(bucket)
	k, v := waiting.Cursor().First()
	if k == nil {
		return false, nil
	}
	id, from := slices.Clone(k), slices.Concat(k, v)
	h, err := s.ledger.HostWith(store.KeyHost(id))
	if err != nil {
		return false, err
	}
	next, err := s.urls.Stretch(from, store.PassStretch, func(of *hosts.Host, _ []byte, r *urls.Record) (bool, error) {
		if of != h {
			return false, nil
		}
		return one(h, r)
	})
	if err != nil {
		return false, err
	}
	if next != nil && store.KeyHost(next) == store.KeyHost(id) {
		return true, s.ledger.Put(bucket, id, next[4:])
	}
	err = errors.Join(s.ledger.Drop(bucket, id), done(h))
	return s.Listed(bucket), err
}

// Passing reports whether a pass is not done yet.
func (s *Passes) Passing() bool {
	return slices.ContainsFunc(s.List, func(p hosts.Pass) bool { return p.Left() })
}

// Begin starts the passes that a new spec requires.
func (s *Passes) Begin() error {
	for _, p := range s.List {
		if p.Begin == nil {
			continue
		}
		if err := p.Begin(); err != nil {
			return err
		}
	}
	return nil
}
