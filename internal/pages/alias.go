package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A page of a mirror is an alias of the page of the main host: another address of it, and no longer
// a page of its own.
//
// The store knows two things about a URL: the page, and whether the URL is an alias. Each has the
// visit that reported it, and the newest report counts. The URL is an alias if the report of that
// is newer than the page. Messages may therefore arrive in any order, and more than once. (The
// mirror's shard numbers the visits of both.)
//
// The copy of an alias is kept, for search only, until the main page was fetched. Then the copy is
// removed, and no other is stored. This is so even if there is no main page, or none that may be
// stored, because robots.txt and tags of the main host decide that, not those of its mirrors.
//
// The alias and its main page may be in different shards. Their stores notify each other by queued
// messages:
//
//	in the alias' store       its record contains what it is an alias of, and whether the outcome
//	                          of the main page is known
//	in the main page's store  bucket aliases: key of the main page, NUL, URL of the alias → the
//	                          newest report. Aliases are listed with the page while it is stored.
//	                          Their stores are notified once the outcome of the page is known
//
// If the store of the main page is lost, it learns the aliases of its pages only when they are
// merged again.

// bucketAliases is the bucket described above.
var bucketAliases = []byte("aliases")

// maxAliases is how many aliases of a page are read, because mirrors cost nothing to somebody who
// wants a page to have many.
const maxAliases = 100

// Alias applies pages of crawl.KindAlias, which report what is an alias of what, in one
// transaction. Reports that are not newer than what is known change nothing, and neither do reports
// about pages of other stores.
func (s *Store) Alias(words []crawl.Page) error {
	return s.update(func() string { return fmt.Sprintf("glue %d pages", len(words)) }, func(ch *change) error {
		for i := range words {
			if err := ch.alias(&words[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (ch *change) alias(w *crawl.Page) error {
	mine, main := ch.s.mine(w.URL.Host()), w.AliasOf != "" && ch.s.mine(w.AliasOf.Host())
	switch {
	case w.Renewed: // the outcome of the main page is known
		if mine {
			return ch.standDown(w.URL, w.AliasOf)
		}
		return nil
	case w.Deleted != "": // it is no longer an alias of that page
		if main {
			return ch.unlist(w.AliasOf, w.URL, w.Visit)
		}
		return nil
	}
	if mine {
		return ch.glue(w) // decides, and notifies the store of the main page
	}
	if main {
		return ch.list(w.AliasOf, w.URL, w.Visit)
	}
	return nil
}

// glue stores that a URL is an alias of the page AliasOf or, if AliasOf is empty, of no page.
func (ch *change) glue(word *crawl.Page) error {
	w := &write{key: appendKey(nil, word.URL), page: Page{Page: crawl.Page{URL: word.URL}}}
	if err := ch.read(w); err != nil {
		return err
	}
	if word.Visit.Compare(w.old.Visit) <= 0 || word.Visit.Compare(w.old.aliasVisit) <= 0 {
		return nil
	}
	w.page = w.old
	if w.old.ID == 0 {
		ch.c.LastID++
		w.page = Page{Page: crawl.Page{URL: word.URL, Deleted: crawl.ReasonMirror}, ID: ch.c.LastID}
	}
	w.page.AliasOf, w.page.aliasVisit, w.page.mainKnown = word.AliasOf, word.Visit, false
	if err := ch.apply([]*write{w}); err != nil || word.AliasOf == "" {
		return err
	}
	if ch.s.mine(word.AliasOf.Host()) {
		return ch.list(word.AliasOf, word.URL, word.Visit)
	}
	return ch.enqueue(OutboxMessage{Kind: OutboxAlias, URL: word.URL, AliasOf: word.AliasOf, Visit: word.Visit})
}

// decided reports whether the outcome of a page is known: it is stored, or will not be.
func (p *Page) decided() bool {
	return p.listed() || p.ID != 0 && p.AliasOf == "" && p.Deleted != crawl.ReasonMirror
}

// standDown removes the copy of an alias, because the outcome of the main page is known.
func (ch *change) standDown(u, main canon.URL) error {
	w := &write{key: appendKey(nil, u), page: Page{Page: crawl.Page{URL: u}}}
	if err := ch.read(w); err != nil || w.old.AliasOf != main || w.old.mainKnown {
		return err
	}
	w.page = w.old
	w.page.mainKnown = true
	if w.had {
		w.page.Deleted = crawl.ReasonMirror
		ch.drop(w)
	}
	return ch.apply([]*write{w})
}

// followAliases passes a change on to other pages. If this page was an alias until now, the page
// that it was an alias of is one of them. Its own aliases are others, as soon as the outcome of
// this page is known.
func (ch *change) followAliases(w *write) error {
	if main := w.old.AliasOf; main != "" && main != w.page.AliasOf {
		visit := w.page.aliasVisit
		if visit.IsZero() {
			visit = w.page.Visit
		}
		var err error
		if ch.s.mine(main.Host()) {
			err = ch.unlist(main, w.page.URL, visit)
		} else {
			err = ch.enqueue(OutboxMessage{Kind: OutboxAlias, URL: w.page.URL, AliasOf: main, Visit: visit, Gone: true})
		}
		if err != nil {
			return err
		}
	}
	if !w.page.decided() || w.old.decided() {
		return nil
	}
	all, err := ch.aliasesOf(w.key)
	if err != nil {
		return err
	}
	for _, u := range all {
		if err := ch.mainIsDecided(u, w.page.URL); err != nil {
			return err
		}
	}
	return nil
}

// mainIsDecided notifies the store of an alias that its copy is no longer needed in place of the
// main page.
func (ch *change) mainIsDecided(alias, main canon.URL) error {
	if ch.s.mine(alias.Host()) {
		return ch.standDown(alias, main)
	}
	return ch.enqueue(OutboxMessage{Kind: OutboxAlias, URL: alias, AliasOf: main, MainKnown: true})
}

// list stores an alias of a main page.
func (ch *change) list(main, alias canon.URL, visit crawl.VisitID) error {
	b, k := ch.tx.Bucket(bucketAliases), aliasKey(main, alias)
	was, live := parseListed(b.Get(k))
	if visit.Compare(was) <= 0 {
		return nil
	}
	if err := b.Put(k, appendListed(visit, true)); err != nil {
		return err
	}
	if !live {
		if err := ch.renumber(main); err != nil {
			return err
		}
	}
	if v := ch.tx.Bucket(bucketMeta).Get(appendKey(nil, main)); v != nil {
		if p, err := parseRecord(main, v); err != nil || !p.decided() {
			return err
		}
		return ch.mainIsDecided(alias, main)
	}
	return nil
}

// unlist stores that a main page no longer has an alias. A repeated report of the visit that listed
// it is then ignored.
func (ch *change) unlist(main, alias canon.URL, visit crawl.VisitID) error {
	b, k := ch.tx.Bucket(bucketAliases), aliasKey(main, alias)
	was, live := parseListed(b.Get(k))
	if visit.Compare(was) < 0 || visit == was && !live {
		return nil
	}
	if err := b.Put(k, appendListed(visit, false)); err != nil || !live {
		return err
	}
	return ch.renumber(main)
}

func (ch *change) aliasesOf(key []byte) (all []canon.URL, err error) {
	return readAliases(ch.tx.Bucket(bucketAliases), key, 1<<30)
}

// readAliases returns the current aliases of the main page with a key, at most limit.
func readAliases(b *bolt.Bucket, key []byte, limit int) (all []canon.URL, err error) {
	if b == nil { // a file of format 1
		return nil, nil
	}
	prefix, cur := append(bytes.Clone(key), 0), b.Cursor()
	for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix) && len(all) < limit; k, v = cur.Next() {
		visit, live := parseListed(v)
		if visit.IsZero() {
			return nil, fmt.Errorf("%w: alias %s of %s", errRecord, k[len(prefix):], parseKey(key))
		}
		if live {
			all = append(all, canon.URL(k[len(prefix):]))
		}
	}
	return all, nil
}

// aliasKey is unambiguous, because the key of a page has exactly one NUL.
func aliasKey(main, alias canon.URL) []byte {
	return append(append(appendKey(nil, main), 0), alias...)
}

func appendListed(visit crawl.VisitID, live bool) []byte {
	return binary.AppendUvarint(binary.AppendUvarint([]byte{bit(live)}, visit.Epoch), visit.N)
}

// parseListed reads an entry of the bucket aliases. An empty entry is the zero visit.
func parseListed(v []byte) (visit crawl.VisitID, live bool) {
	r := reader{b: v}
	live = r.byte() != 0
	visit.Epoch, visit.N = r.uvarint(), r.uvarint()
	if r.bad {
		return crawl.VisitID{}, false
	}
	return visit, live
}
