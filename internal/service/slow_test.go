package service

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/internal/simnet"
)

// A client that sends the body of a request slowly, or does not read the answer, has its connection
// for a bounded time, also if the handler does not look at the body. An answer to a request without
// a body may take long.
func TestSlowClients(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		n := simnet.New(simnet.Options{})
		ln, err := n.Listen("tcp", "198.51.100.1:80")
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{ln: fair.Listener(ln, fair.ListenerOptions{Connections: fair.NewConnections(100)}), log: quiet}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- s.Run(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/reads":
					_, _ = io.Copy(io.Discard, r.Body)
				case "/large":
					_, _ = w.Write(make([]byte, 64<<20))
				case "/waits":
					select {
					case <-r.Context().Done():
					case <-time.After(answerWithin - time.Second):
						_, _ = io.WriteString(w, "answer")
					}
				}
			}))
		}()
		dial := func(request string) net.Conn {
			c, err := n.Dial(ctx, "tcp", "198.51.100.1:80")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatal(err)
			}
			return c
		}
		for _, path := range []string{"/reads", "/ignores"} {
			for _, length := range []string{"Content-Length: 60000", "Transfer-Encoding: chunked"} {
				c, from := dial("POST "+path+" HTTP/1.1\r\nHost: x\r\n"+length+"\r\n\r\n"), time.Now()
				for err := error(nil); err == nil; {
					piece := "a"
					if length[0] == 'T' {
						piece = "1\r\na\r\n"
					}
					time.Sleep(time.Second)
					if _, err = io.WriteString(c, piece); time.Since(from) > 10*time.Minute {
						t.Fatalf("%s with %s lasts for ever", path, length)
					}
				}
				c.Close()
				if took := time.Since(from); took > bodyWithin+5*time.Second {
					t.Errorf("%s with %s lasts %v", path, length, took)
				}
			}
		}
		c := dial("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
		time.Sleep(answerWithin + 5*time.Second)
		if conns := n.Conns("198.51.100.1:80"); conns > 1 { // this end is still open
			t.Errorf("%d connections", conns)
		}
		if got, err := io.Copy(io.Discard, c); err == nil && got > 1<<20 {
			t.Errorf("a client that did not read got %d bytes later", got)
		}
		c.Close()
		c = dial("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.ContentLength != int64(len("answer")) {
			t.Errorf("an answer that takes long: %v", err)
		}
		c.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
