package claims

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
)

// A fetcher with the rights of deploy/nats.cluster.conf uses the bucket that the operator made. It
// cannot have the server publish what it stores there on a subject that is closed to it.
func TestFetchersRights(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		connect := broker.Roles(t, "../../../deploy/nats.cluster.conf")
		operator, fetcher := connect("operator"), connect("fetcher")
		if _, err := operator.OpenSizedBucket(t.Context(), crawl.HostsBucket, crawl.HostsBucketBytes); err != nil {
			t.Fatal(err)
		}
		b, err := openBucket(t.Context(), fetcher)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.write(t.Context(), "h.a.example", record{Crawl: "demo"}, 0); err != nil {
			t.Error(err)
		}
		if err := b.forget(t.Context(), 1); err != nil {
			t.Error(err)
		}
		s, err := operator.JS.Stream(t.Context(), "KV_"+crawl.HostsBucket)
		if err != nil {
			t.Fatal(err)
		}
		cfg := s.CachedInfo().Config
		cfg.RePublish = &jetstream.RePublish{Source: "$KV." + crawl.HostsBucket + ".stop", Destination: "demo.control"}
		if _, err := fetcher.JS.UpdateStream(t.Context(), cfg); err == nil {
			t.Error("a fetcher has the server publish on demo.control")
		}
		// With that right it would stop the crawl. Whoever had it is found out.
		if _, err := operator.JS.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		control, err := connect("frontier").NC.SubscribeSync("demo.control")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := fetcher.JS.Publish(t.Context(), "$KV."+crawl.HostsBucket+".stop", []byte("stop")); err != nil {
			t.Fatal(err)
		}
		if m, err := control.NextMsg(time.Minute); err != nil || string(m.Data) != "stop" {
			t.Errorf("the server publishes nothing (%v): is the right harmless?", err)
		}
		if _, err := openBucket(t.Context(), fetcher); err == nil || !strings.Contains(err.Error(), "publishes what it stores on other subjects") {
			t.Errorf("a bucket that publishes is opened: %v", err)
		}
	})
}
