package main

import (
	"io"
	"net"
	"testing"
)

// What passes is counted in both directions, and the end of one direction is passed on.
func TestProxy(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		text, _ := io.ReadAll(c) // up to the end that the client writes
		_, _ = c.Write(append(text, " back"...))
	}()
	p, err := newProxy(server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	c, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("there")); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	if err != nil || string(text) != "there back" || p.octets.Load() != 15 || p.connections.Load() != 1 {
		t.Errorf("%q, %v, %d octets in %d connections", text, err, p.octets.Load(), p.connections.Load())
	}
}

func TestPlainNames(t *testing.T) {
	if got := plainName("/a-b/operator=().html"); got != "/a-b/operator_3D_28_29.html" {
		t.Error(got)
	}
	if got := string(plainLinks([]byte(`<a href="operator%3D%28%29.html">100%25</a>`))); got != `<a href="operator_3D_28_29.html">100%25</a>` {
		t.Error(got)
	}
}
