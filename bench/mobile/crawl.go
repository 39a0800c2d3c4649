package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// crawl crawls the site into the directory with a name, and returns what that cost.
func (m *manuals) crawl(ctx context.Context, bin, name string, delay time.Duration, again bool, more ...string) (figures, error) {
	lines, err := m.logged()
	if err != nil {
		return figures{}, err
	}
	site, robots, exchanges := m.site.octets.Load(), m.robots.octets.Load(), m.robots.connections.Load()
	args := append([]string{"crawl", "--dir", m.file(name), "--allow-private", "--delay", delay.String(), "--listen", "off", "--log-level", "info", "--log-format", "text"}, more...)
	if again {
		args = append(args, "--recrawl", "--recrawl-min", "24h", "--recrawl-max", "24h")
	}
	out, err := os.Create(m.file(fmt.Sprintf("%s.%v.err", name, again)))
	if err != nil {
		return figures{}, err
	}
	defer out.Close()
	began := time.Now()
	cmd := exec.CommandContext(ctx, bin, append(args, "http://"+m.site.address()+"/index.html")...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return figures{}, err
	}
	ended := began
	if again { // such a crawl has no end
		if ended, err = m.quiet(ctx, cmd); err != nil {
			return figures{}, err
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			return figures{}, err
		}
	}
	if err := cmd.Wait(); err != nil && !again {
		return figures{}, fmt.Errorf("curtsy crawl: %w; see %s", err, out.Name())
	}
	if !again {
		ended = time.Now()
	}
	after, err := m.logged()
	if err != nil {
		return figures{}, err
	}
	pages, err := m.stored(ctx, bin, name)
	return figures{
		http: after - lines, atp: int(m.robots.connections.Load() - exchanges), httpOctets: m.site.octets.Load() - site, atpOctets: m.robots.octets.Load() - robots,
		seconds: ended.Sub(began).Seconds(), stored: len(pages),
	}, err
}

// silence is for how long a crawl has sent nothing before it counts as done.
const silence = 45 * time.Second

// quiet waits until a crawl has sent nothing for a while, and returns when it sent the last octet.
func (m *manuals) quiet(ctx context.Context, cmd *exec.Cmd) (last time.Time, err error) {
	last = time.Now()
	for sum := int64(-1); time.Since(last) < silence; {
		if now := m.site.octets.Load() + m.robots.octets.Load(); now != sum {
			last, sum = time.Now(), now
		}
		select {
		case <-ctx.Done():
			return last, errors.Join(ctx.Err(), cmd.Process.Kill())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return last, nil
}

// logged is how many requests nginx has answered.
func (m *manuals) logged() (int, error) {
	text, err := os.ReadFile(m.file("nginx.log"))
	return bytes.Count(text, []byte("\n")), err
}

// stored returns what a crawl has of each URL: the SHA-256 of the page, and its media type.
func (m *manuals) stored(ctx context.Context, bin, name string) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, bin, "pages", "--json", "--dir", m.file(name))
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("curtsy pages: %w", err)
	}
	pages := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p crawl.PageInfo
		switch err := d.Decode(&p); {
		case err == io.EOF:
			return pages, nil
		case err != nil:
			return nil, err
		}
		pages[p.URL] = p.SHA256 + " " + p.ContentType
	}
}

// compare compares what two crawls have stored.
func compare(w io.Writer, a, b map[string]string) error {
	var wrong []string
	for url, page := range a {
		if other, ok := b[url]; !ok {
			wrong = append(wrong, "only in the first: "+url)
		} else if page != other {
			wrong = append(wrong, "different: "+url+": "+page+", "+other)
		}
	}
	for url := range b {
		if _, ok := a[url]; !ok {
			wrong = append(wrong, "only in the second: "+url)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the crawls have not stored the same:\n%s", strings.Join(wrong[:min(len(wrong), 20)], "\n"))
	}
	_, err := fmt.Fprintf(w, "(all %d pages are equal)\n", len(a))
	return err
}
