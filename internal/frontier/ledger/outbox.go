package ledger

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// OutMessage is an event for some shard's log that this shard's state owes, or pages for its
// indexer. It is stored with the state that causes it, sent after that transaction is committed,
// and deleted with a later one: after a crash it may be sent twice, which changes nothing.
type OutMessage struct {
	N     uint64
	Shard int
	Pages bool // for the shard's indexer, not its log
	Data  []byte
}

// outPages marks messages for an indexer in the number of the shard they are stored with.
const outPages = 1 << 15

// Send puts an event for a shard (this one too) into the outbox.
func (s *Ledger) Send(to int, ev *crawl.Event) error {
	return s.owe(OutMessage{Shard: to, Data: crawl.AppendEvent(nil, ev)})
}

// SendPages puts pages for this shard's indexer into the outbox.
func (s *Ledger) SendPages(pages []crawl.Page) error {
	return s.owe(OutMessage{Shard: s.ID, Pages: true, Data: crawl.AppendPages(nil, pages)})
}

func (s *Ledger) owe(m OutMessage) error {
	s.Meta.Outbox++
	m.N = s.Meta.Outbox
	s.Outbox = append(s.Outbox, m)
	to := uint16(m.Shard)
	if m.Pages {
		to |= outPages
	}
	v := binary.BigEndian.AppendUint16(nil, to)
	return s.Put(bucketOutbox, binary.BigEndian.AppendUint64(nil, m.N), append(v, m.Data...))
}

// LoadOutbox reads what is owed.
func (s *Ledger) LoadOutbox() error {
	return s.Tx.Bucket(bucketOutbox).ForEach(func(k, v []byte) error {
		if len(v) < 2 {
			return ErrRecord
		}
		to := binary.BigEndian.Uint16(v)
		s.Outbox = append(s.Outbox, OutMessage{
			N: binary.BigEndian.Uint64(k), Shard: int(to &^ outPages), Pages: to&outPages != 0, Data: slices.Clone(v[2:]),
		})
		return nil
	})
}

// CommittedOutbox returns the messages whose transaction has been committed.
func (s *Ledger) CommittedOutbox() []OutMessage {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	n := 0
	for n < len(s.Outbox) && s.Outbox[n].N <= s.CommittedTo {
		n++
	}
	return slices.Clone(s.Outbox[:n])
}

// MarkSent removes a message from the outbox, on disk with the next commit.
func (s *Ledger) MarkSent(n uint64) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Outbox = slices.DeleteFunc(s.Outbox, func(m OutMessage) bool { return m.N == n })
	s.sent = append(s.sent, n)
}

// SendOutbox sends what commits release, events or pages, in order, until ctx ends. The two do not
// wait for one another: an indexer that is away has no part in the crawl. send publishes and
// returns once acknowledged.
func (s *Ledger) SendOutbox(ctx context.Context, pages bool, send func(ctx context.Context, shard int, data []byte) error) error {
	released := s.EventsOut
	if pages {
		released = s.PagesOut
	}
	for {
		for _, m := range s.CommittedOutbox() {
			if m.Pages != pages {
				continue
			}
			if err := send(ctx, m.Shard, m.Data); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			s.MarkSent(m.N)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-released:
		}
	}
}

// PendingErrands is how many origins wait for another host's answer and have done so for
// less than patience.
func (s *Ledger) PendingErrands(now time.Time, patience time.Duration) int {
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
