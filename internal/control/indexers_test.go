package control

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/simnet"
)

// Rebuilding indexes, retiring an indexer and using it again each write a line to the crawl log,
// but only if they change something.
func TestWhatIndexersAreToDoIsLogged(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		ada := By{Who: "ada"}
		mark, begun, err := Reindex(t.Context(), c.Crawl, ada, "")
		if spec, e := service.ReadSpec(t.Context(), c.Bucket); err != nil || e != nil || !begun || mark == "" || spec.Reindex != mark {
			t.Errorf("%q, %v, %v; the spec has %q, %v", mark, begun, err, spec.Reindex, e)
		}
		if again, begun, err := Reindex(t.Context(), c.Crawl, ada, ""); err != nil || begun || again != mark {
			t.Errorf("of one who has not seen that it is under way: %q, %v, %v", again, begun, err)
		}
		for range 2 {
			if err := Retire(t.Context(), c.Crawl, ada, "indexer-2"); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.Bucket.Get(t.Context(), crawl.Retired("indexer-2")); err != nil {
			t.Errorf("it is not retired: %v", err)
		}
		for range 2 {
			if err := Unretire(t.Context(), c.Crawl, ada, "indexer-2"); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.Bucket.Get(t.Context(), crawl.Retired("indexer-2")); !errors.Is(err, jetstream.ErrKeyNotFound) {
			t.Errorf("it is retired: %v", err)
		}
		var text []string
		for _, l := range c.lines() {
			if text = append(text, strings.TrimSpace(l.Action+" "+l.What)); l.Who != "ada" || l.Error != "" {
				t.Errorf("%+v", l)
			}
		}
		if got := fmt.Sprint(text); got != "[reindex retire indexer-2 unretire indexer-2]" {
			t.Errorf("the crawl log has %s", got)
		}
	})
}
