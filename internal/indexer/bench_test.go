package indexer

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/queue"
)

// cpu is the processor time the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkHandle is the indexer's own work on a page of 18 KB, from message to commit: decoding,
// directives, title, page store. 1 op is a page; a message has 16, a batch 4 messages.
func BenchmarkHandle(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([]byte, 0, 18<<10)
	for len(words) < 18<<10 {
		words = fmt.Appendf(words, "word%d <b>more</b> ", rng.IntN(3000))
	}
	store, err := pages.Open(filepath.Join(b.TempDir(), "pages-0.db"), pages.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	met, _ := newMetrics(nil, nil)
	s := &shard{part: part{id: 0, store: store}, log: testLog(), handling: make(chan struct{}, 1), reader: pageReader{log: testLog()}, put: store.Put,
		x: &Indexer{spec: crawl.Spec{Shards: 1}, o: Options{Pace: 1}, metrics: met}}
	s.ruling = newRuling(s)
	const perMessage, perBatch = 16, 4
	n := 0
	var batch []queue.Message
	var spent time.Duration
	packed := 0
	for b.Loop() {
		if n++; n%(perMessage*perBatch) != 0 {
			continue
		}
		b.StopTimer()
		batch = batch[:0]
		for m := range perBatch {
			var all []crawl.Page
			for i := range perMessage {
				all = append(all, page(fmt.Sprintf("https://www.host%d.example/docs/page-%d-%d-%d.html", i, n, m, i), 1, string(words)))
				packed = len(all[0].Body)
			}
			batch = append(batch, queue.Message{Data: crawl.AppendPages(nil, all), Deliveries: 1})
		}
		b.StartTimer()
		began := cpu()
		if err := s.handle(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		spent += cpu() - began
	}
	b.ReportMetric(float64(spent)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(packed), "packed-B/page")
}
