//go:build unix

package queue

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"github.com/curtsy/curtsy/pkg/boottime"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

var benchSizes = []int{200, 5000}

// spread calls f n times, from the given number of goroutines.
func spread(n, goroutines int, f func()) {
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	for range goroutines {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				f()
			}
		})
	}
	wg.Wait()
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range benchSizes {
		for _, goroutines := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%dB/%d", size, goroutines), func(b *testing.B) {
				l := openLog(b, dial(b, startServer(b, embedded.Options{})))
				data := make([]byte, size)
				b.ReportAllocs()
				b.SetBytes(int64(size))
				b.ResetTimer()
				defer reportCPU(b)()
				spread(b.N, goroutines, func() {
					if _, err := l.Append(b.Context(), data); err != nil {
						b.Error(err)
					}
				})
			})
		}
	}
}

// BenchmarkPublishPeers does the same as BenchmarkPublish with the functions of nats.go.
func BenchmarkPublishPeers(b *testing.B) {
	ways := map[string]func(context.Context, jetstream.JetStream, []byte) error{
		"sync": func(ctx context.Context, js jetstream.JetStream, data []byte) error {
			_, err := js.Publish(ctx, "x.events.0", data)
			return err
		},
		"async": func(ctx context.Context, js jetstream.JetStream, data []byte) error {
			f, err := js.PublishAsync("x.events.0", data)
			if err != nil {
				return err
			}
			select {
			case <-f.Ok():
				return nil
			case err := <-f.Err():
				return err
			}
		},
	}
	for way, publish := range ways {
		for _, goroutines := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/%d", way, goroutines), func(b *testing.B) {
				c := dial(b, startServer(b, embedded.Options{}))
				openLog(b, c)
				data := make([]byte, 200)
				b.ReportAllocs()
				b.ResetTimer()
				defer reportCPU(b)()
				spread(b.N, goroutines, func() {
					if err := publish(b.Context(), c.JS, data); err != nil {
						b.Error(err)
					}
				})
			})
		}
	}
}

func BenchmarkFollow(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			l := openLog(b, dial(b, startServer(b, embedded.Options{})))
			fill(b, l, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			ctx, cancel := context.WithCancel(b.Context())
			b.ResetTimer()
			defer reportCPU(b)()
			n, batches := 0, 0
			err := l.Follow(ctx, Position{}, func(batch []Entry) error {
				batches++
				if n += len(batch); n >= b.N {
					b.StopTimer()
					cancel()
				}
				return nil
			})
			if err != nil {
				b.Error(err)
			}
			b.ReportMetric(float64(n)/float64(batches), "msgs/batch")
		})
	}
}

func fill(b *testing.B, l *Log, size int) {
	data := make([]byte, size)
	spread(b.N, 64, func() {
		if _, err := l.Append(b.Context(), data); err != nil {
			b.Error(err)
		}
	})
}

// BenchmarkFollowPeers does the same as BenchmarkFollow with the functions of nats.go.
func BenchmarkFollowPeers(b *testing.B) {
	b.Run("ordered-consume", func(b *testing.B) {
		c := dial(b, startServer(b, embedded.Options{}))
		fill(b, openLog(b, c), 200)
		b.ReportAllocs()
		b.ResetTimer()
		defer reportCPU(b)()
		oc, err := c.JS.OrderedConsumer(b.Context(), "x-EVENTS-0", jetstream.OrderedConsumerConfig{})
		if err != nil {
			b.Fatal(err)
		}
		var n atomic.Int64
		done := make(chan struct{})
		cc, err := oc.Consume(func(m jetstream.Msg) {
			if _, err := m.Metadata(); err != nil {
				b.Error(err)
			}
			if n.Add(1) == int64(b.N) {
				close(done)
			}
		}, jetstream.PullMaxMessages(512))
		if err != nil {
			b.Fatal(err)
		}
		<-done
		b.StopTimer()
		cc.Stop()
	})
	b.Run("messages", func(b *testing.B) {
		c := dial(b, startServer(b, embedded.Options{}))
		fill(b, openLog(b, c), 200)
		b.ReportAllocs()
		b.ResetTimer()
		defer reportCPU(b)()
		cons, err := c.JS.CreateOrUpdateConsumer(b.Context(), "x-EVENTS-0", jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true})
		if err != nil {
			b.Fatal(err)
		}
		it, err := cons.Messages(jetstream.PullMaxMessages(512))
		if err != nil {
			b.Fatal(err)
		}
		for range b.N {
			m, err := it.Next()
			if err != nil {
				b.Fatal(err)
			}
			_, _ = m.Metadata()
		}
		b.StopTimer()
		it.Stop()
	})
	b.Run("direct-batch", func(b *testing.B) {
		c := dial(b, startServer(b, embedded.Options{}))
		openLog(b, c)
		s, _ := c.JS.Stream(b.Context(), "x-EVENTS-0")
		cfg := s.CachedInfo().Config
		cfg.AllowDirect = true
		if _, err := c.JS.UpdateStream(b.Context(), cfg); err != nil {
			b.Fatal(err)
		}
		fill(b, &Log{c: c, cfg: LogConfig{Stream: "x-EVENTS-0", Subject: "x.events.0"}}, 200)
		b.ReportAllocs()
		sub, _ := c.NC.SubscribeSync(c.NC.NewInbox())
		b.ResetTimer()
		defer reportCPU(b)()
		for n := 0; n < b.N; {
			c.NC.PublishRequest("$JS.API.DIRECT.GET.x-EVENTS-0", sub.Subject, fmt.Appendf(nil, `{"seq":%d,"batch":512,"next_by_subj":">"}`, n+1))
			for {
				m, err := sub.NextMsg(5 * time.Second)
				if err != nil {
					b.Fatal(err)
				}
				if len(m.Data) == 0 {
					break
				}
				n++
			}
		}
	})
}

func BenchmarkWork(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			c := dial(b, startServer(b, embedded.Options{}))
			w, err := c.OpenWork(b.Context(), WorkConfig{Stream: "x-PAGES", Subjects: []string{"x.pages.*"}, MaxBytes: 1 << 30, MaxMsgsPerSubject: 1000})
			if err != nil {
				b.Fatal(err)
			}
			data := make([]byte, size)
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.ResetTimer()
			defer reportCPU(b)()
			go spread(b.N, 8, func() { _ = w.Send(ctx, "x.pages.0", data) })
			n := 0
			err = w.Consume(ctx, "x.pages.0", "indexer-0", 1, ConsumeOptions{}, func(_ context.Context, batch []Message) error {
				if n += len(batch); n >= b.N {
					cancel()
				}
				return nil
			})
			if err != nil {
				b.Error(err)
			}
		})
	}
}

// reportCPU reports the CPU time of the process for each operation: all threads of the server and
// of the clients.
func reportCPU(b *testing.B) func() {
	before := cpuTime(b)
	return func() { b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op") }
}

func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkValid(b *testing.B) {
	s := &Ownership{until: boottime.Now() + time.Hour}
	for b.Loop() {
		if !s.Valid() {
			b.Fatal("not valid")
		}
	}
}

// BenchmarkSnapshot stores and reads 32 MiB that compress to about half.
func BenchmarkSnapshot(b *testing.B) {
	s := openSnapshots(b, dial(b, startServer(b, embedded.Options{})))
	data := noise(32 << 20)
	for i := 0; i < len(data); i += 1 << 10 {
		clear(data[i : i+512])
	}
	put(b, s, "cp", data)
	b.Run("Put", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		defer reportCPU(b)()
		for i := range b.N {
			name := fmt.Sprint(i)
			put(b, s, name, data)
			check(b, s.Delete(b.Context(), name))
		}
	})
	b.Run("Get", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		defer reportCPU(b)()
		for b.Loop() {
			check(b, s.Get(b.Context(), "cp", io.Discard))
		}
	})
}
