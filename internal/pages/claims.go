package pages

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
)

// bucketClaims contains what pages state about datasets: page key → Page.Claims. An entry lives as
// long as the copy of the page: it is replaced and removed with it.
var bucketClaims = []byte("claims")

func applyClaims(claims *bolt.Bucket, w *write) error {
	switch {
	case w.page.Deleted == "" && w.page.Claims != nil && !w.page.Renewed:
		return claims.Put(w.key, w.page.Claims)
	case w.had && w.old.claimed && !(w.page.Deleted == "" && w.page.claimed):
		return claims.Delete(w.key)
	}
	return nil
}

// claimsDiffer reports whether a page states other things about datasets than before. This is
// possible with an equal body, because its header may describe datasets, too. For documents in
// parts the body decides.
func (w *write) claimsDiffer(claims *bolt.Bucket) bool {
	p := &w.page
	if p.Deleted != "" || p.Renewed || p.Encoding == crawl.EncodingParts || w.old.Encoding == crawl.EncodingParts {
		return false
	}
	return p.claimed != w.old.claimed || p.claimed && !bytes.Equal(p.Claims, claims.Get(w.key))
}

// EachClaimed calls fn for every page that describes datasets, copies of aliases included, in the
// order of keys. The page has its Claims, and its Body if Claims is empty. No transaction is open
// while fn runs. An error of fn ends the loop and is returned.
func (s *Store) EachClaimed(fn func(Page) error) error {
	for after := []byte(nil); ; {
		chunk, last, err := s.claimed(after)
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

// claimed reads some of the pages with keys after `after`. last is nil at the end.
func (s *Store) claimed(after []byte) (chunk []Page, last []byte, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		claims, meta, bodies := tx.Bucket(bucketClaims), tx.Bucket(bucketMeta), tx.Bucket(bucketBodies)
		if claims == nil { // a file of format 1
			return nil
		}
		cur, size := claims.Cursor(), 0
		for k, v := cur.Seek(after); k != nil; k, v = cur.Next() {
			if bytes.Equal(k, after) {
				continue
			}
			if len(chunk) == chunkPages || size > chunkBytes {
				return nil // last is where to continue
			}
			last = append(last[:0], k...)
			p, err := parseRecord(parseKey(k), meta.Get(k))
			if err != nil {
				return err
			}
			if p.Deleted != "" || !p.claimed {
				return fmt.Errorf("%w: claims of %s, which has no claims", errRecord, p.URL)
			}
			if p.Claims = bytes.Clone(v); len(v) == 0 {
				p.Claims, p.Body = []byte{}, bytes.Clone(bodies.Get(be64(p.ID)))
			}
			size += len(p.Claims) + len(p.Body)
			chunk = append(chunk, p)
		}
		last = nil
		return nil
	})
	return chunk, last, err
}

// IsMeta reports whether a page is a document about datasets, and not a page for people.
func (p *Page) IsMeta() bool { return p.Kind == crawl.KindMeta }
