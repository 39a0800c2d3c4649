package shard

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// testFile opens the file of a new shard, in which nothing else keeps records.
func testFile(t *testing.T) *store.File {
	t.Helper()
	f := store.New(store.Options{Path: filepath.Join(t.TempDir(), "shard.db"), Log: slog.New(slog.DiscardHandler), Hooks: store.Hooks{
		BeforeCommit: func() error { return nil }, AfterUse: func() {},
	}})
	f.Share(nil, store.NewMetrics(nil))
	if err := f.OpenFile(false); err != nil {
		t.Fatal(err)
	}
	if err := f.Begin(true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Tx.Rollback(); err != nil {
			t.Error(err)
		}
		f.EndTx()
		if err := f.CloseFile(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// samples returns the number of samples in a file.
func samples(f *store.File) (n int) {
	c := f.Tx.Bucket(store.BucketHistory).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		n++
	}
	return n
}

// TestHistoryIsBounded: however long a crawl runs, and however its clock is set, its file keeps a
// few thousand samples.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	f := testFile(t)
	s := NewHistory(f)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	step := func(n int, d time.Duration) {
		for range n {
			f.Meta.Counts.AddSent(0, 1) // an event
			if err := s.upkeep(now); err != nil {
				t.Fatal(err)
			}
			now = now.Add(d)
		}
	}
	step(40*24*6, 10*time.Minute)
	step(24*360, 10*time.Second)
	// 30 minutes, 6 hours, 3 days, 30 days, and then by days.
	if n := samples(f); n > 181+361+433+721+12 || n < 180+300+400 {
		t.Errorf("%d samples of 41 days", n)
	}
	p, err := s.Part(crawl.HistoryRequest{Span: 60 * 24 * time.Hour, Step: 10 * time.Second}, now)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range p.Samples[1:] {
		age, gap := now.Sub(s.At), s.At.Sub(p.Samples[i].At)
		if s.Bytes < p.Samples[i].Bytes || age < 29*time.Minute && gap > 10*time.Second || gap > 25*time.Hour {
			t.Fatalf("%v after %v, %v old: %d bytes after %d", s.At, p.Samples[i].At, age, s.Bytes, p.Samples[i].Bytes)
		}
	}
	now = now.Add(-30 * 24 * time.Hour) // the clock was a month ahead and is corrected
	step(1, 10*time.Second)
	k, _ := f.Tx.Bucket(store.BucketHistory).Cursor().Last()
	p, err = s.Part(crawl.HistoryRequest{Span: time.Hour, Step: 10 * time.Second}, now)
	if last := p.Samples[len(p.Samples)-1]; err != nil || k == nil || last.At.After(now) {
		t.Errorf("after the clock was set back: %v, %v", last.At, err)
	}
}

// TestTakenIn: a URL was accepted between the sample before it and the end of the interval of the
// first one that counts it.
func TestTakenIn(t *testing.T) {
	t.Parallel()
	f := testFile(t)
	s := NewHistory(f)
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 3 {
		for range 5 {
			f.Meta.NextOrder()
		}
		if err := s.upkeep(began.Add(time.Duration(n) * every)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []struct {
		order     uint64
		after, by time.Time
	}{
		{5, time.Time{}, began.Add(every)},
		{6, began, began.Add(2 * every)},
		{15, began.Add(every), began.Add(3 * every)},
		{16, began.Add(2 * every), time.Time{}},
		{0, time.Time{}, time.Time{}},
	} {
		after, by, err := s.TakenIn(want.order)
		if err != nil || !after.Equal(want.after) || !by.Equal(want.by) {
			t.Errorf("URL %d: between %v and %v (%v), want %v and %v", want.order, after, by, err, want.after, want.by)
		}
	}
	if _, err := s.Part(crawl.HistoryRequest{Step: time.Second}, began); err == nil {
		t.Error("there are samples for each second")
	}
}
