package hosts

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

var testMetrics = store.NewMetrics(nil)

// testLedger opens the file of a shard, which it makes if there is none. What stands above a ledger
// does nothing.
func testLedger(t *testing.T, path string) *Ledger {
	t.Helper()
	var l *Ledger
	l = New(Options{Path: path, Log: slog.New(slog.DiscardHandler), Hooks: Hooks{
		Schedule: func(time.Time) { l.TakeUnscheduled() },
		Uses:     func(*Host) bool { return false },
		Loaded:   func(*Host, time.Time) {},
	}})
	l.Attach(nil, &budget.Budget{}, testMetrics)
	l.Own(1, func() bool { return true })
	if err := l.OpenFile(false); err != nil {
		t.Fatal(err)
	}
	if err := l.Begin(true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { crash(t, l) })
	return l
}

// crash ends a ledger without a commit. It may be called again.
func crash(t *testing.T, l *Ledger) {
	t.Helper()
	if l.DB == nil {
		return
	}
	if l.Tx != nil {
		if err := l.Tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
	l.EndTx()
	if err := l.CloseFile(); err != nil {
		t.Error(err)
	}
}

// commit ends a transaction and begins the next one.
func commit(t *testing.T, l *Ledger) {
	t.Helper()
	if err := l.Commit(true); err != nil {
		t.Fatal(err)
	}
}

// reopened is a ledger of the same file after a crash.
func reopened(t *testing.T, l *Ledger) *Ledger {
	t.Helper()
	crash(t, l)
	return testLedger(t, l.Path)
}

// testHost returns the host of that name, which has one origin (http, port 80).
func testHost(t *testing.T, l *Ledger, name canon.Host) (*Host, *Origin) {
	t.Helper()
	h, err := l.HostOf(name)
	if err != nil {
		t.Fatal(err)
	}
	i, ok := l.OriginOf(h, canon.Origin{Scheme: "http", Host: name, Port: 80})
	if !ok {
		t.Fatal("a host has no capacity for an origin")
	}
	return h, &h.Origins[i]
}

// visited returns such a host that was visited, as its record in the file has it.
func visited(t *testing.T, l *Ledger) (*Host, *Origin) {
	t.Helper()
	h, o := testHost(t, l, "a.example")
	h.BeginReport(crawl.VisitID{Epoch: 1, N: 1})
	h.AddReport(&crawl.Outcome{Requests: 1})
	h.EndReport()
	commit(t, l)
	return h, o
}

func testPath(t *testing.T) string { return filepath.Join(t.TempDir(), "shard.db") }
