package queue

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(nodeOfChild); spec != "" {
		child(spec)
		return
	}
	goleak.VerifyTestMain(m)
}

// within limits waits, in virtual time.
const within = time.Minute

// testLog prints messages if -v is given and QUEUE_LOG is set.
func testLog(testing.TB) *slog.Logger {
	if testing.Verbose() && os.Getenv("QUEUE_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	return slog.New(slog.DiscardHandler)
}

// lines is a log handler that stores its messages.
type lines struct {
	slog.Handler
	mu         sync.Mutex
	lastLogged []string
}

func newLines() *lines { return &lines{Handler: slog.DiscardHandler} }

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastLogged = append(l.lastLogged, r.Message)
	return nil
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lastLogged)
}

func (l *lines) count(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.lastLogged {
		if strings.Contains(s, part) {
			n++
		}
	}
	return n
}

// eventually waits for cond in virtual time. Tests with real sockets use testaid.Until.
func eventually(t testing.TB, what string, cond func() bool, report ...func() string) {
	t.Helper()
	for end := time.Now().Add(within); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			for _, r := range report {
				t.Log(r())
			}
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

// cancelled returns a context that ends with the test, when cancel is called, or after within at
// the latest. It is for tests in virtual time.
func cancelled(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx, cancel
}

func startServer(t testing.TB, o embedded.Options) *embedded.Server {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.MaxStore == 0 {
		o.MaxStore = 4 << 30
	}
	o.Log = testLog(t)
	s, err := embedded.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

func dial(t testing.TB, s *embedded.Server) *Conn { return dialLog(t, s, testLog(t)) }

func dialLog(t testing.TB, s *embedded.Server, log *slog.Logger) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), Options{InProcess: s.InProcess(), User: s.User(), Password: s.Password()}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func openLog(t testing.TB, c *Conn) *Log {
	t.Helper()
	l, err := c.OpenLog(t.Context(), LogConfig{Stream: "x-EVENTS-0", Subject: "x.events.0", MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
