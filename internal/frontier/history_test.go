package frontier

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// keepsSamples lets the shard do its upkeep for a while.
func (b *bench) keepsSamples(d time.Duration) {
	b.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
		b.s.Ledger.Mu.Lock()
		err := b.s.upkeep(time.Now())
		b.s.Ledger.Mu.Unlock()
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) part(span, step time.Duration) crawl.HistoryPart {
	b.t.Helper()
	p, err := b.s.History.Part(crawl.HistoryRequest{Span: span, Step: step}, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// samples returns the number of samples in the file.
func (b *bench) samples() int {
	n := 0
	c := b.s.Ledger.Tx.Bucket(store.BucketHistory).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		n++
	}
	return n
}

func TestHistoryOfAShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		began := time.Now()
		for i := range 12 { // two minutes with an event every ten seconds
			b.links(0, "", fmt.Sprintf("http://a.example/%d", i))
			b.keepsSamples(10 * time.Second)
		}
		p := b.part(time.Hour, 10*time.Second)
		if !p.Since.Equal(began) || len(p.Samples) < 12 {
			t.Fatalf("since %v, %d samples: %+v", p.Since, len(p.Samples), p.Samples)
		}
		for i := range 12 {
			if s := p.Samples[i]; s.Queued != int64(i+1) || !s.At.Equal(began.Add(time.Duration(i)*10*time.Second)) {
				t.Errorf("sample %d: %+v", i, s)
			}
		}
		if p := b.part(35*time.Second, 10*time.Second); p.Samples[0].At.After(time.Now().Add(-35 * time.Second)) {
			t.Errorf("how things stood when the span began is not known: %+v", p.Samples)
		}
		if p := b.part(time.Hour, time.Minute); len(p.Samples) > 4 {
			t.Errorf("%d samples of two minutes in steps of one", len(p.Samples))
		}
		was := b.samples()
		b.keepsSamples(10 * time.Minute) // nothing happens
		if n := b.samples() - was; n < 9 || n > 12 {
			t.Errorf("%d samples of ten minutes in which nothing happened", n)
		}
		for _, bad := range []crawl.HistoryRequest{{Step: time.Second}, {Step: time.Minute, Span: -1}, {}} {
			if _, err := b.s.History.Part(bad, time.Now()); err == nil {
				t.Errorf("%+v is answered", bad)
			}
		}
	})
}

// A sample is in the same transaction as the changes that it shows. A crash loses both or none.
func TestHistoryAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/1")
		b.keepsSamples(15 * time.Second)
		was := len(b.part(time.Hour, 10*time.Second).Samples)
		b.crash()
		b.open()
		b.keepsSamples(time.Second)
		if n := len(b.part(time.Hour, 10*time.Second).Samples); n < was {
			t.Errorf("%d samples after a crash, %d before", n, was)
		}
		time.Sleep(time.Hour) // no events
		b.crash()
		b.open()
		b.links(0, "", "http://a.example/2")
		b.keepsSamples(15 * time.Second)
		p := b.part(2*time.Hour, 10*time.Second)
		if last := p.Samples[len(p.Samples)-1]; last.Queued != 2 || len(p.Samples) > was+4 {
			t.Errorf("after an hour without work: %+v", p.Samples)
		}
	})
}

// Shards are added up at the same times. One that cannot be read does not affect the others, and is
// named.
func TestHistoryIsASum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.Shards = 2
		var benches []*bench
		var shards []*Shard
		for id := range 2 {
			b := &bench{t: t, dir: t.TempDir(), spec: spec, id: id}
			b.open()
			b.start = store.StartDelay
			t.Cleanup(b.crash)
			benches, shards = append(benches, b), append(shards, b.s)
		}
		for range 6 {
			for _, b := range benches {
				b.s.Ledger.Meta.Counts.Stored++
				b.keepsSamples(10 * time.Second) // alternately: never at the same time
			}
		}
		a := answers{shards: func() []*Shard { return shards }, mend: func([]crawl.Status) {}}
		c := asker.Stopped(spec, nil, a.handlers())
		h, err := c.History(t.Context(), 0)
		if err != nil || h.StepS != 10 || len(h.Samples) < 12 {
			t.Fatalf("%+v, %v", h, err)
		}
		var before int64
		for i, s := range h.Samples {
			if s.Stored < before || s.Stored > before+2 || s.Silent || i > 0 && i < len(h.Samples)-1 && s.At.Sub(h.Samples[i-1].At) != 10*time.Second {
				t.Errorf("sample %d: %+v after %d", i, s, before)
			}
			before = s.Stored
		}
		if before != 12 {
			t.Errorf("%d stored at the end, want 12", before)
		}
		time.Sleep(2 * time.Hour)
		if h, err = c.History(t.Context(), time.Hour); err != nil || !h.Samples[2].Silent || h.Samples[2].Stored != 12 {
			t.Errorf("two hours later: %+v, %v", h.Samples, err)
		}
		missing := func(err error) bool {
			var partly *ask.PartlyError
			return errors.As(err, &partly) && len(partly.Shards) == 1 && partly.Shards[0] == 0
		}
		if err := shards[0].Ledger.Tx.Bucket(store.BucketHistory).Put([]byte("short"), nil); err != nil {
			t.Fatal(err)
		}
		h, err = c.History(t.Context(), 0)
		if !missing(err) || h.Samples[len(h.Samples)-1].Stored != 6 {
			t.Errorf("with one shard that cannot be read: %v, %+v", err, h)
		}
		benches[0].crash()
		shards[0].Ledger.EndTx()
		if st, err := c.Status(t.Context()); !missing(err) || st.Stored != 6 || len(st.Shards) != 1 {
			t.Errorf("status with one shard gone: %v, %+v", err, st)
		}
	})
}

// The samples show when a URL was accepted, within the time between two samples; for URLs from
// before samples had numbers of acceptance, nothing wrong is stated.
func TestWhenAURLWasAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		at := map[string]time.Time{}
		time.Sleep(7 * time.Second) // between two samples
		for i := range 5 {
			u := fmt.Sprintf("http://a.example/%d", i)
			at[u] = time.Now()
			b.links(0, "", u)
			b.keepsSamples(20 * time.Second)
		}
		b.commit()
		b.crash()
		b.open()
		explain := func(u string) crawl.Explanation {
			t.Helper()
			x, err := b.s.Account.Explain(u, canon.URL(u), time.Now())
			if err != nil || !x.Seen {
				t.Fatalf("%+v, %v", x, err)
			}
			return x
		}
		for i := range 5 {
			u := fmt.Sprintf("http://a.example/%d", i)
			x := explain(u)
			if x.FoundBy == nil || x.FoundBy.Before(at[u]) || x.FoundBy.Sub(at[u]) > 20*time.Second {
				t.Errorf("%s: found by %v, was at %v", u, x.FoundBy, at[u])
			}
			if i > 0 && (x.FoundAfter == nil || x.FoundAfter.After(at[u]) || x.FoundBy.Sub(*x.FoundAfter) > time.Minute) {
				t.Errorf("%s: found after %v, was at %v", u, x.FoundAfter, at[u])
			}
		}
		b.links(0, "", "http://a.example/late")
		if x := explain("http://a.example/late"); x.FoundBy != nil || x.FoundAfter == nil {
			t.Errorf("since the last sample: %+v", x)
		}
		// A file from before: its samples have no numbers of acceptance.
		bucket := b.s.Ledger.Tx.Bucket(store.BucketHistory)
		olds := map[string][]byte{}
		_ = bucket.ForEach(func(k, v []byte) error { olds[string(k)] = []byte{2, 0, 0, 0, 0, 0, 0}; return nil })
		for k, v := range olds {
			if err := bucket.Put([]byte(k), v); err != nil {
				t.Fatal(err)
			}
		}
		if x := explain("http://a.example/1"); x.FoundBy != nil || x.FoundAfter != nil {
			t.Errorf("from samples without orders: %+v", x)
		}
	})
}
