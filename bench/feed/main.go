// Command feed measures how fast a feed sends stored pages, and how much memory it takes:
//
//	go run ./feed [-pages 100000] [-shards 4] [-bytes 4096] [-to URL]
//
// It makes page stores, sends their pages to a webhook in this process that only counts, or to
// another sink, and reports pages a second and the memory of the process before and meanwhile. With
// a folder as sink (-to file:///tmp/x) there is no second side in the measurement.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/sinks"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

func main() {
	n := flag.Int("pages", 100_000, "pages")
	shards := flag.Int("shards", 4, "shards")
	size := flag.Int("bytes", 4096, "bytes of a page, about")
	to := flag.String("to", "", "URL of a sink; empty: a webhook in this process")
	flag.Parse()
	if err := measure(*n, *shards, *size, *to); err != nil {
		log.Fatal(err)
	}
}

func measure(n, shards, size int, to string) error {
	dir, err := os.MkdirTemp("", "curtsy-feed-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := store(dir, n, shards, size); err != nil {
		return err
	}
	var received atomic.Int64
	if to == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		go http.Serve(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			k, _ := io.Copy(io.Discard, r.Body)
			received.Add(k)
		}))
		to = "http://" + l.Addr().String() + "/pages"
	}
	sink, name, err := sinks.Open(to, sinks.Secrets{Password: os.Getenv("CURTSY_FEED_PASSWORD")})
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
	var sent, most atomic.Int64
	counted := func(k, _ int) {
		sent.Add(int64(k))
		for now := resident(); ; {
			if was := most.Load(); now <= was || most.CompareAndSwap(was, now) {
				return
			}
		}
	}
	f, err := feed.New(c, spec, sink, feed.Options{Name: name, Dead: feed.DeadFile(dir, name), Events: feed.Events{Sent: counted}})
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // of making the stores
	before, began, cpu := resident(), time.Now(), used()
	if err := f.Run(context.Background()); err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Printf("%d pages in %v: %.0f pages/s, %.0f µs of CPU a page, %d MiB received\n", sent.Load(), took.Round(time.Millisecond),
		float64(sent.Load())/took.Seconds(), float64((used()-cpu).Microseconds())/float64(max(sent.Load(), 1)), received.Load()>>20)
	fmt.Printf("memory: %d MiB before, %d MiB after a batch at most\n", before>>20, most.Load()>>20)
	if sent.Load() != int64(n) {
		return fmt.Errorf("%d changes for %d pages", sent.Load(), n)
	}
	return nil
}

// store makes the page stores of a crawl.
func store(dir string, n, shards, size int) error {
	stores := make([]*pages.Store, shards)
	for k := range stores {
		s, err := pages.Open(filepath.Join(dir, fmt.Sprintf("pages-%d.db", k)), pages.Options{})
		if err != nil {
			return err
		}
		defer s.Close()
		stores[k] = s
	}
	filler := strings.Repeat("words that fill a page, and some more of them; ", size/47+1)
	batches := make([][]pages.Page, shards)
	for i := range n {
		h := canon.Host(fmt.Sprintf("h%d.example", i%1000))
		k := crawl.ShardOf(h, shards)
		body := fmt.Appendf(nil, "<title>page %d</title><p>%s", i, filler)
		batches[k] = append(batches[k], pages.Page{Title: fmt.Sprint("page ", i), Page: crawl.Page{URL: canon.URL(fmt.Sprintf("https://%s/%d", h, i)),
			Visit: crawl.VisitID{Epoch: 1, N: uint64(i + 1)}, Status: 200, ContentType: "text/html", Charset: "utf-8", FetchedAt: time.Now(), Body: body,
			Size: int64(len(body)), SHA256: sha256.Sum256(body)}})
		if len(batches[k]) == 500 || i >= n-1000 {
			if _, err := stores[k].Put(batches[k]); err != nil {
				return err
			}
			batches[k] = nil
		}
	}
	for k, b := range batches {
		if _, err := stores[k].Put(b); err != nil {
			return err
		}
	}
	return nil
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
