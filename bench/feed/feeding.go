package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/sinks"
	"github.com/curtsy/curtsy/internal/indexer"
)

// result is what feeding one sink took.
type result struct {
	Pages  int64
	Took   time.Duration
	CPU    time.Duration // of the feeding process
	Before int64         // bytes of anonymous memory when the crawl was open and nothing was fed
	Most   int64         // and at most while it was fed
}

// feedTo feeds the crawl in dir to a sink, in this process, and prints the result in JSON. Where
// profile names a file, it gets a profile of the heap when its memory was at a maximum.
func feedTo(out io.Writer, dir string, shards int, to, profile string) error {
	sink, name, err := sinks.Open(to, sinks.Secrets{})
	if err != nil {
		return err
	}
	defer sink.Close()
	spec := crawl.Spec{Name: "bench", Shards: shards, Agent: "curtsy"}
	x, err := indexer.OpenFeeds(dir, spec)
	if err != nil {
		return err
	}
	c := asker.Stopped(spec, x.Close, x.Handlers(spec.Agent))
	defer c.Close()
	var r result
	var sent atomic.Int64
	f, err := feed.New(c, spec, sink, feed.Options{Name: name, Dead: feed.DeadFile(dir, name), Events: feed.Events{
		Sent:   func(k, refused int) { sent.Add(int64(k - refused)) },
		Failed: func(err error) { fmt.Fprintln(os.Stderr, err) },
	}})
	if err != nil {
		return err
	}
	debug.FreeOSMemory()
	r.Before = resident()
	began, cpu := time.Now(), used()
	over := make(chan struct{})
	var sampling sync.WaitGroup
	sampling.Go(func() { r.Most = watch(over, profile) })
	err = f.Run(context.Background())
	r.Took, r.CPU, r.Pages = time.Since(began), used()-cpu, sent.Load()
	close(over)
	sampling.Wait()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// watch returns the most anonymous memory of the process until over is closed.
func watch(over <-chan struct{}, profile string) (most int64) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return most
		case <-tick.C:
		}
		now := resident()
		if now > most+most/20 && profile != "" {
			var b bytes.Buffer
			_ = pprof.Lookup("heap").WriteTo(&b, 0)
			_ = os.WriteFile(profile, b.Bytes(), 0o600)
		}
		most = max(most, now)
	}
}

func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// status is a value of /proc/self/status, in bytes.
func status(key string) (n int64) {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(key+":")); ok {
			fmt.Sscan(string(rest), &n)
		}
	}
	return n << 10
}

// resident is the memory of the process without the pages of mapped files.
func resident() int64 { return status("RssAnon") }
