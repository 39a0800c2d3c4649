package embedded

import (
	"github.com/curtsy/curtsy/internal/simnet"

	"log/slog"
	"strings"
	"testing"
)

// These are messages of nats-server 2.15: some mean that it has stopped storing, others sound
// similar and do not.
func TestBroken(t *testing.T) {
	for what, want := range map[string]bool{
		"JetStream stream '$G > S' critical write error: write x: no space left on device":               true,
		"JetStream consumer '$G > S > c' critical write error: no space left on device":                  true,
		"Filestore [S] Critical write error: no space left on device":                                    true,
		"JetStream out of space, will be DISABLED":                                                       true,
		"Filesystem permission denied while writing msg, disabling JetStream: open x: permission denied": true,
		"JetStream failed to store a msg on stream '$G > S': no space left on device":                    false,
		"Filestore [S] Stream state outdated, last block has additional entries, will rebuild":           false,
		"127.0.0.1:1234 - cid:5 - maximum payload violation":                                             false,
		"JetStream resource limits exceeded for server":                                                  false,
	} {
		l := &logger{log: slog.New(slog.DiscardHandler), broken: make(chan string, 1)}
		l.Errorf("%s", what)
		if got := len(l.broken) == 1; got != want {
			t.Errorf("%q: broken %v, want %v", what, got, want)
		}
	}
}

// What is missing is space or files, and the message says which.
func TestRemedy(t *testing.T) {
	for what, want := range map[string]string{
		"Filestore [S] Critical write error: no space left on device":                                 "the disk refuses writes",
		"JetStream stream '$G > S' critical write error: open x/1.blk: too many open files":           "ulimit -n",
		"JetStream stream '$G > S' critical write error: open x/1.blk: too many open files in system": "ulimit -n",
	} {
		if got := remedy(what); !strings.Contains(got, want) {
			t.Errorf("%q: %s", what, got)
		}
	}
}

// Messages of a server that is shutting down cause no second restart.
func TestRestartForgetsTheOldServer(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := start(t, Options{Dir: t.TempDir()})
		s.quit()
		s.healer.Wait()
		s.broken <- "critical write error"
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		if len(s.broken) != 0 {
			t.Error("the server just started counts as broken")
		}
	})
}
