package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Check reads the whole file and returns every contradiction between its buckets, joined into one
// error. It is for tests and for operators who suspect a disk. It reads all keys, so it takes a
// while on a large store.
func (s *Store) Check() error {
	var wrong []error
	report := func(format string, args ...any) {
		if len(wrong) < 100 {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	err := s.view(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			report("bbolt: %w", err)
		}
		meta, bodies, changes := tx.Bucket(bucketMeta), tx.Bucket(bucketBodies), tx.Bucket(bucketChanges)
		expires, claims := tx.Bucket(bucketExpires), tx.Bucket(bucketClaims)
		known, err := s.digestsKnown(tx)
		if err != nil {
			return err
		}
		var c counters
		var journal, dated, held, claimed, parts int
		err = meta.ForEach(func(k, v []byte) error {
			u := parseKey(k)
			p, err := parseRecord(u, v)
			if err != nil {
				return err
			}
			if !bytes.Equal(appendKey(nil, u), k) {
				report("%q is not the key of %s", k, u)
			}
			c.LastID, c.LastSeq = max(c.LastID, p.ID), max(c.LastSeq, p.Seq)
			if p.Seq != 0 {
				journal++
				if !bytes.Equal(changes.Get(be64(p.Seq)), k) {
					report("%s: change feed entry %d belongs to another page", u, p.Seq)
				}
			}
			body := bodies.Get(be64(p.ID))
			c.add(&p, 1)
			if p.AliasOf != "" && p.aliasVisit.Compare(p.Visit) <= 0 {
				report("%s: its alias is from an older visit than the page", u)
			}
			told := claims != nil && claims.Get(k) != nil // claims is nil in format 1
			if p.Deleted != "" {
				if body != nil || told {
					report("%s: it is deleted but has a body or claims", u)
				}
				return nil
			}
			held++
			if p.claimed != told {
				report("%s: claims %v, but its record has other claims", u, told)
			}
			if p.claimed {
				claimed++
			}
			if p.Encoding == crawl.EncodingParts {
				if n, err := countParts(tx, k, claims.Get(k)); err != nil {
					report("%s: %w", u, err)
				} else {
					parts += n
				}
			}
			if p.mainKnown {
				report("%s: it replaces a page whose content is known", u)
			}
			if body == nil || len(body) != p.Packed {
				report("%s: body of %d bytes, want %d", u, len(body), p.Packed)
			}
			if !known[string(appendEntry(nil, p.SHA256, p.Seq))] {
				report("%s: not found by its digest", u)
			}
			if !p.UnavailableAfter.IsZero() {
				dated++
				if !bytes.Equal(expires.Get(expiryKey(millis(p.UnavailableAfter), p.ID)), k) {
					report("%s: unavailable_after is not scheduled", u)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if b := tx.Bucket(bucketParts); b != nil && b.Stats().KeyN < parts {
			report("parts: %d keys, want %d at least", b.Stats().KeyN, parts)
		}
		for _, b := range []struct {
			name   string
			bucket *bolt.Bucket
			want   int
		}{{"bodies", bodies, held}, {"changes", changes, journal},
			{"expires", expires, dated}, {"claims", claims, claimed}} {
			if b.bucket == nil {
				continue
			}
			if n := b.bucket.Stats().KeyN; n != b.want {
				report("%s: %d keys, want %d", b.name, n, b.want)
			}
		}
		kept, err := getCounters(tx.Bucket(bucketAbout))
		if err != nil {
			return err
		}
		if kept.LastID < c.LastID || kept.LastSeq < c.LastSeq || kept.Pages != c.Pages || kept.Bytes != c.Bytes ||
			kept.Packed != c.Packed || kept.Tombstones != c.Tombstones {
			report("the counters are %+v, but counting gives %+v", *kept, c)
		}
		if last, _ := changes.Cursor().Last(); last != nil && binary.BigEndian.Uint64(last) > kept.LastSeq {
			report("the change feed goes past %d", kept.LastSeq)
		}
		return nil
	})
	if err != nil {
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

// digestsKnown returns all entries of the index by digest, and reports runs that are not sorted.
func (s *Store) digestsKnown(tx *bolt.Tx) (map[string]bool, error) {
	if err := s.digests.load(tx); err != nil {
		return nil, err
	}
	s.digests.mu.Lock()
	known := make(map[string]bool)
	for e := range slices.Chunk(s.digests.recent, digestEntry) {
		known[string(e)] = true
	}
	s.digests.mu.Unlock()
	err := tx.Bucket(bucketDigests).ForEach(func(k, run []byte) error {
		entries := slices.Collect(slices.Chunk(run, digestEntry))
		if !slices.IsSortedFunc(entries, bytes.Compare) {
			return fmt.Errorf("digests: run %x is not sorted", k)
		}
		for _, e := range entries {
			known[string(e)] = true
		}
		return nil
	})
	return known, err
}
