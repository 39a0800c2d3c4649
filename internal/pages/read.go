package pages

import (
	"bytes"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/pkg/canon"
)

// One read transaction reads at most this many pages and about this many bytes of bodies. While it
// is open, the file cannot reuse the space of replaced pages.
const (
	chunkPages = 512
	chunkBytes = 4 << 20
)

// Get returns the stored page of u with its body, which the caller may keep. ok is false if none is
// stored. The page may be the copy of an alias: then AliasOf is set.
func (s *Store) Get(u canon.URL) (p Page, ok bool, err error) { return s.get(u, true, nil) }

// GetInto is Get, but puts the body into the memory of dst if that is large enough. It is for
// callers that read many pages.
func (s *Store) GetInto(dst []byte, u canon.URL) (p Page, ok bool, err error) {
	return s.get(u, true, dst)
}

// Lookup is Get without the body.
func (s *Store) Lookup(u canon.URL) (p Page, ok bool, err error) { return s.get(u, false, nil) }

func (s *Store) get(u canon.URL, body bool, dst []byte) (p Page, ok bool, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketMeta).Get(appendKey(nil, u))
		if b == nil || b[0] != kindPage {
			return nil
		}
		if p, err = parseRecord(u, b); err != nil {
			return err
		}
		ok = true
		if body {
			p.Body = append(dst[:0], tx.Bucket(bucketBodies).Get(be64(p.ID))...)
		}
		p.Aliases, err = readAliases(tx.Bucket(bucketAliases), appendKey(nil, u), maxAliases)
		return err
	})
	return p, ok && err == nil, err
}

// AliasOf returns the page that u is an alias of, or "" if u is no alias.
func (s *Store) AliasOf(u canon.URL) (main canon.URL, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketMeta).Get(appendKey(nil, u))
		if b == nil {
			return nil
		}
		p, err := parseRecord(u, b)
		main = p.AliasOf
		return err
	})
	return main, err
}

// Each calls fn for every stored page without its body, in the order of host, origin and path.
// Copies of aliases are left out. Pages that are stored meanwhile may or may not be among them;
// none comes twice. No transaction is open while fn runs. An error of fn ends the loop and is
// returned.
func (s *Store) Each(fn func(Page) error) error { return s.each("", walked{}, fn) }

// EachWithBody is Each with bodies. fn may keep them.
func (s *Store) EachWithBody(fn func(Page) error) error {
	return s.each("", walked{bodies: true}, fn)
}

// EachOfHost is Each for one host.
func (s *Store) EachOfHost(h canon.Host, fn func(Page) error) error {
	return s.each(h, walked{}, fn)
}

// EachSince is EachWithBody for everything that changed at t or later, including pages that
// expired. It includes pages that are no longer stored and pages that became aliases: they have no
// body, but Deleted or AliasOf. It does not include URLs that never had a page of their own.
func (s *Store) EachSince(t time.Time, fn func(Page) error) error {
	return s.eachSince(t, time.Now(), fn)
}

func (s *Store) eachSince(t, now time.Time, fn func(Page) error) error {
	return s.each("", walked{bodies: true, since: t.Truncate(time.Millisecond), now: now}, fn)
}

// walked says which pages a loop returns, and with what.
type walked struct {
	bodies bool
	since  time.Time // zero: all stored pages
	now    time.Time
}

// takes reports whether a page is one of them.
func (w *walked) takes(p *Page) bool {
	if w.since.IsZero() {
		return p.listed()
	}
	return !p.Changed.Before(w.since) || p.Expired(w.now) && !p.UnavailableAfter.Before(w.since)
}

func (s *Store) each(h canon.Host, which walked, fn func(Page) error) error {
	var prefix []byte
	if h != "" {
		prefix = hostPrefix(h)
	}
	after := prefix
	for {
		chunk, last, err := s.chunk(after, prefix, &which)
		if err != nil {
			return err
		}
		for _, p := range chunk {
			if err := fn(p); err != nil {
				return err
			}
		}
		if last == nil {
			return nil
		}
		after = last
	}
}

// chunk reads pages with keys after `after`. last is nil at the end.
func (s *Store) chunk(after, prefix []byte, which *walked) (chunk []Page, last []byte, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		cur, held, size, seen := tx.Bucket(bucketMeta).Cursor(), tx.Bucket(bucketBodies), 0, 0
		aliases := tx.Bucket(bucketAliases)
		if aliases != nil {
			if k, _ := aliases.Cursor().First(); k == nil {
				aliases = nil // there are none, as in most crawls
			}
		}
		for k, v := cur.Seek(after); k != nil && bytes.HasPrefix(k, prefix); k, v = cur.Next() {
			if bytes.Equal(k, after) {
				continue
			}
			if seen++; seen > 4*chunkPages || len(chunk) == chunkPages || size > chunkBytes {
				return nil // last is where to continue
			}
			last = append(last[:0], k...)
			if v[0] != kindPage && which.since.IsZero() {
				continue
			}
			p, err := parseRecord(parseKey(k), v)
			if err != nil {
				return err
			}
			if !which.takes(&p) {
				continue
			}
			if p.Aliases, err = readAliases(aliases, k, maxAliases); err != nil {
				return err
			}
			if which.bodies && p.listed() {
				p.Body = bytes.Clone(held.Get(be64(p.ID)))
			}
			size += len(p.Body)
			chunk = append(chunk, p)
		}
		last = nil
		return nil
	})
	return chunk, last, err
}
