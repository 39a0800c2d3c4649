package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/internal/render/rendertest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
)

// TestRenderSimulation is TestSimulation with pages that are empty without their scripts. What they
// show, and where they lead, is data on the same host or on another one. The renderer is one
// without a browser. A crawler that loses the data of one page loses all pages after it. SEEDS and
// FROM work as in TestSimulation; every other seed is a crawl in one process.
func TestRenderSimulation(t *testing.T) {
	for _, seed := range seedsOf(t, keptRenderSeeds, 4, 2) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				w := newWorld(t, seed)
				w.one = seed%2 == 0
				w.apps = &apps{r: rand.New(rand.NewPCG(seed, 35)), shells: map[string]bool{}}
				w.run()
			})
		})
	}
}

// keptRenderSeeds are like keptSeeds.
var keptRenderSeeds = []uint64{7}

// apps are the pages of a web that need scripts.
type apps struct {
	r      *rand.Rand
	shells map[string]bool // URLs
}

// addTo makes shells of pages of the chains. Their data is a file of its own.
func (a *apps) addTo(cfg *simweb.Config, chains [][]string) {
	first := cfg.Hosts // the hosts of the chains allow everything
	for _, c := range chains {
		for _, u := range c {
			first = min(first, hostNumber(u))
		}
	}
	any := func() int { return first + a.r.IntN(cfg.Hosts-first) }
	for i := first; i < cfg.Hosts; i++ {
		b := cfg.Behaviors[i]
		b.Files = append(b.Files, simweb.File{Path: "/app.js", ContentType: "text/javascript", Body: "show /data$PATH\n"})
		for n := first; n < cfg.Hosts; n++ {
			b.Files = append(b.Files, simweb.File{Path: fmt.Sprintf("/app%d.js", n), ContentType: "text/javascript",
				Body: fmt.Sprintf("wait 2s\nshow http://h%04d.sim.test/data$PATH\n", n)})
		}
		cfg.Behaviors[i] = b
	}
	for _, c := range chains {
		for _, u := range c {
			if a.r.IntN(4) == 0 {
				continue
			}
			at, data, script := hostNumber(u), hostNumber(u), "/app.js"
			switch a.r.IntN(3) {
			case 0: // all of it is on other hosts
				data = any()
				script = fmt.Sprintf("http://h%04d.sim.test/app%d.js", any(), data)
			case 1:
				data = any()
				script = fmt.Sprintf("/app%d.js", data)
			}
			path := u[strings.Index(u, "/chain/"):]
			b := cfg.Behaviors[at]
			for i, f := range b.Files {
				if f.Path != path {
					continue
				}
				to := cfg.Behaviors[data]
				if data == at {
					to = b
				}
				to.Files = append(to.Files, simweb.File{Path: "/data" + path, ContentType: "text/plain", Body: scriptOf(f.Body)})
				if data == at {
					b = to
				}
				cfg.Behaviors[data] = to
				b.Files[i].Body = "<!DOCTYPE html><html><head><title>App</title></head><body><div id=\"root\"></div><script src=\"" + script + "\"></script></body></html>"
				break
			}
			cfg.Behaviors[at] = b
			a.shells[u] = true
		}
	}
}

func hostNumber(u string) (n int) {
	if _, err := fmt.Sscanf(u, "http://h%d.sim.test/", &n); err != nil {
		panic(err)
	}
	return n
}

// scriptOf returns lines that make the text and the link of a page of a chain.
func scriptOf(page string) string {
	_, body, _ := strings.Cut(page, "<p>")
	text, rest, _ := strings.Cut(body, "</p>")
	lines := "text " + text + "\n"
	if _, after, ok := strings.Cut(rest, "<a href=\""); ok {
		to, _, _ := strings.Cut(after, "\"")
		lines += "link " + to + "\n"
	}
	return lines
}

// renderer is that of a process, which may be killed while it renders; nil: there are no scripts.
func (l *life) renderer() render.Renderer {
	a := l.s.w.apps
	if a == nil {
		return nil
	}
	return &rendertest.Renderer{Work: time.Duration(100+l.n*50) * ms, Fault: l.fault}
}

// planApps plans that processes are killed while they render.
func (w *world) planApps() {
	if w.apps == nil {
		return
	}
	r := w.apps.r
	w.note("%d pages need scripts", len(w.apps.shells))
	for range r.IntN(4) {
		s := w.all[r.IntN(len(w.all))]
		if s.role != "fetcher" && s.role != "crawl" {
			continue
		}
		p := &pointFault{role: s.role, service: s.n, point: []string{"render", "rendered"}[r.IntN(2)], n: 1 + r.IntN(12), what: "kill", restart: away(r, s)}
		w.faults.plan(p)
		w.note("plan: kill %s-%d at %q, time %d; back after %v", p.role, p.service, p.point, p.n, p.restart)
	}
}

// isShell reports whether a page needs scripts.
func (w *world) isShell(u string) bool { return w.apps != nil && w.apps.shells[u] }

// checkApps checks that all pages that need scripts were rendered.
func (w *world) checkApps(listed map[string]crawl.PageInfo) {
	if w.apps == nil {
		return
	}
	for u := range w.apps.shells {
		if p, is := listed[u]; is && p.Rendering != crawl.RenderingDone.String() {
			w.fail("rendered", "%s is stored, and its rendering is %q", u, p.Rendering)
		}
	}
}
