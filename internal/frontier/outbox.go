package frontier

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// outMessage is an event for some shard's log that this shard's state owes, or pages for its indexer. It is stored with the
// state that causes it, sent after that transaction is committed, and deleted with a later one: after a crash it may be
// sent twice, which changes nothing.
type outMessage struct {
	n     uint64
	shard int
	pages bool // for the shard's indexer, not its log
	data  []byte
}

// outPages marks messages for an indexer in the number of the shard they are stored with.
const outPages = 1 << 15

// send puts an event for a shard (this one too) into the outbox.
func (s *shard) send(to int, ev *crawl.Event) error {
	return s.owe(outMessage{shard: to, data: crawl.AppendEvent(nil, ev)})
}

// sendPages puts pages for this shard's indexer into the outbox.
func (s *shard) sendPages(pages []crawl.Page) error {
	return s.owe(outMessage{shard: s.id, pages: true, data: crawl.AppendPages(nil, pages)})
}

func (s *shard) owe(m outMessage) error {
	s.m.Outbox++
	m.n = s.m.Outbox
	s.outbox = append(s.outbox, m)
	s.changes++
	to := uint16(m.shard)
	if m.pages {
		to |= outPages
	}
	v := binary.BigEndian.AppendUint16(nil, to)
	return s.tx.Bucket(bucketOutbox).Put(binary.BigEndian.AppendUint64(nil, m.n), append(v, m.data...))
}

// loadOutbox reads what is owed.
func (s *shard) loadOutbox() error {
	return s.tx.Bucket(bucketOutbox).ForEach(func(k, v []byte) error {
		if len(v) < 2 {
			return errRecord
		}
		to := binary.BigEndian.Uint16(v)
		s.outbox = append(s.outbox, outMessage{
			n: binary.BigEndian.Uint64(k), shard: int(to &^ outPages), pages: to&outPages != 0, data: slices.Clone(v[2:]),
		})
		return nil
	})
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

// sendOutbox sends what commits release, events or pages, in order, until ctx ends. The two do not wait for one another: an
// indexer that is away has no part in the crawl. send publishes and returns once acknowledged.
func (s *shard) sendOutbox(ctx context.Context, pages bool, send func(ctx context.Context, shard int, data []byte) error) error {
	released := s.outbnd
	if pages {
		released = s.pagesOut
	}
	for {
		for _, m := range s.committedOutbox() {
			if m.pages != pages {
				continue
			}
			if err := send(ctx, m.shard, m.data); err != nil {
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
		case <-released:
		}
	}
}

// addErrand notes a request that another part needs under a host's visit. Asked twice, it is done once.
func (s *shard) addErrand(e crawl.Errand, now time.Time) error {
	if crawl.ShardOf(e.URL.Host(), s.j.spec.Shards) != s.id {
		s.log.Error("an errand of another shard in this log", "url", e.URL)
		return nil
	}
	if done, err := s.answerNow(&e, now); done || err != nil {
		return err
	}
	h, err := s.hostOf(e.URL.Host())
	if err != nil || slices.Contains(h.errands, e) {
		return err
	}
	if e.Kind == crawl.ErrandSitemap {
		return s.addSitemap(h, e, now)
	}
	if e.Kind == crawl.ErrandNested {
		if wanted, err := s.wantNested(h, &e, now); !wanted || err != nil {
			return err
		}
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

func (s *shard) dropErrand(h *host, e crawl.Errand, now time.Time) error {
	e.ETag, e.LastModified, e.Form = "", "", "" // put in when it was granted
	h.errands = slices.DeleteFunc(h.errands, func(x crawl.Errand) bool { return x == e })
	s.touch(h)
	if e.Kind == crawl.ErrandSitemap {
		return s.dropSitemap(h, &e, now)
	}
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
