package queue

import (
	"testing"

	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

func TestOwnFreeAndRelease(t *testing.T) {
	c := dial(t, startServer(t, embedded.Options{}))
	kv, err := c.OpenBucket(t.Context(), "x-CRAWL", 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Own(t.Context(), kv, "frontier.0", OwnOptions{Owner: "a", Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Valid() || !s.Clean() || s.TookOver() {
		t.Errorf("a free shard: valid %v, clean %v, took over %v", s.Valid(), s.Clean(), s.TookOver())
	}
	if err := s.Release(t.Context(), "cp-1"); err != nil {
		t.Fatal(err)
	}
	if s.Valid() {
		t.Error("valid after Release")
	}
	n, err := Own(t.Context(), kv, "frontier.0", OwnOptions{Owner: "b", Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	if !n.Clean() || !n.TookOver() || n.Epoch() <= s.Epoch() || n.Record().Checkpoint != "cp-1" {
		t.Errorf("after a clean release: %+v", n.Record())
	}
}
