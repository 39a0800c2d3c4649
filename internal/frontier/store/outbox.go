package store

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/crawl"
)

// OutMessage is an event for the log of some shard, or pages for this shard's indexer. It is stored
// together with the change that causes it, sent after that transaction was committed, and deleted
// in a later one. After a crash it may be sent twice, which has no further effect. Its contents
// stay on disk until it is sent, because they may be large.
type OutMessage struct {
	N     uint64 // messages are numbered in the order of Send
	Shard int    // where it goes
	Pages bool   // for the shard's indexer, not its log
	Size  int    // in bytes
}

// outPages is the bit of the stored shard number that marks messages for an indexer.
const outPages = 1 << 15

// maxPendingBytes is how many bytes may wait in the outbox while visits are granted.
const maxPendingBytes = 32 << 20

// Outbox has a shard's messages to other shards and to the indexers that were not sent yet. It is
// part of a File, whose Mu guards it.
type Outbox struct {
	file *File

	// Unsent has the messages in order, without links that are still to be put together.
	Unsent []OutMessage

	bytes   int  // total size of Unsent
	crammed bool // there was no capacity at the last commit
	// Links found in this transaction for other shards, as one event for each shard
	forward     map[int][]byte
	committedTo uint64   // number of the last message whose transaction was committed
	sent        []uint64 // messages that were sent, to be deleted with the next commit

	// Signalled when something was committed that may be sent: events, pages.
	eventsOut, pagesOut chan struct{}
}

// Send puts an event for a shard (this one too) into the outbox.
func (o *Outbox) Send(to int, ev *crawl.Event) error {
	return o.enqueue(OutMessage{Shard: to}, crawl.AppendEvent(nil, ev))
}

// SendPages puts pages for this shard's indexer into the outbox.
func (o *Outbox) SendPages(pages []crawl.Page) error {
	return o.enqueue(OutMessage{Shard: o.file.ID, Pages: true}, crawl.AppendPages(nil, pages))
}

// Forward sends links of a page to another shard. Links of many pages become one message of the
// outbox when this transaction is committed, or several messages if one would be too long.
func (o *Outbox) Forward(to int, l *crawl.Links) error {
	if o.forward == nil {
		o.forward = map[int][]byte{}
	}
	o.file.Changes++
	before := o.forward[to]
	b := crawl.AppendLinks(before, l)
	if len(before) > 0 && len(b) > crawl.MaxEventBytes {
		if err := o.enqueue(OutMessage{Shard: to}, before); err != nil {
			return err
		}
		b = crawl.AppendLinks(nil, l) // l came in one message, so it fits into one
	}
	o.forward[to] = b
	return nil
}

func (o *Outbox) enqueue(m OutMessage, data []byte) error {
	o.file.Meta.Outbox++
	m.N, m.Size = o.file.Meta.Outbox, len(data)
	o.Unsent = append(o.Unsent, m)
	o.bytes += m.Size
	to := uint16(m.Shard)
	if m.Pages {
		to |= outPages
	}
	return o.file.Put(bucketOutbox, outKey(m.N), append(binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(data)), to), data...))
}

func outKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// Pending is the number of messages that this shard still has to send. It is zero only when no
// links are left to be forwarded either.
func (o *Outbox) Pending() int { return len(o.Unsent) + len(o.forward) }

// HasCapacity reports whether the outbox permits further visits. Visits find links for other
// shards, and the outbox must not grow without limit while those shards accept none. The shard
// applies its own log in any case: if two shards could each wait for space in the other's outbox,
// neither might ever continue.
func (o *Outbox) HasCapacity() bool { return o.bytes < maxPendingBytes }

// LoadOutbox reads the messages that were not sent yet.
func (o *Outbox) LoadOutbox() error {
	o.committedTo = o.file.Meta.Outbox
	return o.file.Tx.Bucket(bucketOutbox).ForEach(func(k, v []byte) error {
		if len(v) < 2 {
			return ErrRecord
		}
		to := binary.BigEndian.Uint16(v)
		o.Unsent = append(o.Unsent, OutMessage{
			N: binary.BigEndian.Uint64(k), Shard: int(to &^ outPages), Pages: to&outPages != 0, Size: len(v) - 2,
		})
		o.bytes += len(v) - 2
		return nil
	})
}

// HasPending reports whether a read-only file has unsent messages.
func (o *Outbox) HasPending() bool {
	b := o.file.Tx.Bucket(bucketOutbox)
	if b == nil {
		return false
	}
	k, _ := b.Cursor().First()
	return k != nil
}

// changed reports whether the next commit has anything to write here.
func (o *Outbox) changed() bool { return len(o.sent) > 0 || len(o.forward) > 0 }

// write puts what waits into the transaction, before it is committed: first the forwarded links as
// messages, then the deletion of the messages that were sent.
func (o *Outbox) write() error {
	for _, to := range slices.Sorted(maps.Keys(o.forward)) {
		if err := o.enqueue(OutMessage{Shard: to}, o.forward[to]); err != nil {
			return err
		}
	}
	clear(o.forward)
	if full := !o.HasCapacity(); full != o.crammed {
		if o.crammed = full; full {
			o.file.Log.Warn("other shards accept links more slowly than they are found: no visit is granted until they have caught up", "messages", len(o.Unsent), "bytes", o.bytes)
		}
	}
	for _, n := range o.sent {
		if err := o.file.Drop(bucketOutbox, outKey(n)); err != nil {
			return err
		}
	}
	o.sent = o.sent[:0]
	return nil
}

// committed releases the messages of a transaction that was committed.
func (o *Outbox) committed() {
	o.committedTo = o.file.Meta.Outbox
	Signal(o.eventsOut)
	Signal(o.pagesOut)
}

// CommittedOutbox returns the messages whose transaction has been committed, in order. It takes the
// lock itself.
func (o *Outbox) CommittedOutbox() []OutMessage {
	o.file.Mu.Lock()
	defer o.file.Mu.Unlock()
	n := 0
	for n < len(o.Unsent) && o.Unsent[n].N <= o.committedTo {
		n++
	}
	return slices.Clone(o.Unsent[:n])
}

// Outgoing returns the contents of a message of the outbox. It takes the lock itself.
func (o *Outbox) Outgoing(m OutMessage) (data []byte, err error) {
	f := o.file
	f.Mu.Lock()
	defer f.Mu.Unlock()
	err = f.Guarded(func() error {
		if err := f.Phase.MayWrite(); err != nil {
			return err
		}
		v := f.Tx.Bucket(bucketOutbox).Get(outKey(m.N))
		if len(v) < 2 {
			return f.Fail(ErrRecord)
		}
		data = slices.Clone(v[2:])
		return nil
	})
	return data, err
}

// MarkSent removes a message from the outbox; the next commit deletes it from disk. It takes the
// lock itself.
func (o *Outbox) MarkSent(n uint64) {
	o.file.Mu.Lock()
	defer o.file.Mu.Unlock()
	o.Unsent = slices.DeleteFunc(o.Unsent, func(m OutMessage) bool {
		if m.N == n {
			o.bytes -= m.Size
		}
		return m.N == n
	})
	o.sent = append(o.sent, n)
}

// SendOutbox sends the messages that commits release, events or pages, until ctx ends: in order for
// each shard, and to several shards at the same time. No message waits for another shard whose log
// is full, and no event waits for pages, because the crawl continues without its indexers. send
// publishes a message and returns when it was acknowledged. SendOutbox takes the lock itself.
func (o *Outbox) SendOutbox(ctx context.Context, pages bool, send func(ctx context.Context, shard int, data []byte) error) error {
	released := o.eventsOut
	if pages {
		released = o.pagesOut
	}
	g, lanes := errgroup.WithContext(ctx)
	busy, idle := map[int]bool{}, make(chan int)
	for {
		todo := map[int][]OutMessage{}
		for _, m := range o.CommittedOutbox() {
			if m.Pages == pages && !busy[m.Shard] {
				todo[m.Shard] = append(todo[m.Shard], m)
			}
		}
		for to, some := range todo {
			busy[to] = true
			g.Go(func() error {
				for _, m := range some {
					data, err := o.Outgoing(m)
					if err == nil {
						err = send(lanes, m.Shard, data)
					}
					if err != nil {
						return err
					}
					o.MarkSent(m.N)
				}
				select {
				case idle <- to:
				case <-lanes.Done():
				}
				return nil
			})
		}
		select {
		case <-lanes.Done():
			if err := g.Wait(); ctx.Err() == nil {
				return err
			}
			return nil
		case to := <-idle:
			delete(busy, to)
		case <-released:
		}
	}
}

// Signal notifies a goroutine that waits for c. It does not block.
func Signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
