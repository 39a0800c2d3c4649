package updates

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// TestService receives a report by SMTP and another from a Maildir, and finds both in the log of
// the site's shard.
func TestService(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		n := simnet.New(simnet.Options{})
		quiet := slog.New(slog.DiscardHandler)
		srv, err := embedded.Start(embedded.Options{Dir: t.TempDir(), MaxStore: 1 << 28, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(srv.Shutdown)
		q, err := queue.Dial(t.Context(), queue.Options{InProcess: srv.InProcess(), User: srv.User(), Password: srv.Password()}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { q.Close() })
		spec := crawl.Spec{Name: "test", Shards: 3}
		names := crawl.Names(spec.Name)
		kv, err := q.OpenBucket(t.Context(), names.Bucket(), 1)
		if err != nil {
			t.Fatal(err)
		}
		shard := crawl.ShardOf(testSite.Host, spec.Shards)
		log, err := q.OpenLog(t.Context(), queue.LogConfig{Stream: names.EventsStream(shard), Subject: names.EventsSubject(shard), MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		_, err = NewService(t.Context(), q, kv, spec, MailOptions{Maildir: dir, Log: quiet})
		if err == nil || !strings.Contains(err.Error(), "updates-maildir") {
			t.Errorf("no Maildir: %v", err)
		}
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "new"), 0o700), os.Mkdir(filepath.Join(dir, "cur"), 0o700)); err != nil {
			t.Fatal(err)
		}
		s, err := NewService(t.Context(), q, kv, spec, MailOptions{Listen: "127.0.0.1:0", Open: n.Listen, Maildir: dir, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewService(t.Context(), q, kv, spec, MailOptions{Listen: s.Addr().String(), Open: n.Listen, Log: quiet}); err == nil || !strings.Contains(err.Error(), "another address") {
			t.Errorf("a port in use: %v", err)
		}
		secrets, err := q.OpenSmallBucket(t.Context(), crawl.Names(spec.Name).Secrets())
		if err != nil {
			t.Fatal(err)
		}
		secret, err := Secret(t.Context(), secrets, kv)
		if err != nil {
			t.Fatal(err)
		}
		to := Addresses{Mailbox: "curtsy@crawler.example", Secret: secret}.For(testSite, 0)
		mail := []byte("To: " + to + "\r\n\r\n" + testReport)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()

		// Without a mailbox there are no addresses.
		if err := send(t, n, s.Addr().String(), to, mail); err == nil || !strings.HasPrefix(err.Error(), "550 ") {
			t.Errorf("without a mailbox: %v, want 550", err)
		}
		spec.UpdatesMail = "curtsy@crawler.example"
		if err := s.SetSpec(spec); err != nil {
			t.Fatal(err)
		}
		if err := send(t, n, s.Addr().String(), to, mail); err != nil {
			t.Error(err)
		}
		if n, err := log.Last(t.Context()); n != 1 || err != nil {
			t.Errorf("%d messages in the log, %v; want one as soon as the mail is acknowledged", n, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "new", "1"), mail, 0o600); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			if n, err := log.Last(t.Context()); n == 2 && err == nil {
				break
			} else if time.Now().After(end) {
				t.Fatalf("%d messages in the log, %v; want two", n, err)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
