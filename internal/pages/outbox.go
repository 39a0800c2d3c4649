package pages

import (
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// bucketOutbox holds letters to others, written in the transaction of what they tell: number → letter. Whoever has the store sends
// them and says so; one sent twice changes nothing.
var bucketOutbox = []byte("outbox")

// LetterKind says what a letter is.
type LetterKind byte

// The kinds.
const (
	// LetterAlias is for the store of another shard: URL is an alias of AliasOf, or is none any more (Gone), and that is the main
	// page's to know; or it is known what there is of the main page (Held), and that is the alias'.
	LetterAlias LetterKind = 'a'
	// LetterMissing is for the frontier: URL was said to be as before, and no copy of it is held.
	LetterMissing LetterKind = 'm'
	// LetterRemoved is for the frontier: the page was held until its unavailable_after came.
	LetterRemoved LetterKind = 'r'
)

// Letter is something others must be told.
type Letter struct {
	Seq        uint64 // its number, ascending
	Kind       LetterKind
	URL        canon.URL
	AliasOf    canon.URL
	Visit      crawl.VisitID
	Gone, Held bool
}

func (ch *change) letter(l Letter) error {
	b := ch.tx.Bucket(bucketOutbox)
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	v := binary.AppendUvarint(binary.AppendUvarint([]byte{byte(l.Kind), bit(l.Gone) | bit(l.Held)<<1}, l.Visit.Epoch), l.Visit.N)
	v = appendString(appendString(v, string(l.URL)), string(l.AliasOf))
	ch.letters++
	return b.Put(be64(n), v)
}

// Outbox returns the first letters that are not sent, at most n.
func (s *Store) Outbox(n int) (all []Letter, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketOutbox)
		if b == nil { // of format 1
			return nil
		}
		cur := b.Cursor()
		for k, v := cur.First(); k != nil && len(all) < n; k, v = cur.Next() {
			r := reader{b: v}
			l := Letter{Seq: binary.BigEndian.Uint64(k), Kind: LetterKind(r.byte())}
			flags := r.byte()
			l.Gone, l.Held = flags&1 != 0, flags&2 != 0
			l.Visit.Epoch, l.Visit.N = r.uvarint(), r.uvarint()
			l.URL, l.AliasOf = canon.URL(r.string()), canon.URL(r.string())
			if r.bad {
				return fmt.Errorf("pages: letter %d cannot be read", l.Seq)
			}
			all = append(all, l)
		}
		return nil
	})
	return all, err
}

// Sent takes letters out of the outbox.
func (s *Store) Sent(letters []Letter) error {
	return s.update(func() string { return "note what is sent" }, func(ch *change) error {
		b := ch.tx.Bucket(bucketOutbox)
		for _, l := range letters {
			if b.Get(be64(l.Seq)) == nil {
				continue
			}
			if err := b.Delete(be64(l.Seq)); err != nil {
				return err
			}
			ch.letters--
		}
		return nil
	})
}
