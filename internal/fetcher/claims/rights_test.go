package claims

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue"
)

// A fetcher with the rights of deploy/nats.cluster.conf uses the bucket that the operator made. It
// cannot have the server publish what it stores there on a subject that is closed to it.
func TestFetchersRights(t *testing.T) {
	const password = "p0123456789"
	for _, role := range []string{"FETCHER", "FRONTIER", "INDEXER", "FEEDER", "OPERATOR", "ROUTE"} {
		t.Setenv(role+"_PASSWORD", password)
	}
	text, err := os.ReadFile("../../../deploy/nats.cluster.conf")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "nats.conf")
	// A single node.
	alone := regexp.MustCompile(`(?s)\ncluster \{.*?\n\}\n`).ReplaceAllString(string(text), "\n")
	if err := os.WriteFile(conf, []byte(alone), 0o600); err != nil {
		t.Fatal(err)
	}
	simnet.Test(t, func(t *testing.T) {
		o, err := server.ProcessConfigFile(conf)
		if err != nil {
			t.Fatal(err)
		}
		o.DontListen, o.HTTPHost, o.HTTPPort, o.NoSigs, o.NoLog, o.StoreDir = true, "", 0, true, true, filepath.Join(dir, "store")
		n, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		n.Start()
		t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
		if !n.ReadyForConnections(time.Minute) {
			t.Fatal("the server is not ready")
		}
		connect := func(role string) *queue.Conn {
			q, err := queue.Dial(t.Context(), queue.Options{InProcess: n, User: role, Password: password, Inbox: role}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { q.Close() })
			return q
		}
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
