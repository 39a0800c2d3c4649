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

// OutboxKind says what a letter is.
type OutboxKind byte

// The kinds.
const (
	// OutboxAlias is for the store of another shard. To the main page's store it says that URL is
	// an alias of AliasOf, or is none any more (Gone). To the alias' store it says that it is known
	// what became of the main page (Held).
	OutboxAlias OutboxKind = 'a'
	// OutboxMissing is for the frontier: URL was reported as unchanged, but no copy of it is held.
	OutboxMissing OutboxKind = 'm'
	// OutboxRemoved is for the frontier: the page was removed because its unavailable_after came,
	// perhaps while it was on its way here.
	OutboxRemoved OutboxKind = 'r'
	// OutboxUnreadable is for the frontier: the page is not held, because reading
	// it ended the process.
	OutboxUnreadable OutboxKind = 'u'
)

// OutboxMessage is something others must be told.
type OutboxMessage struct {
	Seq             uint64 // its number, ascending
	Kind            OutboxKind
	URL             canon.URL
	AliasOf         canon.URL
	Visit           crawl.VisitID
	Gone, MainKnown bool
}

func (ch *change) enqueue(l OutboxMessage) error {
	b := ch.tx.Bucket(bucketOutbox)
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	v := binary.AppendUvarint(binary.AppendUvarint([]byte{byte(l.Kind), bit(l.Gone) | bit(l.MainKnown)<<1}, l.Visit.Epoch), l.Visit.N)
	v = appendString(appendString(v, string(l.URL)), string(l.AliasOf))
	ch.queued++
	return b.Put(be64(n), v)
}

// Outbox returns the first letters that are not sent, at most n.
func (s *Store) Outbox(n int) (all []OutboxMessage, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketOutbox)
		if b == nil { // of format 1
			return nil
		}
		cur := b.Cursor()
		for k, v := cur.First(); k != nil && len(all) < n; k, v = cur.Next() {
			r := reader{b: v}
			l := OutboxMessage{Seq: binary.BigEndian.Uint64(k), Kind: OutboxKind(r.byte())}
			flags := r.byte()
			l.Gone, l.MainKnown = flags&1 != 0, flags&2 != 0
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
func (s *Store) Sent(queued []OutboxMessage) error {
	return s.update(func() string { return "record what was sent" }, func(ch *change) error {
		b := ch.tx.Bucket(bucketOutbox)
		for _, l := range queued {
			if b.Get(be64(l.Seq)) == nil {
				continue
			}
			if err := b.Delete(be64(l.Seq)); err != nil {
				return err
			}
			ch.queued--
		}
		return nil
	})
}
