package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// cluster is three NATS servers that replicate.
type cluster struct {
	t     testing.TB
	opts  [3]server.Options
	nodes [3]*server.Server
}

func startCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{t: t}
	var ports [3]int
	var routes []*url.URL
	for i := range ports {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = ln.Addr().(*net.TCPAddr).Port
		ln.Close()
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", ports[i])})
	}
	for i := range c.opts {
		c.opts[i] = server.Options{
			ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: server.RANDOM_PORT,
			JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 64 << 20,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]},
			Routes:  routes, NoSigs: true, NoLog: true,
		}
		c.start(i)
	}
	t.Cleanup(func() {
		for i := range c.nodes {
			c.stop(i)
		}
	})
	return c
}

func (c *cluster) start(i int) {
	c.t.Helper()
	o := c.opts[i]
	n, err := server.NewServer(&o)
	if err != nil {
		c.t.Fatal(err)
	}
	n.Start()
	if !n.ReadyForConnections(within) {
		c.t.Fatalf("node %d is not ready", i)
	}
	c.opts[i].Port = n.Addr().(*net.TCPAddr).Port
	c.nodes[i] = n
}

func (c *cluster) stop(i int) {
	c.nodes[i].Shutdown()
	c.nodes[i].WaitForShutdown()
}

func (c *cluster) url() string {
	s := ""
	for i := range c.nodes {
		s += fmt.Sprintf(",nats://127.0.0.1:%d", c.opts[i].Port)
	}
	return s[1:]
}

// While nodes go and come back one after another: every append that was acknowledged is followed, in order, without
// gaps; every message sent is consumed; the shard keeps its owner, or changes it by the rules.
func TestClusterLosesNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three servers")
	}
	cl := startCluster(t)
	var c *Conn
	eventually(t, "a cluster with a leader", func() bool {
		var err error
		c, err = Dial(t.Context(), Options{URL: cl.url(), Replicas: 3}, testLog(t))
		return err == nil
	})
	t.Cleanup(func() { c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var l *Log
	eventually(t, "a log of three replicas", func() (ok bool) {
		var err error
		l, err = c.OpenLog(ctx, LogConfig{Stream: "x-EVENTS-0", Subject: "x.events.0", MaxBytes: 1 << 30})
		return err == nil
	})
	w := openWork(t, c, 1000)
	w.ackWait = 2 * time.Second
	kv := openBucket(t, c)
	s, err := Own(ctx, kv, "frontier.0", OwnOptions{Owner: "a", Term: 10 * time.Second, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)

	acked := make(map[uint64]uint64) // by sequence: the number appended
	followed := make(map[uint64]uint64)
	var at atomic.Uint64
	fctx, stopFollowing := context.WithCancel(ctx)
	follows := make(chan error, 1)
	go func() {
		var last uint64
		follows <- l.Follow(fctx, Position{}, func(batch []Entry) error {
			for _, e := range batch {
				if e.Seq != last+1 {
					return fmt.Errorf("%d after %d", e.Seq, last)
				}
				last = e.Seq
				followed[e.Seq] = binary.BigEndian.Uint64(e.Data)
			}
			at.Store(last)
			return nil
		})
	}()
	var consumed sync.Map
	cctx, stopConsuming := context.WithCancel(ctx)
	consumes := make(chan error, 1)
	go func() {
		consumes <- w.Consume(cctx, "x.pages.0", "i-0", s.Epoch(), ConsumeOptions{}, func(_ context.Context, batch []Message) error {
			for _, m := range batch {
				consumed.Store(binary.BigEndian.Uint64(m.Data), true)
			}
			return nil
		})
	}()
	var done atomic.Bool
	var sent uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := uint64(1); !done.Load(); n++ {
			data := binary.BigEndian.AppendUint64(nil, n)
			seq, err := l.Append(ctx, data)
			if err == nil {
				acked[seq] = n
				err = w.Send(ctx, "x.pages.0", data)
			}
			if err != nil {
				t.Error(err)
				return
			}
			sent = n
		}
	})
	for i := range cl.nodes {
		time.Sleep(300 * time.Millisecond)
		cl.stop(i)
		time.Sleep(300 * time.Millisecond)
		cl.start(i)
		time.Sleep(time.Second) // it catches up: two nodes away at once would be a majority
	}
	done.Store(true)
	wg.Wait()
	var last uint64
	eventually(t, "the end of the log", func() bool { last, err = l.Last(ctx); return err == nil })
	for end := time.Now().Add(3 * within); at.Load() < last && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	stopFollowing()
	if err := <-follows; err != nil {
		t.Fatalf("Follow = %v", err)
	}
	lost := 0
	for seq, n := range acked {
		if followed[seq] != n {
			lost++
		}
	}
	if lost > 0 || at.Load() != last {
		t.Errorf("of %d appends acknowledged %d were not followed; followed to %d of %d", len(acked), lost, at.Load(), last)
	}
	missing := func() (n int) {
		for i := uint64(1); i <= sent; i++ {
			if _, ok := consumed.Load(i); !ok {
				n++
			}
		}
		return n
	}
	for end := time.Now().Add(3 * within); missing() > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := missing(); n > 0 {
		t.Errorf("%d of %d messages were not consumed", n, sent)
	}
	stopConsuming()
	if err := <-consumes; err != nil && !errors.Is(err, ErrFenced) {
		t.Errorf("Consume = %v", err)
	}
	if !s.Valid() {
		t.Error("the owner lost the shard while a majority was there")
	}
	t.Logf("%d appended, last sequence %d", len(acked), last)
}
