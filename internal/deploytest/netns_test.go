//go:build external

package deploytest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lab is a few simulated machines, which are network namespaces, connected by switches in a further
// namespace. Nothing leads out of it.
type lab struct {
	t      *testing.T
	prefix string // of the names of the namespaces
	hub    string // namespace of the switches
	n      int    // machines so far
}

// network is a switch to which machines are connected, with its own addresses.
type network struct {
	name   string // of the switch, and of the interface of a machine on it
	subnet int    // third byte of addresses
}

var (
	bus    = network{"bus", 1}    // leads to NATS
	island = network{"island", 1} // part of the bus, behind a cable that can be cut
	webnet = network{"web", 2}    // leads to the sites
)

// machine is one namespace. Its address on each network ends with its number.
type machine struct {
	l        *lab
	name, ns string
	number   int
}

const ourPrefix = "curtsytest-"

// ourMark begins the names of everything that survives a process that is killed.
func ourMark() string { return fmt.Sprint(ourPrefix, os.Getpid()) }

// leftBehind reports whether a name was given by a test that does not run any more.
func leftBehind(name string) bool {
	mark, ours := strings.CutPrefix(name, ourPrefix)
	pid, _, _ := strings.Cut(mark, "-")
	n, err := strconv.Atoi(pid)
	return ours && err == nil && unix.Kill(n, 0) == unix.ESRCH
}

// newLab makes the switches. They and all machines are removed with the test; those of a test that
// was killed are removed by the next test.
func newLab(t *testing.T) *lab {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		t.Fatalf("this test makes network namespaces: run it as root, with iproute2 installed (%v)", err)
	}
	names, err := filepath.Glob("/run/netns/" + ourPrefix + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range names {
		if old = filepath.Base(old); leftBehind(old) {
			_, _ = try("ip", "netns", "delete", old) // another test may remove it at the same time
		}
	}
	l := &lab{t: t, prefix: fmt.Sprintf("%s-%06x-", ourMark(), time.Now().UnixNano()>>10&0xffffff)}
	l.hub = l.namespace("hub")
	for _, n := range []network{bus, island, webnet} {
		l.ip("-n", l.hub, "link", "add", n.name, "type", "bridge")
		l.ip("-n", l.hub, "link", "set", n.name, "up")
	}
	l.ip("-n", l.hub, "link", "add", cable, "type", "veth", "peer", "name", "landing")
	l.ip("-n", l.hub, "link", "set", cable, "master", bus.name, "up")
	l.ip("-n", l.hub, "link", "set", "landing", "master", island.name, "up")
	return l
}

// cable is the port of the bus to which the island is connected.
const cable = "cable"

func (l *lab) ip(args ...string) {
	l.t.Helper()
	run(l.t, "ip", args...)
}

// namespace makes a namespace that is removed with the test.
func (l *lab) namespace(name string) string {
	l.t.Helper()
	ns := l.prefix + name
	l.ip("netns", "add", ns)
	l.t.Cleanup(func() {
		if _, err := try("ip", "netns", "delete", ns); err != nil {
			l.t.Error(err)
		}
	})
	return ns
}

// machine makes a machine that is connected to the networks.
func (l *lab) machine(name string, networks ...network) *machine {
	l.t.Helper()
	l.n++
	m := &machine{l: l, name: name, ns: l.namespace(name), number: l.n}
	l.ip("-n", m.ns, "link", "set", "lo", "up")
	for _, n := range networks {
		l.ip("-n", l.hub, "link", "add", m.port(n), "type", "veth", "peer", "name", n.name, "netns", m.ns)
		l.ip("-n", l.hub, "link", "set", m.port(n), "master", n.name, "up")
		l.ip("-n", m.ns, "address", "add", m.addr(n)+"/24", "dev", n.name)
		l.ip("-n", m.ns, "link", "set", n.name, "up")
	}
	return m
}

// port returns the name of the end of a machine's cable at the switch.
func (m *machine) port(n network) string { return fmt.Sprintf("%s%d", n.name, m.number) }

// addr returns the address of the machine on a network.
func (m *machine) addr(n network) string { return fmt.Sprintf("10.77.%d.%d", n.subnet, m.number) }

// cut disconnects the machine's cable from the switch: what is sent at either end is lost. Neither
// end notices: both see a working link, and no answer.
func (m *machine) cut(n network) {
	m.l.t.Helper()
	m.l.ip("-n", m.l.hub, "link", "set", m.port(n), "nomaster")
}

func (m *machine) heal(n network) {
	m.l.t.Helper()
	m.l.ip("-n", m.l.hub, "link", "set", m.port(n), "master", n.name)
}

// cutIsland separates the machines on the island from those on the bus; healIsland connects them
// again.
func (l *lab) cutIsland() { l.t.Helper(); l.ip("-n", l.hub, "link", "set", cable, "nomaster") }

func (l *lab) healIsland() { l.t.Helper(); l.ip("-n", l.hub, "link", "set", cable, "master", bus.name) }

// do runs f on this machine: sockets that f opens, and processes that it starts, stay there. Other
// goroutines that f starts do not run on this machine.
func (m *machine) do(f func()) {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		panic(err)
	}
	defer home.Close()
	there, err := os.Open("/run/netns/" + m.ns)
	if err != nil {
		panic(err)
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		panic(err)
	}
	defer func() { // also when f ends the test
		if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(err)
		}
		runtime.UnlockOSThread()
	}()
	f()
}

// start starts a daemon on this machine, see start.
func (m *machine) start(bin string, args ...string) (p *process) {
	m.l.t.Helper()
	m.do(func() { p = start(m.l.t, m.name, bin, args...) })
	return p
}

// curtsy runs a command of curtsy on this machine to its end.
func (m *machine) curtsy(args ...string) (out []byte) {
	m.l.t.Helper()
	m.do(func() { out = run(m.l.t, program(m.l.t, "curtsy"), args...) })
	return out
}

// dial opens a connection from this machine.
func (m *machine) dial(ctx context.Context, addr string) (c net.Conn, err error) {
	m.do(func() { c, err = new(net.Dialer).DialContext(ctx, "tcp", addr) })
	return c, err
}

// reaches reports whether a connection to addr can be opened from here.
func (m *machine) reaches(addr string) bool {
	ctx, cancel := context.WithTimeout(m.l.t.Context(), 2*time.Second)
	defer cancel()
	c, err := m.dial(ctx, addr)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// get requests a path from the admin port of the daemon on this machine.
func (m *machine) get(path string) (*http.Response, error) {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, addr string) (net.Conn, error) { return m.dial(ctx, addr) },
	}}
	return client.Get("http://" + adminAddr + path)
}

// adminAddr is the admin address of every daemon of a lab: each is alone on its machine.
const adminAddr = "127.0.0.1:8080"

// metric returns the sum of all samples of a metric of the daemon on this machine, whatever their
// labels are.
func (m *machine) metric(name string) (sum float64) {
	m.l.t.Helper()
	resp, err := m.get("/metrics")
	if err != nil {
		m.l.t.Fatalf("metrics of %s: %v", m.name, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		m.l.t.Fatalf("metrics of %s: %v", m.name, err)
	}
	found := false
	for line := range strings.Lines(string(text)) {
		sample, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, _, _ := strings.Cut(sample, "{"); n == name {
			v, err := strconv.ParseFloat(value, 64) // no label of ours has a space in it
			if err != nil {
				m.l.t.Fatalf("metrics of %s: %q: %v", m.name, line, err)
			}
			sum, found = sum+v, true
		}
	}
	if !found {
		m.l.t.Fatalf("%s has no metric %s", m.name, name)
	}
	return sum
}
