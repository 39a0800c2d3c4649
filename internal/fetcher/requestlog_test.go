package fetcher

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// exchangesOf returns what a trace that was left reports, one line each.
func exchangesOf(tr crawl.Trace) string {
	var all []string
	for x := range tr.Each {
		took := "cut"
		if !x.Cut {
			took = x.End.Sub(x.Start).String()
		}
		all = append(all, fmt.Sprintf("%s %s %d %s", canon.URL(x.URL).Path(), x.Kind, x.Status, took))
	}
	return strings.Join(all, ", ")
}

// Whenever a process was killed, the next one finds what it had not reported.
func TestJournal(t *testing.T) {
	virtual(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "j")
		j, left, err := openRequestLog(path, quiet())
		if err != nil || len(left) != 0 {
			t.Fatal(left, err)
		}
		began := time.Now()
		job := &crawl.Visit{ID: crawl.VisitID{Epoch: 7, N: 8}, Shard: 3, Host: "h.test"}
		b := j.begin(job, began, 1_800_000_000_000_000)
		n := 0
		start := func() *crawl.Exchange {
			n++
			x := &crawl.Exchange{URL: fmt.Sprintf("http://h.test/%d", n), Start: began.Add(time.Duration(n) * time.Second), Bound: time.Second, BoundSource: "configured"}
			b.Began(x)
			return x
		}
		end := func(x *crawl.Exchange) {
			x.End, x.Status = x.Start.Add(time.Millisecond), 200
			b.Ended(x)
		}
		killed := func(from int, want string) {
			t.Helper()
			after, left, err := openRequestLog(path, quiet())
			if err != nil {
				t.Fatal(err)
			}
			defer after.f.Close()
			if want == "" {
				if len(left) != 0 {
					t.Errorf("left: %+v", left)
				}
				return
			}
			if len(left) != 1 || left[0].shard != 3 || left[0].visit != job.ID || left[0].trace.From != from || !left[0].trace.Last || left[0].trace.Host != "h.test" {
				t.Fatalf("left: %+v", left)
			}
			if got := exchangesOf(left[0].trace); got != want {
				t.Errorf("left: %s, want %s", got, want)
			}
		}
		killed(0, "")
		x := start()
		killed(0, "/1 page 0 cut")
		end(x)
		killed(0, "/1 page 200 1ms")
		end(start())
		x = start()
		killed(0, "/1 page 200 1ms, /2 page 200 1ms, /3 page 0 cut")
		end(x)
		b.Undone()
		n--
		end(start())
		killed(0, "/1 page 200 1ms, /2 page 200 1ms, /3 page 200 1ms")
		b.Reported(false)
		x = start()
		killed(3, "/4 page 0 cut")
		end(x)
		killed(3, "/4 page 200 1ms")
		b.Reported(true)
		killed(0, "")

		// At a short delay the end is written with the next request.
		b, n, job.ID.N = j.begin(&crawl.Visit{ID: crawl.VisitID{Epoch: 7, N: 10}, Shard: 3, Host: "h.test"}, began, 5), 0, 10
		short := func() {
			n++
			x := &crawl.Exchange{URL: fmt.Sprintf("http://h.test/%d", n), Start: began.Add(time.Duration(n) * time.Second), BoundSource: "configured"}
			b.Began(x)
			end(x)
		}
		short()
		killed(0, "/1 page 0 cut")
		short()
		killed(0, "/1 page 200 1ms, /2 page 0 cut")
		b.Undone()
		n--
		short()
		killed(0, "/1 page 200 1ms, /2 page 0 cut")
		b.Reported(false)
		short()
		killed(2, "/3 page 0 cut")
		b.Reported(true)

		// A record of another visit in the same slot is recognised, and more requests than fit are
		// left out.
		b = j.begin(&crawl.Visit{ID: crawl.VisitID{Epoch: 7, N: 9}, Shard: 3, Host: "h.test"}, began, 5)
		job.ID.N, n = 9, 0
		end(start())
		killed(0, "/1 page 200 1ms")
		for range 2 * slotBytes / recordBytes {
			end(start())
		}
		if info, err := j.f.Stat(); err != nil || info.Size() > slotBytes {
			t.Errorf("the journal of one visit: %v, %v", info.Size(), err)
		}
		b.Reported(false)
		end(start())
		killed(n-1, fmt.Sprintf("/%d page 200 1ms", n))

		// What a failure of the machine left damaged is ignored.
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		raw[slotHead+recordBytes]++
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, left, _ := openRequestLog(path, quiet()); len(left) != 1 || exchangesOf(left[0].trace) != "" {
			t.Errorf("damaged: %+v", left)
		}
		raw[20]++
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		killed(0, "")
	})
}

// The next process reports what the killed one did not, and then begins with an empty log.
func TestJournalIsTold(t *testing.T) {
	virtual(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "j")
		dead, _, err := openRequestLog(path, quiet())
		if err != nil {
			t.Fatal(err)
		}
		job := &crawl.Visit{ID: crawl.VisitID{Epoch: 7, N: 8}, Host: "h.test"}
		now := time.Now()
		dead.begin(job, now, now.UnixMicro()).Began(&crawl.Exchange{URL: "http://h.test/cut", Start: now})
		dead.f.Close()

		d := newDesk(t, 1)
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {})
		_, stop := startFetcher(t, d, testSpec(1, addr), Options{RequestLog: path})
		d.outcome(d.grant(visitTo(t, "http://h.test/a")))
		var reported []crawl.Exchange
		for end := time.Now().Add(ample); len(reported) == 0 && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
			reported, _ = d.traced(job.ID)
		}
		if len(reported) != 1 || !reported[0].Cut || reported[0].URL != "http://h.test/cut" {
			t.Errorf("told: %+v", reported)
		}
		stop()
		if _, left, err := openRequestLog(path, quiet()); len(left) != 0 || err != nil {
			t.Errorf("left: %+v, %v", left, err)
		}
	})
}

func BenchmarkJournal(b *testing.B) {
	j, _, err := openRequestLog(filepath.Join(b.TempDir(), "j"), quiet())
	if err != nil {
		b.Fatal(err)
	}
	defer j.f.Close()
	now := time.Now()
	book := j.begin(&crawl.Visit{ID: crawl.VisitID{Epoch: 7, N: 8}, Host: "h.test"}, now, now.UnixMicro())
	x := crawl.Exchange{URL: "http://h.test/manual/sql-createtable.html", Start: now, End: now, Status: 200, BoundSource: "configured"}
	for b.Loop() {
		book.Began(&x)
		book.Ended(&x)
		if book.n%32 == 0 {
			book.Reported(false)
		}
	}
}
