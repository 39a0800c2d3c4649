package frontier

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue"
)

// With permissions from before the secret had its own bucket, a frontier ends at once, and reports
// which permission is missing and where permissions are configured.
func TestFrontierWithoutTheRightToTheSecret(t *testing.T) {
	rights := func(allow ...string) *server.Permissions {
		return &server.Permissions{Publish: &server.SubjectPermission{Allow: allow}}
	}
	for missing, allow := range map[string][]string{
		// As in deploy/nats.cluster.conf of commit 46b061c.
		"$JS.API.STREAM.CREATE.KV_t-SECRET": {"t.events.*", "t.pages.*", "_INBOX.>", "$KV.t-CRAWL.frontier.*", "$KV.t-CRAWL.budget",
			"$KV.t-CRAWL.updates-secret", "$KV.t-MEMBERS.frontier.*", "$O.t-CHECKPOINTS.>", "$JS.API.INFO", "$JS.API.STREAM.INFO.*",
			"$JS.API.STREAM.MSG.GET.*", "$JS.FC.>", "$JS.API.STREAM.CREATE.KV_t-CRAWL", "$JS.API.STREAM.CREATE.KV_t-MEMBERS",
			"$JS.API.STREAM.*.OBJ_t-CHECKPOINTS", "$JS.API.CONSUMER.CREATE.*.>", "$JS.API.CONSUMER.DELETE.*.*", "$JS.API.CONSUMER.MSG.NEXT.*.*"},
		// The bucket may be created but not written to; or not read.
		"$KV.t-SECRET.updates-secret":        {"t.events.*", "_INBOX.>", "$JS.API.>"},
		"$JS.API.STREAM.MSG.GET.KV_t-SECRET": {"t.events.*", "_INBOX.>", "$JS.API.INFO", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.CREATE.*", "$JS.API.STREAM.MSG.GET.KV_t-CRAWL"},
	} {
		t.Run(missing, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {

				n, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(),
					JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 64 << 20, NoSigs: true, NoLog: true, Users: []*server.User{
						{Username: "operator", Password: "p"}, {Username: "frontier", Password: "p", Permissions: rights(allow...)},
					}})
				if err != nil {
					t.Fatal(err)
				}
				n.Start()
				t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
				if !n.ReadyForConnections(10 * time.Second) {
					t.Fatal("the server is not ready")
				}
				log := slog.New(slog.NewTextHandler(io.Discard, nil))
				as := func(user string) *queue.Conn {
					q, err := queue.Dial(t.Context(), queue.Options{InProcess: n, User: user, Password: "p"}, log)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { q.Close() })
					return q
				}
				op := as("operator")
				spec := crawl.Spec{Name: "t", Shards: 1}
				if err := EnsureStreams(t.Context(), op, spec, StreamLimits{}); err != nil {
					t.Fatal(err)
				}
				if _, err := op.OpenBucket(t.Context(), crawl.Names("t").Bucket(), 0); err != nil {
					t.Fatal(err)
				}
				f, err := New(as("frontier"), spec, Options{Dir: t.TempDir(), Instance: "f1", Log: log})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				err = f.Run(ctx)
				t.Logf("after %v: %v", time.Since(began), err)
				if err == nil {
					t.Fatal("it ran, or waited, until it was stopped")
				}
				for _, word := range []string{missing, "deploy/nats.cluster.conf"} {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("the error does not name %s: %v", word, err)
					}
				}
			})
		})
	}
}
