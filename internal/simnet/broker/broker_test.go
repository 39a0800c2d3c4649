package broker

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/simnet"
)

// TestLine: a client loses its connection when its line is cut, and gets it back when the line is
// repaired, or leads to another server. Other clients notice nothing.
func TestLine(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s, other := Open(t)
		line := NewLine(s)
		c := line.Dial(t, s)
		arrived := make(chan *nats.Msg, 1)
		if _, err := other.NC.ChanSubscribe("a", arrived); err != nil {
			t.Fatal(err)
		}
		if err := other.NC.Flush(); err != nil {
			t.Fatal(err)
		}
		works := func() bool {
			if err := c.NC.Publish("a", nil); err != nil {
				t.Fatal(err)
			}
			select {
			case <-arrived:
				return true
			case <-time.After(time.Minute):
				return false
			}
		}
		if !works() {
			t.Fatal("a message does not arrive")
		}
		line.Cut(true)
		time.Sleep(time.Minute)
		if c.NC.IsConnected() || !other.NC.IsConnected() {
			t.Errorf("on a cut line: connected %v; on another: %v", c.NC.IsConnected(), other.NC.IsConnected())
		}
		if _, err := line.InProcessConn(); err == nil {
			t.Error("a cut line has a connection")
		}
		line.Cut(false)
		time.Sleep(time.Minute)
		if !c.NC.IsConnected() || !works() {
			t.Error("the client is not back")
		}
		line.Move(Start(t))
		line.Cut(true)
		line.Cut(false)
		time.Sleep(time.Minute)
		if !c.NC.IsConnected() || works() {
			t.Errorf("connected %v, and to the first server as before", c.NC.IsConnected())
		}
	})
}
