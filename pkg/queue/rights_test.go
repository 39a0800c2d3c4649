package queue

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/simnet"
)

// A user with few rights works with existing streams, creates nothing, and gets clear errors about
// missing rights.
func TestRights(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		n := natsServer(t, func(o *server.Options) {
			o.DontListen = true
			o.Users = []*server.User{{Username: "all", Password: "p"}, {Username: "few", Password: "p", Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Allow: []string{"x.events.0", "$JS.API.INFO", "$JS.API.STREAM.INFO.*",
					"$JS.API.STREAM.MSG.GET.*", "$JS.API.CONSUMER.*.>", "$KV.x-MEMBERS.>"}},
				Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
			}}, {Username: "deaf", Password: "p", Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Deny: []string{">"}}}}}
		})
		if !n.ReadyForConnections(within) {
			t.Fatal("the server is not ready")
		}
		connect := func(user string, log *slog.Logger) *Conn {
			c, err := Dial(t.Context(), Options{InProcess: n, User: user, Password: "p"}, log)
			check(t, err)
			t.Cleanup(func() { c.Close() })
			return c
		}
		ctx := t.Context()
		cfg := LogConfig{Stream: "x-EVENTS-0", Subject: "x.events.0", MaxBytes: 10 << 20}
		c := connect("all", testLog(t))
		_, err := c.OpenLog(ctx, cfg)
		check(t, err)
		openBucket(t, c)
		openMembers(t, c)
		put(t, openSnapshots(t, c), "cp", []byte("x"))

		logged := newLines()
		few := connect("few", slog.New(logged))
		l, err := few.OpenLog(ctx, cfg)
		check(t, err)
		appendN(t, l, 3)
		if _, err := readTo(t, l, Position{}, 3); err != nil {
			t.Error(err)
		}
		kv := openBucket(t, few)
		join(t, openMembers(t, few), "fetcher", "f").knows(t, "f")
		snaps := openSnapshots(t, few)
		wantSnapshot(t, snaps, "cp", []byte("x"))

		refusal := func(what, subject string, err error) {
			t.Helper()
			if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), `NATS does not allow user "few" to use the subject `+subject) ||
				!strings.Contains(err.Error(), "deploy/nats.cluster.conf") {
				t.Errorf("%s = %v", what, err)
			}
		}
		began := time.Now()
		_, err = few.OpenLog(ctx, LogConfig{Stream: "x-EVENTS-1", Subject: "x.events.1", MaxBytes: 1 << 20})
		refusal("OpenLog of another log", "$JS.API.STREAM.CREATE.x-EVENTS-1", err)
		_, err = few.OpenBucket(ctx, "y-CRAWL", 0)
		refusal("OpenBucket of another bucket", "$JS.API.STREAM.CREATE.KV_y-CRAWL", err)
		refusal("Purge", "$JS.API.STREAM.PURGE.x-EVENTS-0", l.Purge(ctx, 1))
		_, err = snaps.Put(ctx, "cp2", 1, writeOf([]byte("x")))
		refusal("Put", "$O.x-CHECKPOINTS", err)
		if d := time.Since(began); d > 4*(apiTryWithin+time.Second) {
			t.Errorf("four refusals took %v", d)
		}
		bigger := cfg
		bigger.MaxBytes *= 2
		if _, err := few.OpenLog(ctx, bigger); err != nil {
			t.Errorf("OpenLog = %v: the log is there, only not as big as it might be", err)
		}
		_, err = Dial(ctx, Options{InProcess: n, User: "deaf", Password: "p"}, testLog(t))
		if err == nil || !strings.Contains(err.Error(), `user "deaf" to use the subject _INBOX.`) {
			t.Errorf("Dial of one who may hear nothing = %v", err)
		}
		// Own and Append wait, and the log says for what.
		octx, cancel := context.WithTimeout(ctx, 3*term)
		defer cancel()
		if _, err := Own(octx, kv, "frontier.0", ownOptions(t, "a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Own = %v", err)
		}
		actx, stop := context.WithTimeout(ctx, ackWithin+2*time.Second)
		defer stop()
		go func() {
			_, _ = (&Log{c: few, cfg: LogConfig{Subject: "x.events.7"}}).Append(actx, nil)
		}()
		eventually(t, "Waiting", func() bool {
			return strings.Contains(few.Waiting()["x.events.7"], "NATS does not allow this process to use the subject")
		})
		if n := logged.count("NATS does not allow this process to use a subject"); n < 5 || n > 10 {
			t.Errorf("%d messages about refusals", n)
		}
	})
}
