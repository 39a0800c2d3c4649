package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/simweb"
)

// A process that may open few files gets more slow requests than that at its dashboard. The crawl
// goes on, the port still answers, and no file is missing. In a crawl at a limit of 1,024 files,
// which 3,000 slow requests from one address reach for 35 s (docs/design.md §8.3), the port
// did not answer for twelve of them and NATS could not open its files; now it has 79 files open at
// most, and answers within 0.1 s.
func TestCrawlGoesOnBesideSlowRequests(t *testing.T) {
	t.Parallel()
	const files = 160
	web := startWeb(t, simweb.Config{Hosts: 4, PagesPerHost: 300, CrossLinks: 3})
	dir := t.TempDir()
	log, err := os.Create(dir + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	args := append([]string{"crawl", "--dir", dir + "/data", "--listen", "127.0.0.1:0", "--allow-private", "--delay", "20ms", "--resolve", web.Resolve()}, web.Seeds()...)
	cmd := exec.Command("sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec curtsy "$@"`, files), "sh"}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	logged := func() string {
		b, _ := os.ReadFile(log.Name())
		return string(b)
	}
	var at []string
	await(t, "the dashboard's address", func() bool {
		at = regexp.MustCompile(`dashboard: http://([0-9.:]+)/`).FindStringSubmatch(logged())
		return at != nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opened := make(chan struct{}, 4*files)
	for range 2 * files {
		go func() {
			for ctx.Err() == nil {
				c, err := new(net.Dialer).DialContext(ctx, "tcp", at[1])
				if err != nil {
					continue
				}
				stop := context.AfterFunc(ctx, func() { c.Close() })
				_, _ = fmt.Fprintf(c, "POST /login HTTP/1.1\r\nHost: %s\r\nContent-Length: 60000\r\n\r\n", at[1])
				select {
				case opened <- struct{}{}:
				default:
				}
				buf := make([]byte, 1024)
				for err = nil; err == nil; { // until it is closed
					_, err = c.Read(buf)
				}
				stop()
				c.Close()
			}
		}()
	}
	for range 2 * files {
		<-opened
	}
	from := len(web.Log())
	await(t, "the crawl to go on", func() bool { return len(web.Log()) >= from+200 })
	answered := 0
	await(t, "the port to answer", func() bool {
		resp, err := http.Get("http://" + at[1] + "/livez")
		if err == nil {
			resp.Body.Close()
			answered++
		}
		return answered == 5
	})
	if open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", cmd.Process.Pid)); err == nil && len(open) > files*9/10 {
		t.Errorf("%d files are open", len(open))
	}
	if got := logged(); strings.Contains(got, "too many") {
		t.Errorf("files ran out: %s", got)
	}
}
