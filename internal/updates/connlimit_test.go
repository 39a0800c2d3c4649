package updates

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
)

// arrivals is a listener whose connections come from these peers.
type arrivals struct{ peers []string }

type peered struct {
	net.Conn
	peer net.Addr
}

func (p peered) RemoteAddr() net.Addr { return p.peer }

func (f *arrivals) Accept() (net.Conn, error) {
	if len(f.peers) == 0 {
		return nil, io.EOF
	}
	ours, theirs := net.Pipe()
	theirs.Close()
	peer := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.peers[0]))
	f.peers = f.peers[1:]
	return peered{ours, peer}, nil
}

func (f *arrivals) Close() error   { return nil }
func (f *arrivals) Addr() net.Addr { return nil }

// One machine of the internet, or one /64, has a limited number of connections to an HTTP listener.
// A proxy in our own network has no such limit. After a connection ends, its peer may open another.
func TestFairConnections(t *testing.T) {
	f := &arrivals{}
	ln := fair(f)
	accept := func(peer string) net.Conn {
		t.Helper()
		f.peers = append(f.peers, peer)
		c, err := ln.Accept()
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return c
	}
	var open []net.Conn
	for range maxPerPeer {
		open = append(open, accept("203.0.113.7:1000"), accept("[2001:db8:1:2::3]:1000"))
	}
	for _, peer := range []string{"203.0.113.7:1001", "[2001:db8:1:2:ffff::]:1", "[::ffff:203.0.113.7]:1"} {
		if c := accept(peer); c != nil {
			t.Errorf("%s has one more", peer)
		}
	}
	for range 2 * maxPerPeer {
		if c := accept("127.0.0.1:1000"); c == nil {
			t.Error("a proxy has too few")
		}
	}
	if c := accept("203.0.113.8:1"); c == nil {
		t.Error("another machine has none")
	}
	open[0].Close()
	open[0].Close()
	if accept("203.0.113.7:1") == nil || accept("203.0.113.7:1") != nil {
		t.Error("one place was given back")
	}
}
