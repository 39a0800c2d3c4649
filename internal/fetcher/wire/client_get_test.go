package wire

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// On a machine so busy that nothing runs for a while between two steps, a GET is still one GET,
// without a body, sent once.
func TestGetOnABusyMachine(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		beforeEmpty = func() { time.Sleep(300 * time.Millisecond) } // net/http would wait 200 ms
		t.Cleanup(func() { beforeEmpty = nil })
		ln, err := simnet.Of(t).Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		var mu sync.Mutex // guards heads
		var heads []string
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					in := bufio.NewReader(c)
					for {
						var head strings.Builder
						for {
							line, err := in.ReadString('\n')
							if err != nil {
								return
							}
							if head.WriteString(line); line == "\r\n" {
								break
							}
						}
						mu.Lock()
						heads = append(heads, head.String())
						mu.Unlock()
						io.WriteString(c, wiretest.OKAnswer)
					}
				}()
			}
		}()
		h := newTestHold(t, Options{}, ln.Addr().String(), "h.test")
		for _, u := range []string{"http://h.test/1", "http://h.test/2", "http://h.test/3"} {
			if a, err := h.Fetch(urlOf(t, u), nil, wantAll); err != nil || a.Status != http.StatusOK {
				t.Errorf("%s: %d, %v", u, a.Status, err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if len(heads) != 3 {
			t.Errorf("%d requests for three things: %q", len(heads), heads)
		}
		for _, h := range heads {
			if strings.Contains(h, "Transfer-Encoding") || strings.Contains(h, "Content-Length") {
				t.Errorf("a GET with a body: %q", h)
			}
		}
	})
}
