package pages

import (
	"bytes"

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

// IsMeta reports whether a page is a document about datasets, and not a page for people.
func (p *Page) IsMeta() bool { return p.Kind == crawl.KindMeta }
