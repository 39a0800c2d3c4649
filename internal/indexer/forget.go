package indexer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

// What a spec says is forgotten is hidden from every answer, and turned away when it comes, from
// the moment the spec is known. It is deleted behind that, in stretches, each noting in its own
// transaction how far it is: pages with their claims and search rows, data.txt files. When an
// entry is taken back the frontier has its URLs fetched again; nothing is done here but to forget
// that it was forgotten.

// forgetStretch is how many records one transaction of a take-down looks at.
const forgetStretch = 500

func (x *Indexer) setForgotten(spec crawl.Spec) {
	f := crawl.NewForgotten(spec.Forgotten)
	x.forgotten.Store(&f)
}

func (x *Indexer) forgottenText() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.spec.ForgottenText()
}

// hides reports whether a URL is forgotten.
func (x *Indexer) hides(u canon.URL) bool {
	f := x.forgotten.Load()
	return f != nil && f.Has(u)
}

// hiding is hides while there is anything that is forgotten, else nil.
func (x *Indexer) hiding() func(canon.URL) bool {
	if f := x.forgotten.Load(); f == nil || f.Empty() {
		return nil
	}
	return x.hides
}

// hidesHost says whether all of a host is forgotten, or some of it.
func (x *Indexer) hidesHost(h canon.Host) (all, some bool) {
	return hostForgotten(x.forgotten.Load(), h)
}

func hostForgotten(f *crawl.Forgotten, h canon.Host) (all, some bool) {
	if f == nil {
		return false, false
	}
	return f.Host(h)
}

// unforgotten returns the pages of a batch that may be stored.
func (s *shard) unforgotten(batch []pages.Page) []pages.Page {
	hidden := func(p pages.Page) bool { return s.x.hides(p.URL) }
	if !slices.ContainsFunc(batch, hidden) {
		return batch
	}
	return slices.DeleteFunc(slices.Clone(batch), hidden)
}

// keepForgetting carries out what specs say is forgotten until ctx ends.
func (s *shard) keepForgetting(ctx context.Context) error {
	again := backoff.Delay{Least: time.Second, Most: time.Minute}
	for {
		changed := s.x.specChanged()
		err := s.forget(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			wait := again.Next()
			s.log.Error("forgotten pages are hidden but not deleted yet", "err", err, "wait", wait)
			if !sleep(ctx, wait) {
				return nil
			}
			continue
		}
		again.Reset()
		select {
		case <-changed: // meanwhile
			continue
		default:
		}
		s.forgetting.Store(false)
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// forget deletes what the spec of now says is forgotten.
func (s *shard) forget(ctx context.Context) error {
	s.x.mu.Lock()
	entries := s.x.spec.Forgotten
	s.x.mu.Unlock()
	err := s.store.Remember(func(e string) bool {
		_, still := slices.BinarySearch(entries, e)
		return still
	})
	if err != nil {
		return err
	}
	here := slices.DeleteFunc(slices.Clone(entries), func(e string) bool { return !s.x.mine(s.id)(forgottenHost(e)) })
	if len(here) == 0 {
		return s.forgetArchived(entries)
	}
	// Whoever looked at what was forgotten before this has stored what he let pass.
	s.gate.Lock()
	s.gate.Unlock() //nolint:staticcheck // a barrier
	began, gone := time.Now(), 0
	for more := true; more && ctx.Err() == nil; {
		var n int
		if n, more, err = s.store.Forget(here, forgetStretch); err != nil {
			return err
		}
		gone += n
		s.x.metrics.deleted.Add(float64(n))
		if err := s.x.step("forgot"); err != nil {
			return err
		}
	}
	err = s.store.DropFiles(func(key string) bool {
		u, err := dataURL(key)
		return err == nil && s.x.hides(u)
	})
	if err == nil && gone > 0 {
		s.log.Info("forgotten", "pages", gone, "took", time.Since(began).Round(time.Millisecond))
	}
	return errors.Join(err, s.forgetArchived(entries))
}

// forgottenHost is whose pages an entry of Spec.Forgotten is about.
func forgottenHost(entry string) canon.Host {
	if strings.Contains(entry, "://") {
		return canon.URL(entry).Host()
	}
	return canon.Host(entry)
}
