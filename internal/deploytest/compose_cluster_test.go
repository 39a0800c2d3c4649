//go:build external

package deploytest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/testaid"
)

// clusterDelay makes the crawl of the demo take longer than the kills.
const clusterDelay = 3 * time.Second

// TestExternalComposeCluster starts the cluster as the first lines of its file describe, and kills
// the process of every container in turn while the web of the demo is crawled: as a crash, after
// which Docker restarts it, and with docker kill, after which the test restarts it. The result of
// the crawl must be the same as without kills.
func TestExternalComposeCluster(t *testing.T) {
	t.Parallel()
	program(t, "curtsy") // is built now, not between the kills
	buildImage(t)
	began := time.Now()
	const operator = "demo-operator"
	c := compose(t, "compose.cluster.yaml", []string{
		// Empty: the passwords of the demo.
		"OPERATOR_PASSWORD=" + operator, "FETCHER_PASSWORD=", "FRONTIER_PASSWORD=", "INDEXER_PASSWORD=", "FEEDER_PASSWORD=", "RENDERER_PASSWORD=", "ROUTE_PASSWORD=",
		fmt.Sprintf("SEED=--allow-private --delay=%v http://h0000.sim.test/", clusterDelay),
	})
	all := c.healthy()
	t.Logf("healthy after %v", time.Since(began).Round(time.Second))
	var urls []string
	for _, port := range c.ports {
		urls = append(urls, fmt.Sprintf("nats://operator:%s@127.0.0.1:%d", operator, port))
	}
	nats := strings.Join(urls, ",")
	o := observe(t, nats, "demo")

	var victims []string
	for name, k := range all {
		if k.State.Health != nil && name != "web" { // the others have ended, as they should
			victims = append(victims, name)
		}
	}
	slices.Sort(victims)
	// The web is killed early, and once: it forgets what it has refused already and refuses it
	// again, and nothing is requested more than three times.
	victims = append([]string{"web"}, victims...)
	if len(victims) != 11 {
		t.Errorf("there are %d services that stay: %v", len(victims), victims)
	}
	for _, name := range victims {
		o.unfinished(name)
		took := c.crash(name)
		t.Logf("%4.0fs: %s crashed, and was well after %.1fs", time.Since(began).Seconds(), name, took.Seconds())
	}
	for _, name := range []string{"fetcher-3", "frontier-2", "indexer-2", "nats-3"} {
		o.unfinished(name)
		took := c.killAndStart(name)
		t.Logf("%4.0fs: %s killed and started, and was well after %.1fs", time.Since(began).Seconds(), name, took.Seconds())
	}
	o.unfinished("all")
	o.done()
	t.Logf("crawled after %v", time.Since(began).Round(time.Second))
	o.checkDemo([]string{"--nats", nats, "--crawl", "demo"})
	checkRequests(t, all["web"], clusterDelay)
	if out, err := c.try("run", "--rm", "operator", "search", "quiet harbor"); err != nil || !strings.Contains(string(out), ".sim.test/") {
		t.Errorf("search as the operator: %s%v", out, err)
	}
	c.checkLogs()
	c.stop()
}

// unfinished fails if the crawl has no work left: then the kill of name would prove nothing.
func (o *observer) unfinished(name string) {
	o.t.Helper()
	o.until("answering before "+name+" is killed", func(ctx context.Context) (crawl.Status, bool, error) {
		st, err := asker.Status(ctx, o.q, o.spec)
		if err == nil && st.Queued+st.InFlight == 0 {
			o.t.Errorf("the crawl was over before %s was killed: it needs a longer delay", name)
		}
		return st, true, err
	})
}

func (c *composition) container(service string) container {
	c.t.Helper()
	all := c.containers()
	i := slices.IndexFunc(all, func(k container) bool { return k.service() == service })
	if i < 0 {
		c.t.Fatalf("there is no container of %s", service)
	}
	return all[i]
}

// crash ends the process of a container from outside Docker, so that the restart policy applies,
// and waits until it is healthy again.
func (c *composition) crash(service string) (took time.Duration) {
	c.t.Helper()
	was, began := c.container(service), time.Now()
	if err := syscall.Kill(was.State.Pid, syscall.SIGKILL); err != nil {
		c.t.Fatalf("kill %s, process %d (it takes root): %v", service, was.State.Pid, err)
	}
	c.back(service, was)
	return time.Since(began)
}

// killAndStart ends a container like its operator would, and starts it again.
func (c *composition) killAndStart(service string) (took time.Duration) {
	c.t.Helper()
	was, began := c.container(service), time.Now()
	run(c.t, "docker", "kill", was.ID)
	if k := c.container(service); k.State.Status != "exited" || k.State.ExitCode != 137 {
		c.t.Errorf("after docker kill %s is %s (%d)", service, k.State.Status, k.State.ExitCode)
	}
	run(c.t, "docker", "start", was.ID)
	c.back(service, was)
	return time.Since(began)
}

// back waits until a service has a new process, and every container is healthy.
func (c *composition) back(service string, was container) {
	c.t.Helper()
	sick := ""
	testaid.Until(c.t, "all are well after "+service+" was killed", func() bool {
		sick = ""
		for _, k := range c.containers() {
			if !k.well() || k.service() == service && k.State.StartedAt == was.State.StartedAt {
				sick = k.service()
			}
		}
		return sick == ""
	}, func() string { return sick + " is not well" })
}

// checkLogs looks for lines that no log may have, whatever is killed.
func (c *composition) checkLogs() {
	c.t.Helper()
	out, err := c.try("logs", "--no-color")
	if err != nil {
		c.t.Fatal(err)
	}
	bad := 0
	for line := range strings.Lines(string(out)) {
		for _, word := range []string{"permissions violation", "authorization violation", "impolite", "panic"} {
			if strings.Contains(strings.ToLower(line), word) && bad < 10 {
				c.t.Error(line)
				bad++
			}
		}
	}
}
