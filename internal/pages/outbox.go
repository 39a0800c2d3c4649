package pages

import (
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// bucketOutbox holds letters to others: number → letter. A letter is written in the transaction of
// what it tells. The process that has the store sends it and then reports it as sent. Sending one
// twice changes nothing.
var bucketOutbox = []byte("outbox")

// LetterKind says what a letter is.
type LetterKind byte

// The kinds.
const (
	// LetterAlias is for the store of another shard. To the main page's store it says that URL is
	// an alias of AliasOf, or is none any more (Gone). To the alias' store it says that it is known
	// what became of the main page (Held).
	LetterAlias LetterKind = 'a'
	// LetterMissing is for the frontier: URL was reported as unchanged, but no copy of it is held.
	LetterMissing LetterKind = 'm'
	// LetterRemoved is for the frontier: the page was removed because its unavailable_after came,
	// perhaps while it was on its way here.
	LetterRemoved LetterKind = 'r'
	// LetterUnreadable is for the frontier: the page is not held, because reading
	// it ended the process.
	LetterUnreadable LetterKind = 'u'
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
	err = s.view(func(tx *bolt.Tx) error {
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
				return fmt.Errorf("%w: alias update %d", errRecord, l.Seq)
			}
			all = append(all, l)
		}
		return nil
	})
	return all, err
}

// Sent takes letters out of the outbox.
func (s *Store) Sent(letters []Letter) error {
	return s.update(func() string { return "record what was sent" }, func(ch *change) error {
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
