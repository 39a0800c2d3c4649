package ask

import (
	"github.com/curtsy/curtsy/internal/simnet"

	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// breaking are connections of which one breaks, once, with the part of an answer that comes over
// it.
type breaking struct {
	dial   nats.InProcessConnProvider
	broken atomic.Bool
}

func (b *breaking) InProcessConn() (net.Conn, error) {
	c, err := b.dial.InProcessConn()
	return breakingConn{c, b}, err
}

type breakingConn struct {
	net.Conn
	b *breaking
}

func (c breakingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if bytes.Contains(p[:n], []byte(headerKind+": "+kindPart)) && !c.b.broken.Swap(true) {
		c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// An answer of which a part was lost, with the connection that it was to come over, is not whole,
// although its end comes over the next.
func TestAPartThatIsLostIsMissed(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		server, conns := connectTo(t, 1)
		b := &breaking{dial: server}
		asker, err := nats.Connect("", nats.InProcessServer(b), nats.ReconnectWait(10*time.Millisecond), nats.MaxReconnects(-1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(asker.Close)
		handle(t, service(t, conns[0], "one"), "hosts", []int{0}, func(_ context.Context, _ []byte, send func(any) error) error {
			if err := send(thing{URL: strings.Repeat("x", partBytes)}); err != nil {
				return err
			}
			for asker.Stats().Reconnects == 0 || !asker.IsConnected() {
				time.Sleep(time.Millisecond)
			}
			return asker.Flush() // it listens again
		})
		got := map[int]int{}
		err = Gather(t.Context(), asker, "x", "hosts", nil, 1, counting(got))
		if len(got) != 0 || !b.broken.Load() {
			t.Fatalf("nothing was lost: %v", got)
		}
		if err == nil || errors.Is(err, ErrNobody) {
			t.Errorf("an answer without its only part is whole: %v", err)
		}
	})
}
