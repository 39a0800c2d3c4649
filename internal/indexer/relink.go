package indexer

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Links out of scope (or all links if none are followed) are dropped early, so that they cost
// nothing. When the scope changes, the stored pages still contain them. The pages are then read
// again and their links sent again, so a wider scope continues a finished crawl without a second
// request for any page. To send a link twice changes nothing, so a crash in the middle only costs
// time.

// markScope is the mark of a store for the Spec.LinkText under which the links of its pages were
// sent.
const markScope = "scope"

// relinker sends the links of a shard's stored pages again when the scope has changed.
type relinker struct {
	x     *Indexer
	store *pages.Store
	log   *slog.Logger
	// The scope changed, and not all links of stored pages were sent again.
	pending atomic.Bool
}

// keepLinked sends the links of the shard's pages whenever the scope differs from the one under
// which they were sent, until ctx ends. Its errors do not stop the storing of pages.
func (r *relinker) keepLinked(ctx context.Context) error {
	again := backoff.Delay{Least: time.Second, Most: time.Minute}
	for {
		changed := r.x.specChanged()
		err := r.relink(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			wait := again.Next()
			r.log.Error("links of stored pages cannot be submitted yet", "err", err, "wait", wait)
			if !sleep(ctx, wait) {
				return nil
			}
			continue
		}
		r.pending.Store(r.scopeChanged())
		again.Reset()
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			r.pending.Store(r.scopeChanged())
		}
	}
}

// scopeChanged reports whether links must be sent again.
func (r *relinker) scopeChanged() bool {
	r.x.mu.Lock()
	now := r.x.spec.LinkText()
	r.x.mu.Unlock()
	was, err := r.store.Mark(markScope)
	return err != nil || was != now
}

func (r *relinker) relink(ctx context.Context) error {
	r.x.mu.Lock()
	spec := r.x.spec
	r.x.mu.Unlock()
	now := spec.LinkText()
	was, err := r.store.Mark(markScope)
	if err != nil || was == now {
		return err
	}
	if was != "" && !spec.NoLinks {
		o, err := newOfferer(r.x, spec)
		if err != nil {
			return err
		}
		began := time.Now()
		// Each round has its own read transaction. Publishing may have to wait, and the file must
		// not wait with it.
		var after uint64
		for {
			var links []crawl.Links
			links, after, err = o.read(r.store, after)
			if err != nil {
				return err
			}
			if err := o.offer(ctx, links); err != nil {
				return err
			}
			if after == 0 {
				break
			}
		}
		r.log.Info("scope changed: links of stored pages submitted again", "links", o.n, "took", time.Since(began).Round(time.Millisecond))
	}
	return r.store.SetMark(markScope, now)
}

// offerer reads links in scope from pages and publishes them.
type offerer struct {
	x     *Indexer
	spec  crawl.Spec
	in    *scope.Scope
	sites *siterules.Rules
	scan  htmlscan.Scanner
	buf   []byte
	n     int
}

func newOfferer(x *Indexer, spec crawl.Spec) (*offerer, error) {
	sites, err := siterules.Of(&spec)
	if err != nil {
		return nil, fmt.Errorf("site rules: %w", err)
	}
	in, err := scope.Of(&spec, sites)
	return &offerer{x: x, spec: spec, in: in, sites: sites}, err
}

// relinkRound is how many pages are read in one transaction.
const relinkRound = 200

// read returns the links of the pages after a number in the change feed, and the number after which
// to continue; 0 if there are no more.
func (o *offerer) read(store *pages.Store, after uint64) (out []crawl.Links, next uint64, err error) {
	changes, err := store.Feed().Changes(after, relinkRound)
	if err != nil {
		return nil, 0, err
	}
	for i := range changes {
		next = changes[i].Seq
		if l := o.linksOf(&changes[i]); len(l.URLs) > 0 {
			out = append(out, l)
		}
	}
	return out, next, nil
}

// linksOf returns the links of a page that may be followed.
func (o *offerer) linksOf(p *pages.Page) crawl.Links {
	l := crawl.Links{FoundOn: p.URL, Depth: p.Depth + 1}
	if o.spec.NoLinks || p.Deleted != "" || p.AliasOf != "" || p.ContentType == "text/plain" || p.IsMeta() || p.Directives&(crawl.NoFollow|crawl.NoIndex) != 0 {
		return l
	}
	var found []canon.URL
	if err := o.x.marks.read(p, func() {
		body, err := p.Unpack(o.buf)
		if err != nil {
			return // it cannot be read
		}
		if p.Encoding != crawl.EncodingNone {
			o.buf = body
		}
		found = o.scan.Scan(htmlscan.Page{URL: p.URL, Body: body, ContentType: p.ContentType + "; charset=" + p.Charset, HTML: true, Token: o.spec.Agent}).Links
	}); err != nil {
		o.scan, o.buf = htmlscan.Scanner{}, nil
		return l
	}
	for _, u := range found {
		if o.in.Decide(u).In {
			l.URLs = append(l.URLs, u)
		}
	}
	o.n += len(l.URLs)
	return l
}

// offerStrays sends the links of pages that were fetched under another scope than the present one,
// by visits that were running when it changed. It is called when the pages are stored and not yet
// acknowledged. If the scope changes after that, relink finds the pages in the store. If the
// process dies before, they are delivered again.
func (x *Indexer) offerStrays(ctx context.Context, batch []pages.Page) error {
	x.mu.Lock()
	spec := x.spec
	x.mu.Unlock()
	hash := spec.LinkHash()
	var o *offerer
	var links []crawl.Links
	for i := range batch {
		if p := &batch[i]; p.Scope == 0 || p.Scope == hash || len(p.Body) == 0 {
			continue
		}
		if o == nil {
			var err error
			if o, err = newOfferer(x, spec); err != nil {
				return err
			}
		}
		if l := o.linksOf(&batch[i]); len(l.URLs) > 0 {
			links = append(links, l)
		}
	}
	if len(links) == 0 {
		return nil
	}
	return o.offer(ctx, links)
}

// offer publishes links to the logs of their shards and returns when all of them are acknowledged.
func (o *offerer) offer(ctx context.Context, links []crawl.Links) error {
	const perMessage = 200 // URLs: × 2 KiB stays under the payload limit
	for shard := range o.spec.Shards {
		var ev crawl.Event
		n := 0
		flush := func() error {
			if n == 0 {
				return nil
			}
			names := o.x.names
			l, err := o.x.q.OpenLog(ctx, queue.LogConfig{Stream: names.EventsStream(shard), Subject: names.EventsSubject(shard)})
			if err != nil {
				return err
			}
			_, err = l.Append(ctx, crawl.AppendEvent(nil, &ev))
			ev, n = crawl.Event{}, 0
			return err
		}
		for _, l := range links {
			part := crawl.Links{FoundOn: l.FoundOn, Depth: l.Depth}
			for _, u := range l.URLs {
				if crawl.ShardOf(u.Host(), o.spec.Shards) != shard {
					continue
				}
				part.URLs = append(part.URLs, u)
				if n++; n == perMessage {
					ev.Links = append(ev.Links, part)
					if err := flush(); err != nil {
						return err
					}
					part.URLs = nil
				}
			}
			if len(part.URLs) > 0 {
				ev.Links = append(ev.Links, part)
			}
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}
