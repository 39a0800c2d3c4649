package pages

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Ruling is what changed site rules make of a stored page.
type Ruling struct {
	// Page is the page as ReadFrom returned it, with the new Ruled. If it has another Title, that
	// is the page's own.
	Page Page
	// SkippedBy says which rule skips the page, so that it is deleted; empty: it stays.
	SkippedBy string
}

// Ruled counts what Rule did.
type Ruled struct {
	// Changed counts pages of which something is different. Followers of the change feed read them
	// again.
	Changed int
	Skipped int // pages that were deleted
}

// Rule applies rulings and sets a mark, in one transaction with one fsync. A page that is not the
// one that was read any more is left as it is: whoever stores pages meanwhile has to apply the new
// rules to them. The frontier is notified of deleted pages. After an error nothing has changed.
func (s *Store) Rule(all []Ruling, mark string, value func(Ruled) string) (res Ruled, err error) {
	err = s.update(func() string { return fmt.Sprintf("apply site rules to %d pages", len(all)) }, func(ch *change) error {
		res = Ruled{}
		var live []*write
		for i := range all {
			w, err := ch.rule(&all[i], &res)
			if err != nil {
				return err
			}
			if w != nil {
				live = append(live, w)
			}
		}
		if err := ch.apply(live); err != nil {
			return err
		}
		marks, err := ch.tx.CreateBucketIfNotExists(bucketMarks)
		if err != nil {
			return err
		}
		return marks.Put([]byte(mark), []byte(value(res)))
	})
	if err != nil {
		return Ruled{}, err
	}
	return res, nil
}

// rule decides about one page. It returns nil if nothing is written.
func (ch *change) rule(r *Ruling, res *Ruled) (*write, error) {
	p := &r.Page
	w := &write{key: appendKey(nil, p.URL), page: Page{Page: crawl.Page{URL: p.URL}}}
	if err := ch.read(w); err != nil {
		return nil, err
	}
	old := &w.old
	if !w.had || old.SHA256 != p.SHA256 || old.ContentType != p.ContentType || old.Charset != p.Charset {
		return nil, nil
	}
	w.page = *old
	// The body and what it states about datasets stay.
	w.page.Renewed = true
	if r.SkippedBy != "" {
		res.Skipped++
		w.page.Deleted = crawl.ReasonSiteRule
		ch.drop(w)
		if !old.listed() {
			return w, nil
		}
		return w, ch.enqueue(OutboxMessage{Kind: OutboxSkipped, URL: p.URL, Visit: old.Visit, Why: r.SkippedBy, Rules: p.Ruled.Rules})
	}
	w.page.Ruled, w.page.Title = p.Ruled, p.Title
	w.page.applyTitle()
	if !w.page.sameContent(old) {
		res.Changed++
		ch.c.LastSeq++
		w.page.Seq = ch.c.LastSeq
	}
	return w, nil
}

// ReadFrom returns stored pages in the order of their keys, with bodies, at most n and about four
// megabytes: those after a cursor for which want returns true. next is the cursor to continue with,
// empty at the end, and seen is how many stored pages were passed. The first cursor is empty.
// Copies of aliases are among the pages.
func (s *Store) ReadFrom(cursor string, n int, want func(*Page) bool) (found []Page, seen int, next string, err error) {
	size := 0
	err = s.view(func(tx *bolt.Tx) error {
		cur, bodies := tx.Bucket(bucketMeta).Cursor(), tx.Bucket(bucketBodies)
		k, v := cur.Seek([]byte(cursor))
		if cursor != "" && bytes.Equal(k, []byte(cursor)) {
			k, v = cur.Next()
		}
		for looked := 0; k != nil; k, v = cur.Next() {
			if looked++; looked > 4*chunkPages || len(found) == n || size > chunkBytes {
				return nil
			}
			next = string(k)
			if v[0] != kindPage {
				continue
			}
			p, err := parseRecord(parseKey(k), v)
			if err != nil {
				return err
			}
			if seen++; want(&p) {
				p.Body = bytes.Clone(bodies.Get(be64(p.ID)))
				size += len(p.Body)
				found = append(found, p)
			}
		}
		next = ""
		return nil
	})
	return found, seen, next, err
}
