package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A page of a mirror is an alias of the main host's page: another address of it, and no page
// of its own any more.
//
// Two things are known of a URL, each with the visit that told it: the page, and whether the URL is
// an alias. The newest word on each counts. The URL is an alias if the word that says so is newer
// than the page. So messages may come in any order, and more than once. (The visits of both are
// numbered by the mirror's shard.)
//
// The copy of an alias is kept, for search only, until the main page was fetched. Then the copy
// goes, and no other is stored. This holds also when there turns out to be no main page, or none
// that may be kept: that is for the main host's robots.txt and tags to say, not for its mirrors'.
//
// The alias and its main page may be in different shards, whose stores tell one another by letters:
//
//	in the alias' store       its record says what it is an alias of, and whether it is known
//	                          what became of the main page
//	in the main page's store  bucket aliases: key of the main page, NUL, URL of the alias → the
//	                          newest word on that. Aliases are listed with the page while it is
//	                          held. Their stores are told once it is known what became of it
//
// When the main page's store is lost, it learns the aliases of its pages again only when
// they are merged again.

// bucketAliases is described above.
var bucketAliases = []byte("aliases")

// maxAliases is how many aliases of a page are read: mirrors cost nothing to whoever wants
// a page to have many.
const maxAliases = 100

// Alias takes in pages of crawl.KindAlias, which say what is an alias of what, in one
// transaction. Words that are not newer than what is known, and words about pages of other
// stores, change nothing.
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
	case w.Renewed: // the main page is decided
		if mine {
			return ch.standDown(w.URL, w.AliasOf)
		}
		return nil
	case w.Deleted != "": // it is no alias of that page any more
		if main {
			return ch.unlist(w.AliasOf, w.URL, w.Visit)
		}
		return nil
	}
	if mine {
		return ch.glue(w) // decides, and tells the main page's store
	}
	if main {
		return ch.list(w.AliasOf, w.URL, w.Visit)
	}
	return nil
}

// glue notes which page a URL is an alias of now, if any.
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

// decided reports whether it is known what became of a page: stored, or known not to be.
func (p *Page) decided() bool {
	return p.listed() || p.ID != 0 && p.AliasOf == "" && p.Deleted != crawl.ReasonMirror
}

// standDown drops the copy of an alias, because it is known what became of the main page.
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

// followAliases tells others what a change means for them: the page that this one is no alias of
// any more, and this page's own aliases once it is known what became of it.
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

// mainIsDecided tells an alias' store that the copy need not stand in for the main page any more.
func (ch *change) mainIsDecided(alias, main canon.URL) error {
	if ch.s.mine(alias.Host()) {
		return ch.standDown(alias, main)
	}
	return ch.enqueue(OutboxMessage{Kind: OutboxAlias, URL: alias, AliasOf: main, MainKnown: true})
}

// list notes an alias of a main page.
func (ch *change) list(main, alias canon.URL, visit crawl.VisitID) error {
	b, k := ch.tx.Bucket(bucketAliases), aliasKey(main, alias)
	if was, _ := parseListed(b.Get(k)); visit.Compare(was) <= 0 {
		return nil
	}
	if err := b.Put(k, appendListed(visit, true)); err != nil {
		return err
	}
	if v := ch.tx.Bucket(bucketMeta).Get(appendKey(nil, main)); v != nil {
		if p, err := parseRecord(main, v); err != nil || !p.decided() {
			return err
		}
		return ch.mainIsDecided(alias, main)
	}
	return nil
}

// unlist notes that a main page does not have an alias any more. The word of the visit that listed
// it is not believed again.
func (ch *change) unlist(main, alias canon.URL, visit crawl.VisitID) error {
	b, k := ch.tx.Bucket(bucketAliases), aliasKey(main, alias)
	if was, live := parseListed(b.Get(k)); visit.Compare(was) < 0 || visit == was && !live {
		return nil
	}
	return b.Put(k, appendListed(visit, false))
}

func (ch *change) aliasesOf(key []byte) (all []canon.URL, err error) {
	return readAliases(ch.tx.Bucket(bucketAliases), key, 1<<30)
}

// readAliases returns the aliases that the main page with a key has now, at most limit of them.
func readAliases(b *bolt.Bucket, key []byte, limit int) (all []canon.URL, err error) {
	if b == nil { // of format 1
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

// aliasKey is unambiguous: the key of a page has one NUL only.
func aliasKey(main, alias canon.URL) []byte {
	return append(append(appendKey(nil, main), 0), alias...)
}

func appendListed(visit crawl.VisitID, live bool) []byte {
	return binary.AppendUvarint(binary.AppendUvarint([]byte{bit(live)}, visit.Epoch), visit.N)
}

// parseListed reads an entry of the bucket aliases; an empty one is the zero visit.
func parseListed(v []byte) (visit crawl.VisitID, live bool) {
	r := reader{b: v}
	live = r.byte() != 0
	visit.Epoch, visit.N = r.uvarint(), r.uvarint()
	if r.bad {
		return crawl.VisitID{}, false
	}
	return visit, live
}
