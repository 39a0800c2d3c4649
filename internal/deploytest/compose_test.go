//go:build external

package deploytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/internal/testaid"
)

// image is what the tests build and keep: with Docker's cache, the next build is fast.
const image = "curtsytest"

var (
	buildOnce  sync.Once
	imageBuilt bool // set in buildOnce
)

// buildImage makes the image once for all tests, like a machine that cannot pull images.
func buildImage(t *testing.T) {
	t.Helper()
	buildOnce.Do(func() {
		build(t) // a failure ends this test, and the other tests wait here for the result
		imageBuilt = true
	})
	if !imageBuilt {
		t.Fatal("the image could not be built")
	}
}

func build(t *testing.T) {
	t.Helper()
	began := time.Now()
	// The images that had these names before would remain without a name.
	names := []string{image, image + "-build"}
	var old []string
	for _, name := range names {
		// An error means that there is none: nothing to remove.
		id, _ := try("docker", "image", "inspect", "-f", "{{.Id}}", name)
		old = append(old, strings.TrimSpace(string(id)))
	}
	run(t, filepath.Join(root, "deploy", "build-image"))
	for i, name := range names {
		args := []string{"build", "-q", "-f", "deploy/Dockerfile", "--build-arg", "BUILD_IMAGE=curtsy-build", "-t", name}
		if i == 1 { // the same again, so that the build stage has a name
			args = append(args, "--target", "build")
		}
		// The build needs no network, and here it may have none.
		id := run(t, "docker", append(args, "--network", "none", ".")...)
		if old[i] != "" && old[i] != strings.TrimSpace(string(id)) {
			_, _ = try("docker", "image", "rm", old[i]) // if it is in use, it stays
		}
	}
	t.Logf("image built in %v", time.Since(began).Round(time.Second))
}

// composition is a compose file whose containers run.
type composition struct {
	t       *testing.T
	project string
	command []string // docker-compose, or docker compose
	env     []string
	ports   [3]int // of loopback, at which its NATS servers are reached
}

// compose starts the services of a file of deploy, or of several with blanks between them, under a
// separate project name, with env in its environment. At the end of the test everything of it is
// removed.
func compose(t *testing.T, file string, env []string, args ...string) *composition {
	t.Helper()
	c := &composition{t: t, project: fmt.Sprintf("curtsytest-%08x", rand.Uint32()), command: []string{"docker-compose"}}
	if _, err := exec.LookPath("docker-compose"); err != nil {
		c.command = []string{"docker", "compose"}
	}
	c.command = append(c.command, "-p", c.project)
	for _, name := range strings.Fields(file) {
		c.command = append(c.command, "-f", filepath.Join("deploy", name))
	}
	for i, name := range []string{"NATS_PORT", "NATS_PORT_2", "NATS_PORT_3"} {
		c.ports[i] = freePort(t)
		env = append(env, fmt.Sprint(name, "=", c.ports[i]))
	}
	env = append([]string{"IMAGE=" + image, "NATS_IMAGE=" + image}, env...)
	t.Cleanup(func() {
		if t.Failed() {
			logs, err := c.try("logs", "--no-color", "--tail=40")
			t.Logf("%s\n%s(%v)", ps(c.project), logs, err)
		}
		if _, err := c.try("down", "-v", "--remove-orphans"); err != nil {
			t.Errorf("not everything could be removed: %v", err)
		}
	})
	for n := range 5 {
		c.env = environ(append(env, "SUBNET="+freeSubnet(t))...)
		_, err := c.try(append([]string{"up", "-d"}, args...)...)
		if err == nil {
			return c
		}
		// Another network has the range, which is not visible in the interfaces of this machine.
		if n == 4 || !strings.Contains(err.Error(), "verlaps with other") {
			t.Fatal(err)
		}
	}
	panic("unreachable")
}

func (c *composition) try(args ...string) ([]byte, error) {
	args = slices.Concat(c.command, args)
	return tryEnv(c.env, args[0], args[1:]...)
}

// ps lists the containers of a project for readers of a failure.
func ps(project string) string {
	out, err := try("docker", "ps", "-a", "--filter", "label=com.docker.compose.project="+project,
		"--format", "{{.Names}}\t{{.Status}}")
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// container has the fields that the tests read from docker inspect.
type container struct {
	ID    string
	State struct {
		Status    string
		Pid       int
		ExitCode  int
		StartedAt string
		Health    *struct{ Status string }
	}
	Config struct{ Labels map[string]string }
}

func (c container) service() string { return c.Config.Labels["com.docker.compose.service"] }

// well reports whether the container is healthy, or has ended without an error if it is a job that
// ends.
func (c container) well() bool {
	if c.State.Health == nil {
		return c.State.Status == "exited" && c.State.ExitCode == 0
	}
	return c.State.Status == "running" && c.State.Health.Status == "healthy"
}

func (c *composition) containers() []container {
	c.t.Helper()
	ids := strings.Fields(string(run(c.t, "docker", "ps", "-aq", "--filter", "label=com.docker.compose.project="+c.project)))
	if len(ids) == 0 {
		c.t.Fatal("there are no containers")
	}
	var cs []container
	if err := json.Unmarshal(run(c.t, "docker", append([]string{"inspect"}, ids...)...), &cs); err != nil {
		c.t.Fatal(err)
	}
	return cs
}

// healthy waits until every container is healthy. It returns the first container of each service.
func (c *composition) healthy() (all map[string]container) {
	c.t.Helper()
	testaid.Until(c.t, "all containers are healthy", func() bool {
		all = map[string]container{}
		sick := 0
		for _, k := range c.containers() {
			all[k.service()] = k
			if !k.well() {
				sick++
			}
		}
		return sick == 0
	}, func() string { return ps(c.project) })
	return all
}

// TestExternalCompose starts what a person would start who tries Curtsy with Docker, and compares
// the crawl with what the web of the demo expects.
func TestExternalCompose(t *testing.T) {
	t.Parallel() // the crawl of the other test mostly waits for its delays, while this one compiles
	buildImage(t)
	port := freePort(t)
	env := []string{"PROMETHEUS_IMAGE=" + prometheusImage(t), fmt.Sprint("PROMETHEUS_PORT=", port), "COMPOSE_PROFILES=prometheus"}
	began := time.Now()
	c := compose(t, "compose.yaml", env, "--scale", "fetcher=3")
	all := c.healthy()
	t.Logf("healthy after %v", time.Since(began).Round(time.Second))
	nats := fmt.Sprintf("nats://127.0.0.1:%d", c.ports[0])
	o := observe(t, nats, "demo")
	o.done()
	t.Logf("crawled after %v", time.Since(began).Round(time.Second))

	at := []string{"--nats", nats, "--crawl", "demo"}
	o.checkDemo(at)
	hits := run(t, program(t, "curtsy"), append([]string{"search", "--json", "quiet harbor"}, at...)...)
	if !strings.Contains(string(hits), ".sim.test/") {
		t.Errorf("search finds %q", hits)
	}
	if out, err := c.try("exec", "-T", "indexer", "curtsy", "status"); err != nil || !strings.Contains(string(out), "stored") {
		t.Errorf("status inside a container: %s%v", out, err)
	}
	checkRequests(t, all["web"], 100*time.Millisecond)
	checkBoard(t, fmt.Sprintf("http://127.0.0.1:%d", port))
	c.stop()
}

// TestExternalComposeRobots starts the demo with a site that lets mobile robots in, by the line in
// its file. A robot brings the pages of the site, which are not requested.
func TestExternalComposeRobots(t *testing.T) {
	t.Parallel()
	buildImage(t)
	c := compose(t, "compose.yaml compose.robots.yaml", nil)
	all := c.healthy()
	nats := fmt.Sprintf("nats://127.0.0.1:%d", c.ports[0])
	observe(t, nats, "demo").done()

	const pages = 300
	m := status(t, "--nats", nats, "--crawl", "demo").MobileRobots
	if m == nil || m.Sent != 1 || m.Pages < pages*9/10 || m.Confirmed < 8 || m.Dropped != 0 {
		t.Errorf("the crawl counts %+v", m)
	}
	if runs, err := c.try("exec", "-T", "agenthost", "curtsy", "agenthost", "runs"); err != nil || strings.Count(string(runs), "\n") != 2 || !strings.Contains(string(runs), " done") {
		t.Errorf("agenthost ran %s%v", runs, err)
	}
	// What the robot brought was requested only by agenthost, from inside, and for the comparison.
	log := requestsTo(t, all["web"])
	outside := 0
	for _, r := range log {
		if r.Host == "h0000.sim.test" && !strings.Contains(r.UserAgent, "mobile robot") {
			outside++
		}
	}
	if outside > pages/2 {
		t.Errorf("%d of %d requests to the site came from the crawl", outside, len(log))
	}
	c.stop()
}

// checkDemo compares what a finished crawl stored and counted with what the web of the demo
// expects. at has the flags that connect a command to the crawl.
func (o *observer) checkDemo(at []string) {
	t := o.t
	t.Helper()
	st, pages := status(t, at...), storedPages(t, at...)
	if st.Queued != 0 || st.InFlight != 0 || int(st.Stored) != len(pages) {
		t.Errorf("done with %d queued, %d in flight, %d stored; there are %d pages", st.Queued, st.InFlight, st.Stored, len(pages))
	}
	demo := simweb.New(simweb.Demo())
	got := o.classes(demo.Expect("curtsy"))
	for u := range pages {
		got[u] = simweb.Stored
	}
	for _, line := range demo.Diff("curtsy", got) {
		t.Error(line)
	}
	for class, n := range map[simweb.Class]int64{simweb.Stored: st.Stored, simweb.Redirected: st.Redirected, simweb.Failed: st.Failed} {
		if is := count(got, class); is != n {
			t.Errorf("status counts %d %s, of the URLs the demo's web has it is %d", n, class, is)
		}
	}
	t.Logf("%d pages of %d URLs", len(pages), st.Discovered)
}

// stop stops the containers, which must end without an error.
func (c *composition) stop() {
	c.t.Helper()
	if _, err := c.try("stop"); err != nil {
		c.t.Fatal(err)
	}
	for _, k := range c.containers() {
		if k.State.ExitCode != 0 {
			c.t.Errorf("asked to stop, %s ended with %d", k.service(), k.State.ExitCode)
		}
	}
}

// classes explains each URL.
func (o *observer) classes(urls map[string]simweb.Expectation) map[string]simweb.Class {
	o.t.Helper()
	ctx := o.t.Context()
	got := map[string]simweb.Class{}
	for u, want := range urls {
		err := ask.Gather(ctx, o.q.NC, crawl.Names(o.spec.Name), "explain", map[string]string{"url": u}, o.spec.Shards, func(raw json.RawMessage) error {
			var x crawl.Explanation
			if err := json.Unmarshal(raw, &x); err != nil || !x.Seen {
				return err
			}
			got[u] = simweb.Class(x.State)
			return nil
		})
		if err != nil && !want.Optional { // for example one that is too long for a URL here
			o.t.Errorf("explain %s: %v", u, err)
		}
	}
	return got
}

func count(got map[string]simweb.Class, class simweb.Class) (n int64) {
	for c := range maps.Values(got) {
		if c == class {
			n++
		}
	}
	return n
}

// checkRequests checks the log of the container of the web against the promises, without the
// requests of its health checks.
func checkRequests(t *testing.T, web container, delay time.Duration) {
	t.Helper()
	log := requestsTo(t, web)
	log = slices.DeleteFunc(log, func(r requestlog.Request) bool { return strings.HasPrefix(r.UserAgent, "Go-http-client/") })
	if len(log) < 250 {
		t.Errorf("only %d requests: the log proves little", len(log))
	}
	bad := requestlog.Check(log, requestlog.CheckOptions{
		Delay: requestlog.Every(delay), Token: "curtsy",
		// The demo has no contact address.
		UserAgent: func(agent string) bool { return strings.HasPrefix(agent, "curtsy/") },
	})
	for _, v := range bad[:min(len(bad), 10)] {
		t.Error(v)
	}
	t.Logf("%d requests, %d violations", len(log), len(bad))
}

// requestsTo reads the log of the simulated web in a container.
func requestsTo(t *testing.T, web container) []requestlog.Request {
	t.Helper()
	file := filepath.Join(t.TempDir(), "requests.jsonl")
	run(t, "docker", "cp", web.ID+":/data/requests.jsonl", file)
	log, err := requestlog.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// lastPort is the port that freePort tried last.
var lastPort atomic.Int64

func init() { lastPort.Store(rand.Int64N(2500)) }

// freePort returns a port of loopback on which nobody listens. It is not one of those that the
// system assigns, so a server that was killed finds it free when it is started again.
func freePort(t *testing.T) int {
	t.Helper()
	for range 500 {
		port := int(30000 + lastPort.Add(1)%2500)
		if ln, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			ln.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// freeSubnet returns the first three bytes of a private network in which this machine has no
// interface.
func freeSubnet(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for {
		prefix := fmt.Sprintf("10.%d.%d", 128+rand.IntN(100), rand.IntN(256))
		_, subnet, err := net.ParseCIDR(prefix + ".0/24")
		if err != nil {
			t.Fatal(err)
		}
		taken := slices.ContainsFunc(addrs, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && (n.Contains(subnet.IP) || subnet.Contains(n.IP))
		})
		if !taken {
			return prefix
		}
	}
}
