package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

	"github.com/curtsy/curtsy/internal/testaid"
)

// The tests of this file use a cluster of real NATS servers. Each server is a process of its own.

// nodeOfChild is an environment variable. It makes a test process a NATS server and describes that
// server.
const nodeOfChild = "QUEUE_TEST_NODE"

// node is one server of a cluster.
type node struct {
	Name, Dir     string
	Port, Cluster int
	Routes        []string
}

// child runs a server until its standard input ends, which happens when the parent process dies.
func child(spec string) {
	var o node
	if err := json.Unmarshal([]byte(spec), &o); err != nil {
		panic(err)
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

// cluster is three NATS servers that replicate. Each is a process of its own, so that a test can
// kill it.
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

// kill ends a node without a shutdown.
func (c *cluster) kill(i int) {
	if n := c.nodes[i]; n != nil {
		kill(n)
		c.nodes[i] = nil
	}
}

// start runs the server as a process of its own.
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

// lastPort is the port that freePort tried last.
var lastPort atomic.Int64

func init() { lastPort.Store(rand.Int64N(20000)) }

// freePort returns a port that nobody listens on. The system assigns ports from another range to
// programs that ask for any port, so a server that is down for a while finds its port free again.
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

func (c *cluster) url() string {
	var urls []string
	for _, o := range c.opts {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return strings.Join(urls, ",")
}

// dial connects once the cluster can execute requests.
func (c *cluster) dial() *Conn {
	c.t.Helper()
	var conn *Conn
	testaid.Until(c.t, "a cluster with a leader", func() bool {
		var err error
		conn, err = Dial(c.t.Context(), Options{URL: c.url(), Replicas: 3}, testLog(c.t))
		return err == nil
	})
	c.t.Cleanup(func() { conn.Close() })
	return conn
}

// While nodes are killed, everything that was acknowledged arrives in order and nobody is blocked
// for ever. The test kills one node. With testaid.Long it kills each node in turn, and then two at
// once for longer than a term.
func TestClusterLosesNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three servers")
	}
	cl := startCluster(t)
	c := cl.dial()
	u := use(t, c, 100, 10*time.Second, testaid.Until)
	if !testaid.Long {
		cl.kill(cl.leader(c, "x-EVENTS-0"))
		u.goesOn(t, 20)
		u.finish(t)
		return
	}
	for i := range cl.nodes {
		cl.kill(i)
		u.goesOn(t, 20)
		cl.start(i)
		// Killing the next node before this one has caught up would leave no majority.
		cl.await(c, "x-EVENTS-0", "x-PAGES", "KV_x-CRAWL", "KV_x-MEMBERS")
	}
	cl.kill(0)
	cl.kill(1)
	testaid.Until(t, "that the owner stops by itself without a majority", func() bool { return !u.owner.Valid() })
	cl.start(0)
	cl.start(1)
	u.goesOn(t, 20)
	u.finish(t)
}

// await waits until all replicas of the streams have all messages.
func (c *cluster) await(conn *Conn, streams ...string) {
	c.t.Helper()
	for _, name := range streams {
		testaid.Until(c.t, "that the replicas of "+name+" catch up", func() bool {
			s, err := conn.JS.Stream(c.t.Context(), name)
			if err != nil {
				return false
			}
			ready := 0
			for _, r := range s.CachedInfo().Cluster.Replicas {
				if r.Current && !r.Offline {
					ready++
				}
			}
			return ready == 2
		})
	}
}

// leader returns the node that leads a stream.
func (c *cluster) leader(conn *Conn, stream string) int {
	c.t.Helper()
	s, err := conn.JS.Stream(c.t.Context(), stream)
	if err != nil {
		c.t.Fatal(err)
	}
	return slices.IndexFunc(c.opts[:], func(o node) bool { return o.Name == s.CachedInfo().Cluster.Leader })
}

// The leader of the stream being written dies. Snapshots stay complete, members stay members,
// watches continue, and the owner stays the owner.
func TestClusterLosesLeaders(t *testing.T) {
	if !testaid.Long {
		t.Skip("long: set CURTSY_LONG=1")
	}
	cl := startCluster(t)
	a, b := cl.dial(), cl.dial()
	ctx := t.Context()
	var snaps *Snapshots
	testaid.Until(t, "an object store", func() (ok bool) {
		var err error
		snaps, err = a.OpenSnapshots(ctx, SnapshotConfig{Bucket: "x-CHECKPOINTS", MaxBytes: 4 << 20})
		return err == nil
	})
	members, owners := openMembers(t, a), openBucket(t, a)

	const term = 10 * time.Second
	var mu sync.Mutex
	lists := map[string][][]string{}
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
				lists[name] = append(lists[name], l)
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
	testaid.Until(t, "both members", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(lists["a"]) > 0 && len(lists["a"][len(lists["a"])-1]) == 2
	})

	data := noise(8 << 20)
	for i, stream := range []string{snaps.stream(), "KV_x-CRAWL"} {
		name := fmt.Sprint("cp-", i)
		killed := -1
		_, err := snaps.Put(ctx, name, int64(len(data)), func(w io.Writer) error {
			if _, err := w.Write(data[:4<<20]); err != nil {
				return err
			}
			killed = cl.leader(b, stream)
			cl.kill(killed)
			_, err := w.Write(data[4<<20:])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		testaid.Until(t, "that the owner writes its record", func() bool {
			err := s.Update(ctx, func(r *Record) { r.Checkpoint = name })
			if errors.Is(err, ErrLost) {
				t.Fatalf("Update = %v", err)
			}
			return err == nil
		})
		testaid.Until(t, "that the watch shows the record", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return seen["frontier.0"].Checkpoint == name
		})
		cl.start(killed)
		var got bytes.Buffer
		if err := snaps.Get(ctx, name, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
			t.Errorf("Get = %v, %d bytes", err, got.Len())
		}
		cl.await(a, snaps.stream(), "KV_x-CRAWL", "KV_x-MEMBERS")
	}
	words := func() uint64 {
		st, err := a.JS.Stream(ctx, "KV_x-MEMBERS")
		if err != nil {
			return 0
		}
		return st.CachedInfo().State.LastSeq
	}
	before := words()
	testaid.Until(t, "that the members speak three times each", func() bool { return words() >= before+6 })
	mu.Lock()
	defer mu.Unlock()
	for name, received := range lists {
		if l := received[len(received)-1]; len(l) != 2 || len(received) > 2 {
			t.Errorf("%s received %v, but nobody joined or left after the start", name, received)
		}
	}
}

// Some refusals of a cluster may mean that a server has not started yet. These are retried, and the
// final error says what to do. A refusal that cannot change is not retried.
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
