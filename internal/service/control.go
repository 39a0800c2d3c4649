package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/nats-io/nats.go"
)

// Commands on the control subject of a crawl. Each running process answers them with a Process.
const (
	WordPing = "ping" // which processes run?
	WordStop = "stop" // finish running work, release shards and leases, end
)

// Process describes a running process in its answer on the control subject.
type Process struct {
	Kind     string `json:"kind"` // crawl, frontier, fetcher, indexer
	Instance string `json:"instance"`
	PID      int    `json:"pid"`
}

// String names the process for people.
func (p Process) String() string { return fmt.Sprintf("%s %s (pid %d)", p.Kind, p.Instance, p.PID) }

// Obey answers the commands of a crawl as p until the connection closes. It calls stop for
// WordStop, perhaps more than once.
func Obey(nc *nats.Conn, names crawl.Names, p Process, stop func()) error {
	answer, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = nc.Subscribe(names.Control(), func(m *nats.Msg) {
		if m.Reply != "" {
			// If this fails, the asker sees silence, as if the process had ended. Nobody else could
			// be informed.
			_ = m.Respond(answer)
		}
		if string(m.Data) == WordStop {
			_ = nc.Flush() // the answer must be out before the process ends
			stop()
		}
	})
	if err != nil {
		return fmt.Errorf("listen on %s: %w", names.Control(), err)
	}
	return nil
}

// SendCommand sends a command to all processes of a crawl and returns those that answered within
// wait.
func SendCommand(ctx context.Context, nc *nats.Conn, names crawl.Names, word string, wait time.Duration) ([]Process, error) {
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest(names.Control(), sub.Subject, []byte(word)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var ps []Process
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			return ps, nil
		case err != nil:
			return ps, err
		case len(m.Data) == 0 && m.Header.Get("Status") == "503": // no subscriber
			return ps, nil
		}
		var p Process
		if json.Unmarshal(m.Data, &p) == nil {
			ps = append(ps, p)
		}
	}
}

// Stop makes all processes of a crawl stop, and waits until none of them answers any more.
func Stop(ctx context.Context, nc *nats.Conn, names crawl.Names) ([]Process, error) {
	ps, err := SendCommand(ctx, nc, names, WordStop, time.Second)
	if err != nil || len(ps) == 0 {
		return ps, err
	}
	for {
		left, err := SendCommand(ctx, nc, names, WordPing, 500*time.Millisecond)
		switch {
		case ctx.Err() != nil:
			return ps, fmt.Errorf("the process was asked to stop but is still running: %v", left)
		case err != nil && !nc.IsConnected():
			return ps, nil // the embedded server ended with its crawl
		case err != nil:
			return ps, err
		case len(left) == 0:
			return ps, nil
		}
	}
}
