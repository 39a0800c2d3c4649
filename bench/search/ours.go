package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/curtsy/curtsy/bench/command"
)

// A found page is what the command line and the API print of a hit.
type found struct {
	URL     string
	Also    []string
	Section struct{ URL string }
}

func (f found) hit() hit { return hit{append([]string{f.URL}, f.Also...), f.Section.URL} }

// within returns the words of a query that is asked in its manual, or in all manuals together.
func (q query) within(everywhere bool) string {
	if everywhere {
		return q.text
	}
	return q.text + " site:" + q.manual.host()
}

// served asks the JSON API of a running `curtsy serve`.
type served struct {
	pid    int
	base   string
	reader bool // send the reader's language, as a browser does
}

// newServed starts `curtsy serve` with extra arguments on a crawl that does not run. The process
// ends with the bench.
func newServed(ctx context.Context, b *bench) (engine, error) {
	cmd := exec.CommandContext(ctx, b.binary(), append([]string{"serve", "--dir", b.data(), "--listen", "127.0.0.1:0"}, b.extra...)...)
	base, err := b.startServer(cmd)
	if err != nil {
		return nil, err
	}
	return served{cmd.Process.Pid, base, b.reader}, nil
}

// startServer starts a server that prints its address in its first line, and returns the part with
// the host. The process ends with the bench.
func (b *bench) startServer(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	b.stop = append(b.stop, func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait() // its message is in stderr
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	_, address, _ := strings.Cut(line, "http://")
	host, _, _ := strings.Cut(strings.TrimSpace(address), "/")
	if host == "" {
		return "", fmt.Errorf("%s printed %q, which has no address", strings.Join(cmd.Args, " "), line)
	}
	return "http://" + host, nil
}

func (e served) cpu() time.Duration { return command.CPUOf(e.pid) }

func (e served) ask(ctx context.Context, q query, everywhere bool) (hits []hit, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base+"/api/v1/search?per=10&q="+url.QueryEscape(q.within(everywhere)), nil)
	if err != nil {
		return nil, err
	}
	if e.reader {
		req.Header.Set("Accept-Language", q.reader())
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", resp.Status, body)
	}
	var answer struct{ Hits []found }
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	for _, f := range answer.Hits {
		hits = append(hits, f.hit())
	}
	return hits, nil
}

// asked queries a crawl that does not run with `curtsy search`, a process for each query.
type asked struct{ b *bench }

func (e asked) ask(ctx context.Context, q query, everywhere bool) (hits []hit, err error) {
	args := append([]string{"search", "--json", "--limit", "10", "--dir", e.b.data()}, e.b.extra...)
	out, err := run(exec.CommandContext(ctx, e.b.binary(), append(args, "--", q.within(everywhere))...))
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var f found
		if err := dec.Decode(&f); err != nil {
			return nil, err
		}
		hits = append(hits, f.hit())
	}
	return hits, nil
}
