package pages

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// bucketOutbox contains queued messages to others: number → message. A message is written in the
// transaction that it reports. The process with the store sends it and then reports it as sent. To
// send a message twice changes nothing.
var bucketOutbox = []byte("outbox")

// OutboxKind is the kind of a queued message.
type OutboxKind byte

// The kinds of queued messages.
const (
	// OutboxAlias is for the store of another shard. To the store of the main page it reports that
	// URL is an alias of AliasOf, or no longer is (Gone). To the store of the alias it reports that
	// the outcome of the main page is known (Held).
	OutboxAlias OutboxKind = 'a'
	// OutboxMissing is for the frontier: URL was reported as unchanged, but no copy of it is
	// stored.
	OutboxMissing OutboxKind = 'm'
	// OutboxRemoved is for the frontier: the page was removed because its unavailable_after has
	// passed, perhaps before the page arrived.
	OutboxRemoved OutboxKind = 'r'
	// OutboxUnreadable is for the frontier: the page is not stored, because reading it ended the
	// process.
	OutboxUnreadable OutboxKind = 'u'
	// OutboxSkipped is for the frontier: site rules skip the page, so it is not stored.
	OutboxSkipped OutboxKind = 's'
)

// OutboxMessage is a queued message to another shard or to the frontier.
type OutboxMessage struct {
	Seq             uint64 // its number, ascending
	Kind            OutboxKind
	URL             canon.URL
	AliasOf         canon.URL
	Visit           crawl.VisitID
	Gone, MainKnown bool
	Why             string // of OutboxSkipped: the rule, crawl.MaxDetail bytes at most
	Rules           uint64 // of OutboxSkipped: the Ruled.Rules
}

// Outbox has the queued messages of a store. Its methods may be called concurrently.
type Outbox struct {
	store   *Store       // for its transactions
	pending atomic.Int64 // how many messages are queued, as of the last commit
	added   signal
}

// Changed returns a channel that is closed by the next commit that adds to the outbox. Call it
// before reading the outbox, so that no message is missed in between.
func (o *Outbox) Changed() <-chan struct{} { return o.added.wait() }

// load counts the messages of a file that is being opened.
func (o *Outbox) load(tx *bolt.Tx) {
	if b := tx.Bucket(bucketOutbox); b != nil { // nil: a file of format 1
		o.pending.Store(int64(b.Stats().KeyN))
	}
}

// committed counts the messages that a commit has added or, below 0, removed.
func (o *Outbox) committed(queued int64) {
	o.pending.Add(queued)
	if queued > 0 {
		o.added.give()
	}
}

func (ch *change) enqueue(l OutboxMessage) error {
	b := ch.tx.Bucket(bucketOutbox)
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	v := binary.AppendUvarint(binary.AppendUvarint([]byte{byte(l.Kind), bit(l.Gone) | bit(l.MainKnown)<<1}, l.Visit.Epoch), l.Visit.N)
	v = appendString(appendString(v, string(l.URL)), string(l.AliasOf))
	if l.Why != "" {
		v = binary.AppendUvarint(appendString(v, crawl.ShortDetail(l.Why)), l.Rules)
	}
	ch.queued++
	return b.Put(be64(n), v)
}

// First returns the first queued messages, at most n.
func (o *Outbox) First(n int) (all []OutboxMessage, err error) {
	err = o.store.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketOutbox)
		if b == nil { // a file of format 1
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
			if len(r.b) > 0 {
				l.Why, l.Rules = r.string(), r.uvarint()
			}
			if r.bad {
				return fmt.Errorf("%w: alias update %d", errRecord, l.Seq)
			}
			all = append(all, l)
		}
		return nil
	})
	return all, err
}

// Sent removes messages from the outbox, in one transaction with one fsync.
func (o *Outbox) Sent(queued []OutboxMessage) error {
	return o.store.update(func() string { return "record what was sent" }, func(ch *change) error {
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
