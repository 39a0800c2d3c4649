package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// nodeOfChild tells a test process to be a NATS server, and which.
const nodeOfChild = "QUEUE_TEST_NODE"

// node is one server of a cluster or, without routes, an embedded one.
type node struct {
	Name, Dir     string
	Port, Cluster int
	Routes        []string
}

// child is a server until its standard input ends, as it does when its parent dies.
func child(spec string) {
	var o node
	if err := json.Unmarshal([]byte(spec), &o); err != nil {
		panic(err)
	}
	if len(o.Routes) == 0 {
		s, err := embedded.Start(embedded.Options{Dir: o.Dir, Listen: fmt.Sprint("127.0.0.1:", o.Port), User: "u", Password: "p", MaxStore: 4 << 30, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			panic(err)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		s.Shutdown()
		return
	}
	n, err := server.NewServer(&server.Options{
		ServerName: o.Name, Host: "127.0.0.1", Port: o.Port,
		JetStream: true, StoreDir: o.Dir, JetStreamMaxStore: 4 << 30, JetStreamMaxMemory: 64 << 20,
		Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: o.Cluster},
		Routes:  server.RoutesFromStr(strings.Join(o.Routes, ",")), NoSigs: true, NoLog: true,
	})
	if err != nil {
		panic(err)
	}
	n.Start()
	_, _ = io.Copy(io.Discard, os.Stdin)
	n.Shutdown()
}

// cluster is three NATS servers that replicate, each in a process of its own, so
// that it can be killed.
type cluster struct {
	t     testing.TB
	opts  [3]node
	nodes [3]*exec.Cmd
}

func startCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{t: t}
	var routes []string
	for i := range c.opts {
		o := node{Name: fmt.Sprint("n", i), Dir: t.TempDir(), Port: freePort(t), Cluster: freePort(t)}
		c.opts[i], routes = o, append(routes, fmt.Sprintf("nats://127.0.0.1:%d", o.Cluster))
	}
	t.Cleanup(func() {
		for i := range c.nodes {
			c.kill(i)
		}
	})
	for i := range c.opts {
		c.opts[i].Routes = routes
		c.start(i)
	}
	return c
}

func (c *cluster) start(i int) { c.nodes[i] = c.opts[i].start() }

// kill ends a node without a word.
func (c *cluster) kill(i int) {
	if n := c.nodes[i]; n != nil {
		kill(n)
		c.nodes[i] = nil
	}
}

// start runs the server in a process of its own.
func (o node) start() *exec.Cmd {
	spec, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeOfChild+"="+string(spec))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// lastPort is what freePort tried last.
var lastPort atomic.Int64

func init() { lastPort.Store(rand.Int64N(20000)) }

// freePort is one that nobody listens on. It is none of those that the system gives to whoever asks
// for any, so a server that is away for a while finds it free when it comes back.
func freePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := int(10000 + lastPort.Add(1)%20000)
		if ln, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			ln.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// steady is an address for a server that goes and comes back.
func steady(t testing.TB) string {
	t.Helper()
	return fmt.Sprint("127.0.0.1:", freePort(t))
}

func (c *cluster) url() string {
	var urls []string
	for _, o := range c.opts {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return strings.Join(urls, ",")
}

// dial connects once the cluster can do something.
func (c *cluster) dial() *Conn {
	c.t.Helper()
	var conn *Conn
	eventually(c.t, "a cluster with a leader", func() bool {
		var err error
		conn, err = Dial(c.t.Context(), Options{URL: c.url(), Replicas: 3}, testLog(c.t))
		return err == nil
	})
	c.t.Cleanup(func() { conn.Close() })
	return conn
}

// While nodes are killed one after another, and then two at once for longer than a term, all that
// was acknowledged arrives, in order, and nobody is stuck.
func TestClusterLosesNodes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts three servers")
	}
	cl := startCluster(t)
	c := cl.dial()
	u := use(t, c, 100, 10*time.Second)
	for i := range cl.nodes {
		cl.kill(i)
		killed := time.Now()
		u.goesOn(t, 20)
		t.Logf("all goes on %v after a node was killed", time.Since(killed).Round(time.Millisecond))
		cl.start(i)
		// two nodes away at once would be a majority
		cl.await(c, "x-EVENTS-0", "x-PAGES", "KV_x-CRAWL", "KV_x-MEMBERS")
	}
	cl.kill(0)
	cl.kill(1)
	eventually(t, "the owner without a majority to stop by itself", func() bool { return !u.owner.Valid() })
	time.Sleep(5 * time.Second)
	cl.start(0)
	cl.start(1)
	began := time.Now()
	u.goesOn(t, 20)
	t.Logf("all goes on %v after the majority was back", time.Since(began).Round(time.Millisecond))
	u.finish(t)
}

// await waits until all replicas of the streams have all there is.
func (c *cluster) await(conn *Conn, streams ...string) {
	c.t.Helper()
	for _, name := range streams {
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
			s, err := conn.JS.Stream(ctx, name)
			cancel()
			if err == nil {
				ready := 0
				for _, r := range s.CachedInfo().Cluster.Replicas {
					if r.Current && !r.Offline {
						ready++
					}
				}
				if ready == 2 {
					break
				}
			}
			if time.Now().After(end) {
				c.t.Fatalf("the replicas of %s do not catch up: %v", name, err)
			}
		}
	}
}

// killLeader kills the node that leads a stream, and starts it again after a while.
func (c *cluster) killLeader(conn *Conn, stream string, away time.Duration) (back chan struct{}) {
	c.t.Helper()
	s, err := conn.JS.Stream(c.t.Context(), stream)
	if err != nil {
		c.t.Fatal(err)
	}
	i := slices.IndexFunc(c.opts[:], func(o node) bool { return o.Name == s.CachedInfo().Cluster.Leader })
	c.kill(i)
	back = make(chan struct{})
	go func() {
		defer close(back)
		time.Sleep(away)
		c.start(i)
	}()
	return back
}

// The leader of what is being written dies: snapshots come through whole, members stay members,
// watches go on, and an owner stays the owner.
func TestClusterLosesLeaders(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts three servers")
	}
	cl := startCluster(t)
	a, b := cl.dial(), cl.dial()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var snaps *Snapshots
	eventually(t, "an object store", func() (ok bool) {
		var err error
		snaps, err = a.OpenSnapshots(ctx, SnapshotConfig{Bucket: "x-CHECKPOINTS", MaxBytes: 4 << 20})
		return err == nil
	})
	members, owners := openMembers(t, a), openBucket(t, a)

	const term = 10 * time.Second
	var mu sync.Mutex
	told := map[string][][]string{}
	var seen map[string]Record
	var wg sync.WaitGroup
	defer wg.Wait()
	wctx, stop := context.WithCancel(ctx)
	defer stop()
	for name, kv := range map[string]jetstream.KeyValue{"a": members, "b": openMembers(t, b)} {
		wg.Go(func() {
			_ = Members(wctx, kv, MemberOptions{Kind: "frontier", Instance: name, Term: term, Log: testLog(t)}, func(l []string) {
				mu.Lock()
				defer mu.Unlock()
				told[name] = append(told[name], l)
			})
		})
	}
	watched := openBucket(t, b)
	wg.Go(func() {
		_ = WatchOwners(wctx, watched, "frontier", func(m map[string]Record) {
			mu.Lock()
			defer mu.Unlock()
			seen = m
		})
	})
	s, err := Own(ctx, owners, "frontier.0", OwnOptions{Owner: "a", Term: term, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	eventually(t, "both members", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(told["a"]) > 0 && len(told["a"][len(told["a"])-1]) == 2
	})

	data := noise(8 << 20)
	for i, stream := range []string{snaps.stream(), "KV_x-CRAWL"} {
		name := fmt.Sprint("cp-", i)
		var back chan struct{}
		start := time.Now()
		_, err := snaps.Put(ctx, name, int64(len(data)), func(w io.Writer) error {
			if _, err := w.Write(data[:4<<20]); err != nil {
				return err
			}
			back = cl.killLeader(b, stream, 2*time.Second)
			_, err := w.Write(data[4<<20:])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("put with a leader killed in the middle: %v", time.Since(start))
		// An election takes 4 to 9 s here; with two thirds of a term or more in hand the owner
		// mostly outlives it, and else goes on afterwards.
		t.Logf("the owner may act: %v", s.Valid())
		start = time.Now()
		for end := time.Now().Add(2 * term); ; {
			err := s.Update(ctx, func(r *Record) { r.Checkpoint = name })
			if err == nil {
				break
			}
			if errors.Is(err, ErrLost) || time.Now().After(end) {
				t.Fatalf("Update = %v", err)
			}
		}
		for end := time.Now().Add(2 * term); ; time.Sleep(10 * time.Millisecond) {
			mu.Lock()
			ok := seen["frontier.0"].Checkpoint == name
			mu.Unlock()
			if ok {
				break
			}
			if time.Now().After(end) {
				t.Fatal("the watch does not show the record")
			}
		}
		t.Logf("a change of the record was seen after %v", time.Since(start))
		<-back
		var got bytes.Buffer
		if err := snaps.Get(ctx, name, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
			t.Errorf("Get = %v, %d bytes", err, got.Len())
		}
		cl.await(a, snaps.stream(), "KV_x-CRAWL", "KV_x-MEMBERS")
	}
	time.Sleep(term / 2)
	mu.Lock()
	defer mu.Unlock()
	for name, lists := range told {
		if l := lists[len(lists)-1]; len(l) != 2 || len(lists) > 2 {
			t.Errorf("%s was told of %v, and nobody came or went after the start", name, lists)
		}
	}
}

// What a cluster says of a server that has not come yet is waited out, and in the end says what to
// do; what it says of one that is not to be had is not.
func TestOrStarting(t *testing.T) {
	for text, want := range map[string]bool{
		"no suitable peers for placement, peer offline":           true,
		"no suitable peers for placement, insufficient resources": false,
	} {
		err := streamError(jetstream.StreamConfig{Name: "x", Replicas: 3}, orStarting(&jetstream.APIError{Code: 400, ErrorCode: codeNoPeers, Description: text}))
		if Unanswered(err) != want || !strings.Contains(err.Error(), "start more NATS servers") {
			t.Errorf("%s: %v, waited out: %v", text, err, Unanswered(err))
		}
	}
}
