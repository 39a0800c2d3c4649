package hosts

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/crawl"
)

// OutMessage is an event for the log of some shard, or pages for this shard's indexer. It is stored
// together with the change that causes it, sent after that transaction was committed, and deleted
// in a later one. After a crash it may be sent twice, which has no further effect. Its contents
// stay on disk until it is sent, because they may be large.
type OutMessage struct {
	N     uint64
	Shard int
	Pages bool // for the shard's indexer, not its log
	Size  int  // in bytes
}

// outPages is the bit of the stored shard number that marks messages for an indexer.
const outPages = 1 << 15

// Send puts an event for a shard (this one too) into the outbox.
func (s *Ledger) Send(to int, ev *crawl.Event) error {
	return s.enqueue(OutMessage{Shard: to}, crawl.AppendEvent(nil, ev))
}

// SendPages puts pages for this shard's indexer into the outbox.
func (s *Ledger) SendPages(pages []crawl.Page) error {
	return s.enqueue(OutMessage{Shard: s.ID, Pages: true}, crawl.AppendPages(nil, pages))
}

// Forward sends links of a page to another shard. Links of many pages become one message of the
// outbox when this transaction is committed, or several messages if one would be too long.
func (s *Ledger) Forward(to int, l *crawl.Links) error {
	if s.forward == nil {
		s.forward = map[int][]byte{}
	}
	s.Changes++
	before := s.forward[to]
	b := crawl.AppendLinks(before, l)
	if len(before) > 0 && len(b) > crawl.MaxEventBytes {
		if err := s.enqueue(OutMessage{Shard: to}, before); err != nil {
			return err
		}
		b = crawl.AppendLinks(nil, l) // l came in one message, so it fits into one
	}
	s.forward[to] = b
	return nil
}

// enqueueForwarded puts forwarded links into the outbox, before a commit.
func (s *Ledger) enqueueForwarded() error {
	for _, to := range slices.Sorted(maps.Keys(s.forward)) {
		if err := s.enqueue(OutMessage{Shard: to}, s.forward[to]); err != nil {
			return err
		}
	}
	clear(s.forward)
	return nil
}

func (s *Ledger) enqueue(m OutMessage, data []byte) error {
	s.Meta.Outbox++
	m.N, m.Size = s.Meta.Outbox, len(data)
	s.Outbox = append(s.Outbox, m)
	s.pendingBytes += m.Size
	to := uint16(m.Shard)
	if m.Pages {
		to |= outPages
	}
	return s.Put(bucketOutbox, outKey(m.N), append(binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(data)), to), data...))
}

func outKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// Pending is the number of messages that this shard still has to send. It is zero only when no
// links are left to be forwarded either.
func (s *Ledger) Pending() int { return len(s.Outbox) + len(s.forward) }

// HasCapacity reports whether the outbox permits further visits. Visits find links for other
// shards, and the outbox must not grow without limit while those shards accept none. The shard
// applies its own log in any case: if two shards could each wait for space in the other's outbox,
// neither might ever continue.
func (s *Ledger) HasCapacity() bool { return s.pendingBytes < maxPendingBytes }

// maxPendingBytes is how many bytes may wait in the outbox while visits are granted.
const maxPendingBytes = 32 << 20

// LoadOutbox reads the messages that were not sent yet.
func (s *Ledger) LoadOutbox() error {
	s.CommittedTo = s.Meta.Outbox
	return s.Tx.Bucket(bucketOutbox).ForEach(func(k, v []byte) error {
		if len(v) < 2 {
			return ErrRecord
		}
		to := binary.BigEndian.Uint16(v)
		s.Outbox = append(s.Outbox, OutMessage{
			N: binary.BigEndian.Uint64(k), Shard: int(to &^ outPages), Pages: to&outPages != 0, Size: len(v) - 2,
		})
		s.pendingBytes += len(v) - 2
		return nil
	})
}

// HasPending reports whether a read-only file has unsent messages.
func (s *Ledger) HasPending() bool {
	b := s.Tx.Bucket(bucketOutbox)
	if b == nil {
		return false
	}
	k, _ := b.Cursor().First()
	return k != nil
}

// CommittedOutbox returns the messages whose transaction has been committed, in order.
func (s *Ledger) CommittedOutbox() []OutMessage {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	n := 0
	for n < len(s.Outbox) && s.Outbox[n].N <= s.CommittedTo {
		n++
	}
	return slices.Clone(s.Outbox[:n])
}

// Outgoing returns the contents of a message of the outbox.
func (s *Ledger) Outgoing(m OutMessage) (data []byte, err error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	err = s.Guarded(func() error {
		if err := s.Phase.MayWrite(); err != nil {
			return err
		}
		v := s.Tx.Bucket(bucketOutbox).Get(outKey(m.N))
		if len(v) < 2 {
			return s.Fail(ErrRecord)
		}
		data = slices.Clone(v[2:])
		return nil
	})
	return data, err
}

// MarkSent removes a message from the outbox; the next commit deletes it from disk.
func (s *Ledger) MarkSent(n uint64) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Outbox = slices.DeleteFunc(s.Outbox, func(m OutMessage) bool {
		if m.N == n {
			s.pendingBytes -= m.Size
		}
		return m.N == n
	})
	s.sent = append(s.sent, n)
}

// SendOutbox sends the messages that commits release, events or pages, until ctx ends: in order for
// each shard, and to several shards at the same time. No message waits for another shard whose log
// is full, and no event waits for pages, because the crawl continues without its indexers. send
// publishes a message and returns when it was acknowledged.
func (s *Ledger) SendOutbox(ctx context.Context, pages bool, send func(ctx context.Context, shard int, data []byte) error) error {
	released := s.EventsOut
	if pages {
		released = s.PagesOut
	}
	g, lanes := errgroup.WithContext(ctx)
	busy, idle := map[int]bool{}, make(chan int)
	for {
		todo := map[int][]OutMessage{}
		for _, m := range s.CommittedOutbox() {
			if m.Pages == pages && !busy[m.Shard] {
				todo[m.Shard] = append(todo[m.Shard], m)
			}
		}
		for to, some := range todo {
			busy[to] = true
			g.Go(func() error {
				for _, m := range some {
					data, err := s.Outgoing(m)
					if err == nil {
						err = send(lanes, m.Shard, data)
					}
					if err != nil {
						return err
					}
					s.MarkSent(m.N)
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

// PendingAux is the number of origins that have waited for the answer of another host, for less
// than patience.
func (s *Ledger) PendingAux(now time.Time, patience time.Duration) int {
	n := 0
	for _, h := range s.Hosts {
		for i := range h.Origins {
			if o := &h.Origins[i]; o.PendingOn != "" && o.Ready > 0 && now.Sub(o.PendingAt) < patience {
				n++
			}
		}
	}
	return n
}
