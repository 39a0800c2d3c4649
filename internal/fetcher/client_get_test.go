package fetcher

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// On a machine so busy that nothing runs for a while between two steps, a GET is still one GET, without a body, sent once.
func TestGetOnABusyMachine(t *testing.T) {
	beforeEmpty = func() { time.Sleep(300 * time.Millisecond) } // net/http would wait 200 ms
	t.Cleanup(func() { beforeEmpty = nil })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
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
					status, body := http.StatusOK, "<p>x"
					if strings.HasPrefix(head.String(), "GET /robots.txt") {
						status, body = http.StatusNotFound, ""
					}
					fmt.Fprintf(c, "HTTP/1.1 %d x\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
				}
			}()
		}
	}()
	d := newDesk(t, 1)
	_, stop := startFetcher(t, d, testSpec(1, ln.Addr().String()), Options{Hands: 1})
	v := visitTo(t, "http://h.test/1", "http://h.test/2")
	out := d.outcome(d.grant(v))
	stop()
	for _, r := range out.Results {
		if r.Class != crawl.Stored {
			t.Errorf("%s: %v %s %s", r.URL, r.Class, r.Reason, r.Rule)
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
}
