package claims

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A bucket that an older version made deletes records by its server's clock. It is changed when it
// is opened. Then a record is deleted after a process has seen for long enough that it is not
// written again. The record of a host where a crawl is stays.
func TestNoClockOfAServerDeletesRecords(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		q := connect(t)
		_, err := q.JS.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: crawl.HostsBucket, MaxBytes: crawl.HostsBucketBytes, TTL: forgetAfter})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Open(t.Context(), q, Options{Crawl: "a", Process: "p", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		s, err := q.JS.Stream(t.Context(), "KV_"+crawl.HostsBucket)
		if err != nil {
			t.Fatal(err)
		}
		if age := s.CachedInfo().Config.MaxAge; age != 0 {
			t.Errorf("the server deletes records by its clock after %v", age)
		}
		visit := func(name string) {
			t.Helper()
			k, wait := c.Take(t.Context(), canon.Host(name), time.Second, nothing)
			if k == nil {
				t.Fatalf("no claim on %s; ask again in %v", name, wait)
			}
			k.Hold(t.Context())
			k.Release(t.Context(), time.Now().Add(time.Second))
		}
		kept := func(name string) bool {
			_, revision, err := c.store.read(t.Context(), keyOf(canon.Host(name)))
			if err != nil {
				t.Error(err)
			}
			return revision != 0
		}
		visit("left.example")
		held, lease := must(t, c)
		began := time.Now()
		for kept("left.example") && time.Since(began) < time.Hour {
			time.Sleep(20 * time.Second)
			visit("often.example")
		}
		if took := time.Since(began); took < forgetAfter || took > forgetAfter+2*sweepEvery {
			t.Errorf("a record was deleted %v after its last writing", took)
		}
		if !kept(host) || !lease.Alive() || !kept("often.example") {
			t.Error("a record that is written again and again was deleted")
		}
		held.Release(t.Context(), time.Now())
	})
}

// After the records were lost, and revisions are counted from the beginning, what was seen before
// deletes none of the new ones.
func TestRecordsThatBeginAnewAreNotOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, lose := range map[string]func(*records){
			"another edition": func(s *records) { s.edition = "2" },
			"lower revisions": func(s *records) { s.last = 0 },
		} {
			s := newRecords()
			s.last = 1000
			c, _ := process(s, "a", 1)
			c.sweep(t.Context())
			time.Sleep(sweepEvery)
			c.sweep(t.Context())
			s.mu.Lock()
			lose(s)
			s.mu.Unlock()
			for range 2 {
				time.Sleep(sweepEvery)
				c.sweep(t.Context())
			}
			if n := len(c.sights); n != 2 {
				t.Errorf("%s: %d revisions are remembered of the records as they are now", what, n)
			}
		}
	})
}
