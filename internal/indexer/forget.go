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

// As soon as a spec is known, everything that it forgets is hidden from every response and refused
// when it arrives. After that it is deleted in steps, each of which stores its progress in its own
// transaction: pages with their descriptions of datasets and search rows, and data.txt files. When
// an entry is removed from the spec, the frontier has its URLs fetched again. The indexer then only
// forgets that they were forgotten.

// forgetStretch is how many records one transaction of a takedown reads.
const forgetStretch = 500

func (x *Indexer) setForgotten(spec crawl.Spec) {
	f := crawl.NewForgotten(spec.Forgotten)
	x.forgotten.Store(&f)
}

// forgottenEntries are those of the spec. They never change.
func (x *Indexer) forgottenEntries() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.spec.Forgotten
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

// hiding is hides if anything is forgotten, nil otherwise.
func (x *Indexer) hiding() func(canon.URL) bool {
	if f := x.forgotten.Load(); f == nil || f.Empty() {
		return nil
	}
	return x.hides
}

// hidesHost reports whether a whole host is forgotten, or a part of it.
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

// keepForgetting deletes what specs forget, until ctx ends.
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

// forget deletes everything that the current spec forgets.
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
	// Everybody who read the old list before this has stored the pages that passed it.
	s.gate.Lock()
	s.gate.Unlock() // a barrier
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
	err = s.store.Datasets().DropFiles(func(key string) bool {
		u, err := dataURL(key)
		return err == nil && s.x.hides(u)
	})
	if err == nil && gone > 0 {
		s.log.Info("forgotten", "pages", gone, "took", time.Since(began).Round(time.Millisecond))
	}
	return errors.Join(err, s.forgetArchived(entries))
}

// forgottenHost returns the host of an entry of Spec.Forgotten.
func forgottenHost(entry string) canon.Host {
	if strings.Contains(entry, "://") {
		return canon.URL(entry).Host()
	}
	return canon.Host(entry)
}
