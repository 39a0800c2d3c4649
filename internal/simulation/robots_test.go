package simulation

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/fetcher/dispatch"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/agentserver"
	"github.com/curtsy/curtsy/pkg/atp"
)

// TestRobotSimulation is TestSimulation with sites that have servers for mobile robots: honest,
// faulty and hostile ones. The web, the services and the other faults of a seed are those of
// TestSimulation. SEEDS and FROM work as there.
func TestRobotSimulation(t *testing.T) {
	for _, seed := range seedsOf(t, keptRobotSeeds, 0, 2) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				w := newWorld(t, seed)
				w.agents = rand.New(rand.NewPCG(seed, 30))
				w.run()
			})
		})
	}
}

// keptRobotSeeds are like keptSeeds. These are cheap. Others take up to half a minute, because a
// robot is sent again after an hour, in which all services run.
var keptRobotSeeds = []uint64{5, 46, 24, 60, 6}

// robotKey is the key of the crawl.
type robotKey struct{ key ed25519.PrivateKey }

func newRobotKey() robotKey {
	return robotKey{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{30}, ed25519.SeedSize))}
}

func (k robotKey) Public() ed25519.PublicKey   { return k.key.Public().(ed25519.PublicKey) }
func (k robotKey) SignMessage(b []byte) []byte { return ed25519.Sign(k.key, b) }

// robot is what a fetcher sends; nil: no robots are sent. The module is never run.
func (w *world) robot() *fetcher.Robot {
	if w.agents == nil {
		return nil
	}
	robot, err := dispatch.NewRobot(newRobotKey(), []byte("\x00asm\x01\x00\x00\x00"))
	if err != nil {
		w.t.Fatal(err)
	}
	return robot
}

// hostileWays are those that every seed may have. The others cost much (Endless, Bomb, Drip), and
// have tests of their own in internal/e2e.
var hostileWays = []agentserver.Hostile{
	agentserver.Invented, agentserver.Elsewhere, agentserver.Altered, agentserver.AlteredTenth, agentserver.Unmarked, agentserver.TooMany,
	agentserver.Garbage, agentserver.WrongID, agentserver.WrongRange,
}

// addAgents gives some sites servers for mobile robots. The robots.txt of the others cannot name
// one.
func addAgents(r *rand.Rand, cfg *simweb.Config) {
	for i := range cfg.Hosts {
		b := cfg.Behaviors[i]
		if !namesSitemaps(b.Robots) && b.Robots != simweb.RobotsNone && b.Robots != simweb.RobotsFlapping || r.IntN(2) == 0 {
			continue
		}
		paths := [][]string{{"/"}, {"/"}, {"/"}, {"/guide/", "/notes/"}, {"/chain"}, {"/", "/guide/"}}[r.IntN(6)]
		for n, path := range paths {
			a := simweb.AgentServer{Paths: []string{path}, Behavior: agentserver.Behavior{
				Seed: r.Int64N(1000), Block: 512 << r.IntN(5), Keys: []string{mobile.KeyText(newRobotKey().Public())}, RetryAfter: time.Duration(1+r.IntN(30)) * time.Second,
			}}
			switch r.IntN(4) {
			case 0:
				a.Host = fmt.Sprintf("robots%d.sim.test", r.IntN(2))
				a.Port = 1000 + 10*i + n
			case 1: // with another site
				a.Host = fmt.Sprintf("h%04d.sim.test", r.IntN(cfg.Hosts))
				a.Port = 1000 + 10*i + n
			default:
				a.Port = 434 + n
			}
			if r.IntN(2) == 0 {
				a.Pace = time.Duration(r.IntN(2000)) * ms
			}
			if r.IntN(3) == 0 {
				a.Rate = 500 + r.IntN(5000)
			}
			if r.IntN(3) == 0 {
				a.Cuts = 1 + r.IntN(4)
			}
			if r.IntN(5) == 0 {
				a.Forgets = 1 + r.IntN(2)
			}
			if r.IntN(6) == 0 {
				a.Busy = 1
			}
			if r.IntN(3) == 0 {
				a.Hostile = hostileWays[r.IntN(len(hostileWays))]
			}
			b.Agents = append(b.Agents, a)
		}
		cfg.Behaviors[i] = b
	}
}

// agentHost is an agent server as the checks see it.
type agentHost struct {
	site   int
	origin string
	addr   string
	paths  []string
	agentserver.Behavior
}

// agentHosts lists the agent servers of a web.
func agentHosts(cfg *simweb.Config) (list []agentHost) {
	for i := range cfg.Hosts {
		name := fmt.Sprintf("h%04d.sim.test", i)
		for _, a := range cfg.Behaviors[i].Agents {
			at := atp.Address{Host: a.Host, Port: a.Port}
			if at.Host == "" {
				at.Host = name
			}
			list = append(list, agentHost{site: i, origin: "http://" + name, addr: at.Scheme() + "://" + at.HostPort(), paths: a.Paths, Behavior: a.Behavior})
		}
	}
	return list
}

// planAgents plans restarts of agent servers.
func (w *world) planAgents() {
	r := w.agents
	for _, a := range w.agentHosts {
		w.note("%s has a server for robots at %s, for %v: %+v", a.origin, a.addr, a.paths, a.Behavior)
		if r.IntN(4) > 0 {
			continue
		}
		forget := r.IntN(2) == 0
		w.later(time.Duration(r.Int64N(int64(90*time.Second))), func() {
			w.note("%s restarts; it forgets its runs: %v", a.addr, forget)
			w.faults.happened()
			w.web.AgentServer(a.addr).Restart(forget)
		})
	}
}

// hasAgents reports whether pages of a URL's site may come from robots.
func (w *world) hasAgents(u string) bool {
	return slices.ContainsFunc(w.agentHosts, func(a agentHost) bool { return strings.HasPrefix(u, a.origin+"/") })
}

// cheated returns the way in which a server cheats that may have sent a page.
func (w *world) cheated(u string) agentserver.Hostile {
	way := agentserver.Honest
	for _, a := range w.agentHosts {
		for _, path := range a.paths {
			if strings.HasPrefix(u, a.origin+path) && a.Hostile != agentserver.Honest {
				way = a.Hostile
			}
		}
	}
	return way
}

// undetected reports whether a page may be as a server altered it: no sample had one of those.
func (w *world) undetected(u string, dropped map[string]bool) bool {
	return sampled(w.cheated(u)) && !dropped[siteOf(u)]
}

// sampled are the ways that a sample finds only if it has one of the pages concerned.
func sampled(way agentserver.Hostile) bool {
	return way == agentserver.AlteredTenth || way == agentserver.Unmarked || way == agentserver.Elsewhere
}

// checkBytes compares what is stored with what the sites serve.
func (w *world) checkBytes(listed map[string]crawl.PageInfo, dropped map[string]bool) {
	for _, u := range slices.Sorted(maps.Keys(listed)) {
		body, ok := w.web.Body(u)
		if !ok || listed[u].Truncated || w.isShell(u) {
			continue
		}
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != listed[u].SHA256 && !w.undetected(u, dropped) {
			w.fail("bytes", "%s is stored with other bytes than its site serves", u)
		}
	}
}

func siteOf(u string) string {
	if i := strings.IndexByte(u[len("http://"):], '/'); i >= 0 {
		return u[:len("http://")+i]
	}
	return u
}

// checkAgents looks at what the crawl knows of the agent servers. It returns the sites of which one
// was dropped.
func (w *world) checkAgents(c *asker.Crawl) (dropped map[string]bool) {
	dropped = map[string]bool{}
	if len(w.agentHosts) == 0 {
		return dropped
	}
	infos := map[string]crawl.DispatchInfo{} // by origin and server
	w.patiently("hosts", func(ctx context.Context) error {
		clear(infos)
		return questions.Hosts.Each(ctx, c, nil, func(h crawl.HostInfo) error {
			for _, d := range h.Dispatches {
				key := d.Origin + " " + d.Server
				if old, is := infos[key]; !is || old.DroppedUntil == nil {
					infos[key] = d
				}
			}
			return nil
		})
	})
	for _, a := range w.agentHosts {
		d, known := infos[a.origin+" "+a.addr]
		got := w.web.AgentServer(a.addr).Counts()
		w.note("%s of %s: %s (%s), %d pages, %d confirmed of %d, dropped: %s; the server counts %+v", a.addr, a.origin, d.State, d.Reason, d.Pages, d.Confirmed, d.Sampled, d.DropReason, got)
		if !known {
			continue
		}
		if d.DroppedUntil != nil {
			dropped[a.origin] = true
		}
		switch {
		case d.State == crawl.DispatchRunning || d.State == "queued" || d.State == "verifying":
			w.fail("dispatch-ends", "the crawl is done, and a robot at %s is %s", a.addr, d.State)
		case d.DroppedUntil != nil && a.Hostile == agentserver.Honest && w.faults.web == 0:
			w.fail("dropped", "the honest server %s of %s was dropped: %s", a.addr, a.origin, d.DropReason)
		case d.DroppedUntil == nil && (a.Hostile == agentserver.Altered || a.Hostile == agentserver.Invented) && d.Sampled > 0 && d.State == crawl.DispatchDone:
			w.fail("dropped", "the server %s of %s is %s, and was not dropped", a.addr, a.origin, a.Hostile)
		}
	}
	return dropped
}
