package store

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

var testMetrics = NewMetrics(nil)

func testPath(t *testing.T) string { return filepath.Join(t.TempDir(), "shard.db") }

// testFile opens the file of shard 3, which it makes if there is none.
func testFile(t *testing.T, path string, h Hooks) *File {
	t.Helper()
	if h.BeforeCommit == nil {
		h.BeforeCommit = func() error { return nil }
	}
	if h.AfterUse == nil {
		h.AfterUse = func() {}
	}
	f := New(Options{ID: 3, Path: path, Log: slog.New(slog.DiscardHandler), Hooks: h})
	f.Share(nil, testMetrics)
	f.Own(1, func() bool { return true })
	if err := f.OpenFile(false); err != nil {
		t.Fatal(err)
	}
	if err := f.Begin(true); err != nil {
		t.Fatal(err)
	}
	if err := f.LoadOutbox(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { crash(t, f) })
	return f
}

// crash ends a file without a commit. It may be called again.
func crash(t *testing.T, f *File) {
	t.Helper()
	if f.DB == nil {
		return
	}
	if f.Tx != nil {
		if err := f.Tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
	f.EndTx()
	if err := f.CloseFile(); err != nil {
		t.Error(err)
	}
}

// reopened is the same file after a crash.
func reopened(t *testing.T, f *File) *File {
	t.Helper()
	crash(t, f)
	return testFile(t, f.Path, Hooks{})
}

// commit ends a transaction and begins the next one.
func commit(t *testing.T, f *File) {
	t.Helper()
	if err := f.Commit(true); err != nil {
		t.Fatal(err)
	}
}

// logFunc is a crawl log that calls a function with what is written.
type logFunc func(lines []byte)

func (l logFunc) Write(lines []byte) (int, error) {
	l(lines)
	return len(lines), nil
}

// TestCommitOrder: records are written first, then the outbox and the state. The crawl log gets its
// lines before anything is committed, and messages are released afterwards.
func TestCommitOrder(t *testing.T) {
	t.Parallel()
	var f *File
	var order []string
	f = testFile(t, testPath(t), Hooks{BeforeCommit: func() error {
		order = append(order, "records")
		if err := f.Send(5, &crawl.Event{StoreLost: "from the records"}); err != nil {
			return err
		}
		return f.Put(BucketHosts, []byte("host"), []byte("record"))
	}})
	f.Share(logFunc(func(lines []byte) {
		order = append(order, "log")
		if f.Tx.Bucket(BucketMeta).Get(keyMeta) == nil || f.Tx.Bucket(bucketOutbox).Get(outKey(2)) == nil {
			t.Error("the crawl log was written before the state and the outbox")
		}
		tx, err := f.DB.Begin(false)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if tx.Bucket(BucketHosts).Get([]byte("host")) != nil {
			t.Error("the transaction was committed before the crawl log was written")
		}
		if n := len(f.CommittedOutbox()); n != 0 {
			t.Errorf("%d messages are released before the commit", n)
		}
	}), testMetrics)
	f.LogAudit(crawl.Audit{Action: "pause"})
	if err := f.Forward(6, &crawl.Links{}); err != nil {
		t.Fatal(err)
	}
	commit(t, f)
	if want := []string{"records", "log"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	// Links are put together into messages when everything else is in the outbox.
	sent := f.CommittedOutbox()
	if len(sent) != 2 || sent[0].Shard != 5 || sent[1].Shard != 6 {
		t.Errorf("released: %+v", sent)
	}
	if len(f.eventsOut) != 1 || len(f.pagesOut) != 1 {
		t.Error("those who send were not notified")
	}
}

// TestCrashLosesTheTransaction: what was committed is in the file, and nothing else, neither
// records nor the state nor messages.
func TestCrashLosesTheTransaction(t *testing.T) {
	t.Parallel()
	f := testFile(t, testPath(t), Hooks{})
	change := func(record string) {
		if err := errors.Join(f.Put(BucketHosts, []byte("host"), []byte(record)), f.PutRecord(URLKey(nil, 1, 1), []byte(record)),
			f.PutKnown(1, 99, 1), f.PutReady(QueueKey(nil, 1, 0, 0, 0, f.Meta.NextOrder())), f.Send(4, &crawl.Event{StoreLost: record})); err != nil {
			t.Fatal(err)
		}
	}
	change("first")
	f.Applied(7, time.Unix(70, 0), 100)
	commit(t, f)
	change("second")
	f.Applied(8, time.Unix(80, 0), 100)

	f = reopened(t, f)
	if got := f.Tx.Bucket(BucketHosts).Get([]byte("host")); string(got) != "first" {
		t.Errorf("record %q", got)
	}
	if got := f.Records().Get(URLKey(nil, 1, 1)); string(got) != "first" {
		t.Errorf("record in blocks %q", got)
	}
	if f.Meta.Seq != 7 || f.Meta.Order != 1 || f.Meta.Applied != 100+EntryOverhead || f.Meta.SeqTime != time.Unix(70, 0).UnixNano() {
		t.Errorf("state %+v", f.Meta)
	}
	if out := f.CommittedOutbox(); len(out) != 1 || out[0].N != 1 {
		t.Errorf("outbox %+v", out)
	}
}

// TestNothingToCommit: a commit without a change keeps the transaction open, unless the time of the
// state is to be written.
func TestNothingToCommit(t *testing.T) {
	t.Parallel()
	f := testFile(t, testPath(t), Hooks{})
	commit(t, f)
	was := f.Tx
	commit(t, f)
	if f.Unsaved() || f.Tx != was {
		t.Error("something was committed")
	}
	f.CommitTime()
	commit(t, f)
	if f.Tx == was {
		t.Error("the time was not written")
	}
	was = f.Tx
	f.Meta.AddClosed(1) // found by comparison
	commit(t, f)
	if f.Tx == was {
		t.Error("a change of the state was not written")
	}
}

// TestFailedCommit: after an error nothing more is written, and the first error remains.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	broken := errors.New("a record cannot be encoded")
	var err error
	f := testFile(t, testPath(t), Hooks{BeforeCommit: func() error { return err }})
	err = broken
	if got := f.Commit(true); !errors.Is(got, broken) {
		t.Errorf("commit: %v", got)
	}
	err = nil
	if got := f.Commit(true); !errors.Is(got, broken) {
		t.Errorf("commit of a file that failed: %v", got)
	}
	if f.Phase.Active() || f.Phase.MayWrite() == nil {
		t.Error("a file that failed may be written")
	}
}

// TestCommitWithoutAnother ends the last transaction: the phase is closed, and nothing is used.
func TestCommitWithoutAnother(t *testing.T) {
	t.Parallel()
	used := 0
	f := testFile(t, testPath(t), Hooks{AfterUse: func() { used++ }})
	if err := f.Guarded(func() error { return nil }); err != nil || used != 1 {
		t.Errorf("%v, used %d times", err, used)
	}
	if err := f.Guarded(func() error { return f.Commit(false) }); err != nil {
		t.Fatal(err)
	}
	if f.Tx != nil || f.Phase.MayRead() || used != 1 {
		t.Errorf("open %v, may be read %v, used %d times", f.Tx != nil, f.Phase.MayRead(), used)
	}
	if err := f.Commit(false); !errors.Is(err, errClosed) {
		t.Errorf("commit of a closed file: %v", err)
	}
}

// TestMetaOfAnOwner: who opened the file is written with the next commit. Visits have the epoch of
// the owner, and the log's position can be set back.
func TestMetaOfAnOwner(t *testing.T) {
	t.Parallel()
	f := testFile(t, testPath(t), Hooks{})
	f.Own(9, func() bool { return true })
	f.Meta.Left(true)
	f.Opened("me")
	f.Meta.Booted("boot")
	a, b := f.NextVisit(), f.NextVisit()
	if a.Epoch != 9 || a.Compare(b) >= 0 {
		t.Errorf("visits %v and %v", a, b)
	}
	f.Applied(12, time.Unix(5, 0), 1)
	if at := f.Rewind(3, time.Unix(2, 0)); at != time.Unix(5, 0).UnixNano() {
		t.Errorf("the last event was of %d", at)
	}
	if !f.CheckpointWanted() || !f.CheckpointBegun() || f.CheckpointBegun() {
		t.Error("a rewind makes one checkpoint due")
	}
	commit(t, f)
	f = reopened(t, f)
	m := f.Meta
	if m.Epoch != 9 || m.Owner != "me" || m.Clean || m.BootID != "boot" || m.Seq != 3 || m.SeqTime != time.Unix(2, 0).UnixNano() || m.Gen != 1 {
		t.Errorf("%+v", m)
	}
}

// TestCounts: URLs are counted by class and by reason, and a reason without any is not listed.
func TestCounts(t *testing.T) {
	t.Parallel()
	c := Counts{ByReason: map[string]int64{}}
	c.AddQueued(3, false)
	c.AddQueued(2, true)
	c.AddQueued(-1, true)
	c.AddURLs(crawl.Failed, crawl.ReasonTimeout, 2)
	c.AddURLs(crawl.Stored, "", 5)
	c.AddURLs(crawl.Refused, crawl.ReasonScope, 1)
	c.AddURLs(crawl.Refused, crawl.ReasonScope, -1)
	c.AddSent(4, 4000)
	if c.Queued != 4 || c.Later != 1 || c.Failed != 2 || c.Stored != 5 || c.Refused != 0 || c.Requests != 4 || c.Bytes != 4000 {
		t.Errorf("%+v", c)
	}
	if len(c.ByReason) != 1 || c.ByReason[string(crawl.ReasonTimeout)] != 2 {
		t.Errorf("%v", c.ByReason)
	}
}

// TestNextRecord finds the records of evicted hosts among the other data of hosts.
func TestNextRecord(t *testing.T) {
	t.Parallel()
	f := testFile(t, testPath(t), Hooks{})
	for _, id := range []HostID{1, 2, 3, 900, 1<<32 - 1} {
		if id != 2 {
			if err := f.Put(BucketBlocks, RecordKey(id), []byte{byte(id)}); err != nil {
				t.Fatal(err)
			}
		}
		for n := range uint64(200) { // fills several blocks
			if err := f.PutRecord(URLKey(nil, id, n), bytes.Repeat([]byte{byte(n)}, 50)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	c := f.Tx.Bucket(BucketBlocks).Cursor()
	var got []HostID
	for k, _ := NextRecord(c, RecordKey(1)); k != nil; k, _ = NextRecord(c, nil) {
		got = append(got, KeyHost(k))
	}
	if want := []HostID{1, 3, 900, 1<<32 - 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
