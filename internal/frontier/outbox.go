package frontier

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// outMessage is an event for some shard's log that this shard's state owes. It is stored with the state that causes it,
// sent after that transaction is committed, and deleted with a later one: after a crash it may be sent twice, which
// changes nothing.
type outMessage struct {
	n     uint64
	shard int
	data  []byte
}

// send puts an event for a shard (this one too) into the outbox.
func (s *shard) send(to int, ev *crawl.Event) error {
	s.m.Outbox++
	m := outMessage{n: s.m.Outbox, shard: to, data: crawl.AppendEvent(nil, ev)}
	s.outbox = append(s.outbox, m)
	s.changes++
	v := binary.BigEndian.AppendUint16(nil, uint16(to))
	return s.tx.Bucket(bucketOutbox).Put(binary.BigEndian.AppendUint64(nil, m.n), append(v, m.data...))
}

// committedOutbox returns the messages whose transaction has been committed.
func (s *shard) committedOutbox() []outMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.outbox) && s.outbox[n].n <= s.committedTo {
		n++
	}
	return slices.Clone(s.outbox[:n])
}

// markSent removes a message from the outbox, on disk with the next commit.
func (s *shard) markSent(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outbox = slices.DeleteFunc(s.outbox, func(m outMessage) bool { return m.n == n })
	s.sent = append(s.sent, n)
	s.changes++
}

// sendOutbox sends what commits release, in order, until ctx ends. appendTo publishes to a shard's log and returns once
// acknowledged.
func (s *shard) sendOutbox(ctx context.Context, appendTo func(ctx context.Context, shard int, data []byte) error) error {
	for {
		for _, m := range s.committedOutbox() {
			if err := appendTo(ctx, m.shard, m.data); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			s.markSent(m.n)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.outbnd:
		}
	}
}

// addErrand notes a request that another part needs under a host's visit. Asked twice, it is done once.
func (s *shard) addErrand(e crawl.Errand, now time.Time) error {
	if crawl.ShardOf(e.URL.Host(), s.j.spec.Shards) != s.id {
		s.log.Error("an errand of another shard in this log", "url", e.URL)
		return nil
	}
	h, err := s.hostOf(e.URL.Host())
	if err != nil || slices.Contains(h.errands, e) {
		return err
	}
	if len(h.errands) >= maxErrands {
		s.log.Error("too many errands for one host: dropped", "url", e.URL)
		return nil
	}
	h.errands = append(h.errands, e)
	s.touch(h)
	s.reschedule(h, now)
	return s.tx.Bucket(bucketErrands).Put(crawl.AppendErrand(h.ID.append(nil), e), []byte{})
}

// maxErrands bounds what other origins may ask of one host: a robots.txt redirect costs its owner nothing.
const maxErrands = 1000

func (s *shard) dropErrand(h *host, e crawl.Errand) error {
	h.errands = slices.DeleteFunc(h.errands, func(x crawl.Errand) bool { return x == e })
	s.touch(h)
	return s.tx.Bucket(bucketErrands).Delete(crawl.AppendErrand(h.ID.append(nil), e))
}

// pendingErrands is how many origins wait for another host's answer and have done so for less than patience.
func (s *shard) pendingErrands(now time.Time, patience time.Duration) int {
	n := 0
	for _, h := range s.hosts {
		for i := range h.Origins {
			if o := &h.Origins[i]; o.PendingOn != "" && o.Ready > 0 && now.Sub(o.PendingAt) < patience {
				n++
			}
		}
	}
	return n
}
