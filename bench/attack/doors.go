package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// slowPosts: a stranger opens 3,000 connections to the dashboard of a crawl with 1,024 descriptors,
// and sends the body of a request on each, an octet at a time.
func slowPosts(ctx context.Context, r *Rig) (Row, error) {
	address, err := freePort()
	if err != nil {
		return Row{}, err
	}
	good, err := r.NewGood(nil)
	if err != nil {
		return Row{}, err
	}
	defer good.Close()
	_, port, _ := net.SplitHostPort(address)
	p, err := r.StartWith(ctx, "crawl", nil, "/bin/sh", "-c", `ulimit -n 1024 && exec "$0" "$@"`, r.Bin,
		"crawl", "--dir", r.File("data"), "--allow-private", "--progress", "none", "--listen", "0.0.0.0:"+port, "--hurry", goodHost, "--delay", "50ms",
		"--resolve", goodHost+"=127.0.0.1", "--min-free", "1MiB", "http://"+goodHost+":"+good.Port()+"/")
	if err != nil {
		return Row{}, err
	}
	defer p.Stop()
	if err := p.Answers(ctx, "http://"+address+"/livez"); err != nil {
		return Row{}, err
	}
	began := time.Now()
	if err := pause(ctx, r.Window/2); err != nil {
		return Row{}, err
	}
	alone, _ := good.got(began, time.Now())
	began = time.Now()
	attacker, end := context.WithCancel(ctx)
	defer end()
	opened := make(chan int, 1)
	go func() { opened <- postSlowly(attacker, address, 3000) }()
	other := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}).DialContext}}
	answered, asked := 0, 0
	for time.Since(began) < r.Window/2 {
		asked++
		if resp, err := other.Get("http://" + address + "/livez"); err == nil {
			answered++
			_ = resp.Body.Close()
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return Row{}, err
		}
	}
	ended := time.Now()
	pages, wait := good.got(began, ended)
	want := float64(alone) * ended.Sub(began).Seconds() / (r.Window / 2).Seconds()
	running, failed := !p.Ended(), strings.Contains(p.Output(), "too many open files")
	row := Row{Took: p.Stop()}
	end()
	row.Took.Connections = <-opened
	row.Good = fmt.Sprintf("%d pages of %.0f alone, longest wait %.1f s; %d of %d requests of another address answered", pages, want, wait.Seconds(), answered, asked)
	row.Held = running && !failed && float64(pages) >= 0.8*want && answered == asked
	row.Because = fmt.Sprintf("the crawl runs: %v; files ran out: %v", running, failed)
	return row, nil
}

// postSlowly opens up to n connections, and sends a request on each, an octet at a time, until the
// context ends. It returns how many it opened.
func postSlowly(ctx context.Context, address string, n int) int {
	d := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	var opened atomic.Int64
	var all sync.WaitGroup
	for range n {
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			c, err := d.DialContext(ctx, "tcp", address)
			if err != nil {
				return
			}
			defer c.Close()
			opened.Add(1)
			text := fmt.Sprintf("POST /login HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9000\r\n\r\n", address)
			for err == nil && pause(ctx, time.Second) == nil {
				_, err = c.Write([]byte(text))
				text = "a"
			}
		})
		_ = pause(ctx, time.Millisecond) // all at once would fill the queue of the kernel
	}
	all.Wait()
	return int(opened.Load())
}

// wrongTokens: a stranger sends wrong tokens from the address from which the operator comes, too,
// and looks for something that depends on the token and can be tried at home.
func wrongTokens(ctx context.Context, r *Rig) (Row, error) {
	address, err := freePort()
	if err != nil {
		return Row{}, err
	}
	good, err := r.NewGood(nil)
	if err != nil {
		return Row{}, err
	}
	defer good.Close()
	const token = "correct-horse-battery-staple-0123"
	if err := os.WriteFile(r.File("token"), []byte(token), 0o600); err != nil {
		return Row{}, err
	}
	_, port, _ := net.SplitHostPort(address)
	p, err := r.Start(ctx, "crawl", "crawl", "--dir", r.File("data"), "--allow-private", "--progress", "none", "--listen", "0.0.0.0:"+port,
		"--dashboard-token-file", r.File("token"), "--resolve", goodHost+"=127.0.0.1", "--min-free", "1MiB", "http://"+goodHost+":"+good.Port()+"/")
	if err != nil {
		return Row{}, err
	}
	defer p.Stop()
	if err := p.Answers(ctx, "http://"+address+"/livez"); err != nil {
		return Row{}, err
	}
	jar, _ := cookiejar.New(nil) // never fails
	client := http.Client{Jar: jar, Timeout: 10 * time.Second}
	ask := func(with string) (int, http.Header) {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/hosts", nil)
		if err != nil {
			return 0, nil
		}
		q.Header.Set("Authorization", "Bearer "+with)
		resp, err := client.Do(q)
		if err != nil {
			return 0, nil
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp.StatusCode, resp.Header
	}
	resp, err := client.Get("http://" + address + "/login")
	if err != nil {
		return Row{}, err
	}
	_ = resp.Body.Close()
	cookies := len(resp.Cookies())
	// The crawl has begun when its hosts are shown.
	if err := until(ctx, 30*time.Second, func() (bool, error) { code, _ := ask(token); return code == http.StatusOK, nil }); err != nil {
		return Row{}, fmt.Errorf("the right token before any wrong one: %w", err)
	}
	codes := map[int]int{}
	const tries = 200
	for i := range tries {
		code, _ := ask(fmt.Sprint("wrong", i))
		codes[code]++
	}
	right, _ := ask(token)
	row := Row{Took: p.Stop()}
	row.Took.Connections = tries
	row.Good = fmt.Sprintf("the right token: %d", right)
	row.Held = right == http.StatusOK && cookies == 0
	row.Because = fmt.Sprintf("wrong tokens: %v; cookies before login: %d", codes, cookies)
	return row, nil
}
