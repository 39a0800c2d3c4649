//go:build external

package deploytest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/testaid"
)

// The roles of the members of a rig.
const (
	roleNATS     = "nats"
	roleFrontier = "frontier"
	roleFetcher  = "fetcher"
	roleIndexer  = "indexer"
)

// rig is one crawl as it runs on many machines: three NATS servers that replicate, and any number
// of daemons. Each is a process with its own name and directory, which survive the process.
type rig struct {
	t         *testing.T
	crawl     string
	dir       string
	nats      []*member
	ports     []natsPorts // of nats
	members   []*member   // the daemons, in the order in which they were added
	*observer             // from create on
}

// member is a process that can be killed and started again with the same name, directory and
// arguments.
type member struct {
	t          *testing.T
	role, name string // frontier, frontier-2
	dir        string // the directory with its files; its output is in dir.log
	bin        string
	args       []string
	p          *process // of the last start
}

type natsPorts struct{ clients, routes, monitor int }

// newRig starts the NATS servers, under dir. At the end of the test all members must still run, or
// must have been killed, and must end without an error when they are asked to.
func newRig(t *testing.T, crawl, dir string) *rig {
	t.Helper()
	r := &rig{t: t, crawl: crawl, dir: dir}
	t.Cleanup(r.stop)
	for range 3 {
		r.ports = append(r.ports, natsPorts{lastingPort(t), lastingPort(t), lastingPort(t)})
	}
	for i := range r.ports {
		name := fmt.Sprintf("%s-%d", roleNATS, i+1)
		m := &member{t: t, role: roleNATS, name: name, dir: filepath.Join(dir, name), bin: "nats-server"}
		m.args = []string{"-c", filepath.Join(m.dir, "nats.conf")}
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.args[1], []byte(r.natsConf(i)), 0o644); err != nil {
			t.Fatal(err)
		}
		r.nats = append(r.nats, m)
		m.start()
	}
	r.awaitReplicas()
	return r
}

// lastingPort returns a port of loopback that is free now, and that is not assigned by the system
// to an outgoing connection while its server is down: those are from 32768 up, unless Linux is
// configured differently.
func lastingPort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10000 + rand.IntN(22000)
		if ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			ln.Close()
			return port
		}
	}
	t.Fatal("no port of loopback is free")
	return 0
}

// natsConf returns the configuration of the ith server, with the settings of deploy's configuration
// that matter for the tests.
func (r *rig) natsConf(i int) string {
	var routes []string
	for _, p := range r.ports {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", p.routes))
	}
	return fmt.Sprintf(`server_name: nats-%d
listen: "127.0.0.1:%d"
http: "127.0.0.1:%d"
jetstream { store_dir: "%s", sync_interval: always }
cluster { name: rig, listen: "127.0.0.1:%d", routes: [%s] }
`, i+1, r.ports[i].clients, r.ports[i].monitor, filepath.Join(r.dir, fmt.Sprintf("nats-%d", i+1), "js"), r.ports[i].routes, strings.Join(routes, ", "))
}

// at returns the flags that connect a command to the crawl.
func (r *rig) at() []string {
	var urls []string
	for _, p := range r.ports {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", p.clients))
	}
	return []string{"--nats", strings.Join(urls, ","), "--nats-replicas", "3", "--crawl", r.crawl}
}

// add starts another daemon of a role.
func (r *rig) add(role string, args ...string) *member {
	r.t.Helper()
	n := 1
	for _, m := range r.members {
		if m.role == role {
			n++
		}
	}
	name := fmt.Sprintf("%s-%d", role, n)
	m := &member{t: r.t, role: role, name: name, dir: filepath.Join(r.dir, name), bin: role}
	m.args = slices.Concat(r.at(), []string{"--instance", name, "--listen", "off"}, args)
	if role != roleFetcher {
		m.args = append(m.args, "--dir", m.dir)
	}
	r.members = append(r.members, m)
	m.start()
	return m
}

// create creates the crawl, with flags and seeds like those of curtsy seed.
func (r *rig) create(args ...string) {
	r.t.Helper()
	run(r.t, program(r.t, "curtsy"), slices.Concat([]string{"seed"}, r.at(), args)...)
	r.observer = observe(r.t, r.at()[1], r.crawl)
}

// all returns the members of every role.
func (r *rig) all() []*member { return slices.Concat(r.nats, r.members) }

// stop ends every daemon, and then the servers. If the test failed, it shows the end of their
// output.
func (r *rig) stop() {
	for _, m := range slices.Backward(r.all()) {
		if m.p != nil {
			m.p.stop() // also reports how it ended, if it has ended already
		}
	}
	if r.t.Failed() {
		for _, m := range r.all() {
			text, _ := os.ReadFile(m.dir + ".log")
			r.t.Logf("%s wrote, at last:\n%s", m.name, tail(text))
		}
	}
}

// checkRunning ends the test if a member ended that was not stopped or killed.
func (r *rig) checkRunning() {
	r.t.Helper()
	for _, m := range r.all() {
		if m.p.over() && !m.p.killed() && !m.p.asked {
			r.t.Fatalf("%s ended by itself: %v; its log is %s", m.name, m.p.err, m.dir+".log")
		}
	}
}

// start starts the process, for the first time or again.
func (m *member) start() {
	m.t.Helper()
	m.p = launch(m.t, m.dir+".log", m.name, m.bin, m.args...)
}

// roll restarts all members, one process after the other: each is stopped, and the next one only
// when it runs again.
func (r *rig) roll() {
	r.t.Helper()
	for i, m := range r.nats {
		m.stop()
		m.start()
		r.awaitReplicas()
		r.t.Logf("NATS node %d of %d is back", i+1, len(r.nats))
	}
	for _, m := range r.members {
		if !m.running() {
			continue
		}
		m.stop()
		m.start()
		r.awaitReplicas()
		r.until("all shards answer after "+m.name+" was restarted", func(ctx context.Context) (crawl.Status, bool, error) {
			st, err := asker.Status(ctx, r.q, r.spec)
			return st, err == nil && len(st.Shards) == r.spec.Shards, err
		})
	}
}

// kill ends the process like a power cut.
func (m *member) kill() { m.p.kill() }

// stop asks the process to end and waits until it has ended.
func (m *member) stop() {
	m.t.Helper()
	m.p.stop()
}

func (m *member) running() bool { return m.p != nil && !m.p.over() }

// awaitReplicas waits until any single NATS server may fail.
func (r *rig) awaitReplicas() {
	r.t.Helper()
	behind := ""
	testaid.Until(r.t, "NATS is whole", func() bool {
		r.checkRunning()
		behind = r.behind()
		return behind == ""
	}, func() string { return behind })
}

// behind states why not every single NATS server may fail: one does not run or is not healthy, a
// stream or consumer has no leader, a replica does not have everything that its leader has. ""
// means that there is no such reason.
func (r *rig) behind() string {
	// Streams, consumers and the log of the servers themselves: whether they have a leader.
	led := map[string]bool{}
	for i, m := range r.nats {
		if !m.running() {
			return m.name + " does not run"
		}
		if err := r.monitor(i, "healthz", nil); err != nil {
			return fmt.Sprintf("%s is not well: %v", m.name, err)
		}
		var js jsz
		if err := r.monitor(i, "jsz?streams=true&consumers=true", &js); err != nil {
			return fmt.Sprintf("%s does not answer: %v", m.name, err)
		}
		groups := map[string]raftGroup{"the meta group": js.Meta}
		for _, a := range js.Accounts {
			for _, s := range a.Streams {
				groups["stream "+s.Name] = s.Cluster
				for _, c := range s.Consumers {
					groups["consumer "+s.Name+" "+c.Name] = c.Cluster
				}
			}
		}
		for name, g := range groups {
			led[name] = led[name] || g.Leader != ""
			if g.Leader != m.name {
				continue // only the leader knows how far the replicas are
			}
			for _, p := range g.Replicas {
				if p.Offline || !p.Current {
					return fmt.Sprintf("%s: %s lacks %d entries (offline: %v)", name, p.Name, p.Lag, p.Offline)
				}
			}
		}
	}
	for name, ok := range led {
		if !ok {
			return name + " has no leader"
		}
	}
	return ""
}

// jsz has the fields that are read from a NATS server's report on JetStream.
type jsz struct {
	Meta     raftGroup `json:"meta_cluster"`
	Accounts []struct {
		Streams []struct {
			Name      string
			Cluster   raftGroup
			Consumers []struct {
				Name    string
				Cluster raftGroup
			} `json:"consumer_detail"`
		} `json:"stream_detail"`
	} `json:"account_details"`
}

type raftGroup struct {
	Leader   string
	Replicas []struct {
		Name             string
		Current, Offline bool
		Lag              uint64
	}
}

// monitor requests something from the monitoring port of the ith NATS server.
func (r *rig) monitor(i int, what string, into any) error {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/%s", r.ports[i].monitor, what))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", what, resp.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
