package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A page of a mirror is glued to the page of the main host: it is an alias of that from then on, no page of its own.
//
// What is known of a URL are two things, each with the visit that told of it: the page, and whether it is an alias. Of each the
// newest word counts, and it is an alias if the word that it is one is newer than the page. So messages may come in any order, and
// again. (Visits of both are numbered by the mirror's shard.)
//
// The copy of an alias is kept, for search alone, until the main page was asked for: then it goes, and none is stored any more. Also when
// there turns out to be no main page, or none that may be kept: its robots.txt and tags are its own to say, not its mirrors'.
//
// The two may be in different shards, whose stores are told of one another by letters:
//
//	the alias' store  its record says what it is an alias of, and whether that is known to be decided
//	the main's store  bucket aliases: key of the main page, NUL, URL of the alias → the newest word on that. They are listed with
//	                  the page when it is held; the alias' store is told when it is decided, or comes to be
//
// When the main page's store is lost, it does not learn again what aliases its pages have until they are glued again.

// bucketAliases is described above.
var bucketAliases = []byte("aliases")

// maxAliases is how many aliases of a page are read: mirrors cost nothing to whoever wants a page to have many.
const maxAliases = 100

// Alias takes in words on aliases, pages of crawl.KindAlias, in one transaction. Words that are not newer than what is known, or
// concern neither page of this store, change nothing.
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

// glue notes of which page a URL is an alias now, if of any.
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
	w.page.AliasOf, w.page.aliasVisit, w.page.mainHeld = word.AliasOf, word.Visit, false
	if err := ch.apply([]*write{w}); err != nil || word.AliasOf == "" {
		return err
	}
	if ch.s.mine(word.AliasOf.Host()) {
		return ch.list(word.AliasOf, word.URL, word.Visit)
	}
	return ch.letter(Letter{Kind: LetterAlias, URL: word.URL, AliasOf: word.AliasOf, Visit: word.Visit})
}

// decided reports whether it is known what there is to keep of a page: the page, or nothing.
func (p *Page) decided() bool {
	return p.listed() || p.ID != 0 && p.AliasOf == "" && p.Deleted != crawl.ReasonMirror
}

// standDown drops the copy of an alias, since the page it is an alias of is decided.
func (ch *change) standDown(u, main canon.URL) error {
	w := &write{key: appendKey(nil, u), page: Page{Page: crawl.Page{URL: u}}}
	if err := ch.read(w); err != nil || w.old.AliasOf != main || w.old.mainHeld {
		return err
	}
	w.page = w.old
	w.page.mainHeld = true
	if w.had {
		w.page.Deleted = crawl.ReasonMirror
		ch.drop(w)
	}
	return ch.apply([]*write{w})
}

// followAliases does what follows from a change for others: for the page it is no alias of any more, and for its own aliases when it
// comes to be decided.
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
			err = ch.letter(Letter{Kind: LetterAlias, URL: w.page.URL, AliasOf: main, Visit: visit, Gone: true})
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

// mainIsDecided tells an alias' store that it need not stand in for the main page any more.
func (ch *change) mainIsDecided(alias, main canon.URL) error {
	if ch.s.mine(alias.Host()) {
		return ch.standDown(alias, main)
	}
	return ch.letter(Letter{Kind: LetterAlias, URL: alias, AliasOf: main, Held: true})
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

// unlist notes that a main page does not have an alias any more. The visit that said it had is not believed again.
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
			return nil, fmt.Errorf("pages: alias %s of %s cannot be read", k[len(prefix):], parseKey(key))
		}
		if live {
			all = append(all, canon.URL(k[len(prefix):]))
		}
	}
	return all, nil
}

// aliasKey: no key of a page has a second NUL.
func aliasKey(main, alias canon.URL) []byte {
	return append(append(appendKey(nil, main), 0), alias...)
}

func appendListed(visit crawl.VisitID, live bool) []byte {
	return binary.AppendUvarint(binary.AppendUvarint([]byte{bit(live)}, visit.Epoch), visit.N)
}

// parseListed is the reverse; nothing is the zero visit.
func parseListed(v []byte) (visit crawl.VisitID, live bool) {
	r := reader{b: v}
	live = r.byte() != 0
	visit.Epoch, visit.N = r.uvarint(), r.uvarint()
	if r.bad {
		return crawl.VisitID{}, false
	}
	return visit, live
}
