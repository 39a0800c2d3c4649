package shard

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

const (
	every = 10 * time.Second // interval of samples
	quiet = time.Minute      // interval of samples while nothing changes
)

// ages are the ages up to which one sample for each step is kept; the steps are crawl.HistorySteps.
// So there are at most 180 + 360 + 432 + 720 + 3650 samples.
var ages = []time.Duration{30 * time.Minute, 6 * time.Hour, 3 * 24 * time.Hour, 30 * 24 * time.Hour, 3650 * 24 * time.Hour}

// History has the samples of one shard. Callers of its methods must hold the file's lock.
type History struct {
	file *store.File

	last    crawl.HistorySample // the youngest in the file
	thinned time.Time
}

// NewHistory returns the History of the shard with that file.
func NewHistory(file *store.File) *History { return &History{file: file} }

// Feature takes the samples. Their times are those of the clock that took them, and nothing is
// decided by them, so they are not shifted to another clock.
func (s *History) Feature() hosts.Feature {
	return hosts.Feature{Load: s.load, Upkeep: s.upkeep}
}

func (s *History) load(time.Time) error {
	k, v := s.file.Tx.Bucket(store.BucketHistory).Cursor().Last()
	if k == nil {
		return nil
	}
	var err error
	s.last, err = decodeHistory(k, v)
	return err
}

// Now is a sample of the current counts.
func (s *History) Now(at time.Time) crawl.HistorySample {
	c := &s.file.Meta.Counts
	return crawl.HistorySample{
		At: at.UTC(), Queued: c.Queued, Stored: c.Stored, Redirected: c.Redirected, Refused: c.Refused, Failed: c.Failed, Bytes: c.Bytes,
		Requests: c.Requests, Order: s.file.Meta.Order,
	}
}

// upkeep takes a sample when one is due, in the transaction that contains the counts.
func (s *History) upkeep(now time.Time) error {
	slot := now.Truncate(every)
	if slot.Equal(s.last.At) {
		return nil
	}
	if slot.Before(s.last.At) { // the clock was set back, or was wrong
		if err := s.dropAfter(slot); err != nil {
			return err
		}
		s.last, s.thinned = crawl.HistorySample{}, time.Time{}
	}
	sample := s.Now(slot)
	if was := s.last; slot.Sub(was.At) < quiet {
		if was.At = sample.At; was == sample {
			return nil
		}
	}
	if err := s.file.Put(store.BucketHistory, historyKey(slot), encodeHistory(sample)); err != nil {
		return err
	}
	s.last = sample
	if slot.Sub(s.thinned) < time.Minute {
		return nil
	}
	s.thinned = slot
	return s.thin(slot)
}

// thin removes all but the last sample of each step. Steps are longer for older samples.
func (s *History) thin(now time.Time) error {
	var drop [][]byte
	var before []byte // the sample before the current one, and its slot
	var beforeIn time.Time
	var beforeStep time.Duration
	err := s.file.Tx.Bucket(store.BucketHistory).ForEach(func(k, _ []byte) error {
		at, err := timeOf(k)
		if err != nil {
			return err
		}
		step := stepAt(now.Sub(at))
		if step == 0 {
			drop = append(drop, slices.Clone(k))
			return nil
		}
		in := slotOf(at, step)
		if before != nil && in.Equal(beforeIn) && step == beforeStep {
			drop = append(drop, slices.Clone(before))
		}
		before, beforeIn, beforeStep = k, in, step
		return nil
	})
	for _, k := range drop {
		if err == nil {
			err = s.file.Drop(store.BucketHistory, k)
		}
	}
	return err
}

// stepAt is the step for samples of an age; 0: they are too old to be kept.
func stepAt(age time.Duration) time.Duration {
	for i, limit := range ages {
		if age <= limit {
			return crawl.HistorySteps[i]
		}
	}
	return 0
}

// slotOf is the end of the step that contains t.
func slotOf(t time.Time, step time.Duration) time.Time {
	if end := t.Truncate(step); !end.Equal(t) {
		return end.Add(step)
	}
	return t
}

func (s *History) dropAfter(t time.Time) error {
	var drop [][]byte
	c := s.file.Tx.Bucket(store.BucketHistory).Cursor()
	for k, _ := c.Seek(historyKey(t.Add(time.Second))); k != nil; k, _ = c.Next() {
		drop = append(drop, slices.Clone(k))
	}
	for _, k := range drop {
		if err := s.file.Drop(store.BucketHistory, k); err != nil {
			return err
		}
	}
	return nil
}

// Part is the shard's part of the answer: its samples of the last span before end, the last sample
// before that, and the counts at end.
func (s *History) Part(q crawl.HistoryRequest, end time.Time) (p crawl.HistoryPart, err error) {
	if !slices.Contains(crawl.HistorySteps, q.Step) || q.Span < 0 {
		return p, fmt.Errorf("history: there are no samples in steps of %v: the steps are %v", q.Step, crawl.HistorySteps)
	}
	p.Shard, p.Epoch = s.file.ID, s.file.Epoch
	b := s.file.Tx.Bucket(store.BucketHistory)
	if b == nil { // a file from a version without this bucket
		p.Since, p.Samples = end.UTC(), []crawl.HistorySample{s.Now(end)}
		return p, nil
	}
	c := b.Cursor()
	k, v := c.First()
	p.Since = end.UTC()
	if k != nil {
		if p.Since, err = timeOf(k); err != nil {
			return p, err
		}
		from := historyKey(end.Add(-q.Span))
		if k, v = c.Seek(from); k == nil {
			k, v = c.Last()
		} else if earlier, was := c.Prev(); earlier != nil {
			k, v = earlier, was
		} else {
			k, v = c.First()
		}
	}
	for ; k != nil; k, v = c.Next() {
		sample, err := decodeHistory(k, v)
		if err != nil {
			return p, err
		}
		if sample.At.After(end) {
			break
		}
		if n := len(p.Samples); n > 0 && slotOf(p.Samples[n-1].At, q.Step).Equal(slotOf(sample.At, q.Step)) {
			p.Samples[n-1] = sample
			continue
		}
		p.Samples = append(p.Samples, sample)
	}
	p.Samples = append(p.Samples, s.Now(end))
	return p, nil
}

// TakenIn says when the URL with that order was accepted: after one sample, and by the next.
// Samples are at most a minute apart for six hours, and further apart the older they are. A time is
// zero if no sample determines it.
func (s *History) TakenIn(order uint64) (after, by time.Time, err error) {
	b := s.file.Tx.Bucket(store.BucketHistory)
	if b == nil || order == 0 {
		return after, by, nil
	}
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		sample, err := decodeHistory(k, v)
		if err != nil {
			return after, by, err
		}
		if sample.Order >= order {
			// The sample was taken within the interval that it represents.
			return after, sample.At.Add(every), nil
		}
		after = time.Time{} // a sample without an order does not show which URLs it includes
		if sample.Order > 0 || sample.Queued == 0 {
			after = sample.At
		}
	}
	return after, by, nil
}

func historyKey(t time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(max(t.Unix(), 0)))
}

func timeOf(k []byte) (time.Time, error) {
	if len(k) != 8 {
		return time.Time{}, fmt.Errorf("history %x: %w", k, store.ErrRecord)
	}
	return time.Unix(int64(binary.BigEndian.Uint64(k)), 0).UTC(), nil
}

// encodeHistory writes the counts as varints, in an order that never changes: new ones are
// appended.
func encodeHistory(s crawl.HistorySample) (b []byte) {
	for _, n := range []int64{s.Queued, s.Stored, s.Redirected, s.Refused, s.Failed, s.Bytes, s.Requests} {
		b = binary.AppendUvarint(b, uint64(max(n, 0)))
	}
	return binary.AppendUvarint(b, s.Order)
}

func decodeHistory(k, v []byte) (s crawl.HistorySample, err error) {
	if s.At, err = timeOf(k); err != nil {
		return s, err
	}
	in := store.Scanner{B: v}
	for _, n := range []*int64{&s.Queued, &s.Stored, &s.Redirected, &s.Refused, &s.Failed, &s.Bytes, &s.Requests} {
		*n = int64(in.Uint())
	}
	if len(in.B) > 0 { // older samples have no order
		s.Order = in.Uint()
	}
	if in.Bad {
		return s, fmt.Errorf("history %x: %w", k, store.ErrRecord)
	}
	return s, nil
}
