package e2e

import (
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/pkg/canon"
)

// mirrors is a crawl of a web with mirrors. Time passes between two runs of it.
type mirrors struct {
	*rig
	web  *website
	log  []simweb.Request   // of the last run
	live []string           // what a running crawl answered at its end, as states has it
	met  map[string]float64 // metrics of mirrors at its end, by name and label
}

// newMirrors starts a web of these hosts, and nothing else.
func newMirrors(t *testing.T, shards int, hosts ...simweb.Behavior) *mirrors {
	t.Helper()
	return mirrorsOf(serve(t, simweb.Config{
		Seed: 3, Hosts: len(hosts), PagesPerHost: 6, PageBytes: 2 << 10, TLS: true, Mix: func(i int) simweb.Behavior { return hosts[i] },
	}), t, shards)
}

// mirrorsOf is the crawl of a web that is there.
func mirrorsOf(web *website, t *testing.T, shards int) *mirrors {
	t.Helper()
	spec := specFor(web)
	spec.Shards, spec.Search, spec.Seeds = shards, true, nil
	return &mirrors{rig: &rig{t: t, net: web.net, spec: spec, index: true}, web: web}
}

// main is a host with pages of its own, copyOf one with those of another. Its robots.txt
// is text, "" for none.
func main(name, text string) simweb.Behavior { return copyOf("", name, text) }

func copyOf(of, name, text string) simweb.Behavior {
	b := simweb.Behavior{Name: name, CopyOf: of}
	if text != "" {
		b.Robots, b.RobotsText, b.Disallow = simweb.RobotsCustom, text, closedBy(name, text)
	}
	return b
}

// closedBy is what a robots.txt made by hostLine forbids at a host: all, when it names another, but
// what allowPages opens.
func closedBy(name, text string) func(path, token string) bool {
	_, host, ok := strings.Cut(text, "Host: ")
	// Of that http alone is closed: see asked.
	if !ok || host == name+"\n" || strings.HasPrefix(host, "https:") {
		return nil
	}
	return func(path, _ string) bool {
		return !strings.Contains(text, allowPages) || !strings.Contains(path, ".html")
	}
}

// says gives a host another robots.txt.
func (m *mirrors) says(name, text string) { m.web.SetRobots(name, text, closedBy(name, text)) }

// allowPages opens all pages but the home against a Host line.
const allowPages = "Allow: /*.html"

// hostLine is a robots.txt that names a main host.
func hostLine(of string, rules ...string) string {
	text := "User-agent: *\n"
	for _, r := range rules {
		text += r + "\n"
	}
	return text + "Host: " + of + "\n"
}

// home and pages are seeds.
func home(hosts ...string) (urls []string) {
	for _, h := range hosts {
		urls = append(urls, "http://"+h+"/")
	}
	return urls
}

func (m *mirrors) pages(hosts ...string) (urls []string) {
	for _, h := range hosts {
		urls = append(urls, m.web.PageURLs(h)...)
	}
	return urls
}

// crawl runs the crawl to its end with more seeds. The services are new ones each time, as
// after a restart. The log of all runs so far must be polite, and no request may have been
// stopped at the last moment.
func (m *mirrors) crawl(seeds ...string) crawl.Status {
	m.t.Helper()
	before := len(m.web.Log())
	for _, s := range seeds {
		u, err := canon.Parse(s)
		if err != nil {
			m.t.Fatal(err)
		}
		m.spec.Seeds = append(m.spec.Seeds, string(u))
	}
	reg := prometheus.NewRegistry()
	m.metrics = reg
	if m.q == nil {
		newRigWith(m.t, m.rig, m.options())
	} else {
		m.stop() // unless it was
		m.start(m.dir, m.options())
	}
	m.seed()
	st := m.wait(time.Minute)
	m.live = nil
	gather(m.rig, "mirrors", nil, func(i crawl.MirrorInfo) { m.live = append(m.live, m.state(i)) })
	m.met = mirrorMetrics(m.t, reg)
	m.stop()
	polite(m.t, m.web, 0)
	left := st.Queued + st.InFlight
	for _, h := range st.Postponed {
		left -= h.Queued
	}
	if left != 0 {
		m.t.Errorf("%d URLs are left: %+v", left, st)
	}
	m.log = m.web.Log()[before:]
	return st
}

func (m *mirrors) options() fetcher.Options {
	return fetcher.Options{TLS: &tls.Config{RootCAs: m.web.Roots()}}
}

// later lets time pass while nothing runs.
func (m *mirrors) later(d time.Duration) {
	m.t.Helper()
	m.endNATS()
	time.Sleep(d)
	m.serveNATS(m.dir)
}

// states is what `curtsy mirrors --json` says, as state has it, of the crawl at rest; a running one
// must have said the same.
func (m *mirrors) states() (lines []string) {
	m.t.Helper()
	fr := m.files()
	defer fr.Close()
	err := questions.Mirrors.Each(m.t.Context(), fr, nil, func(i crawl.MirrorInfo) error {
		lines = append(lines, m.state(i))
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	slices.Sort(lines)
	slices.Sort(m.live)
	if !slices.Equal(lines, m.live) {
		m.t.Errorf("mirrors at rest %q, while it ran %q", lines, m.live)
	}
	return lines
}

// state is a line of that, but for since and detail: "origin state main reason evidence".
func (m *mirrors) state(i crawl.MirrorInfo) string {
	m.t.Helper()
	host := canon.URL(i.Origin + "/").Host()
	if i.Since.IsZero() || time.Until(i.Since) > 0 || i.Host != string(host) {
		m.t.Errorf("%+v", i)
	}
	return strings.Join(strings.Fields(i.Origin+" "+i.State+" "+i.Main+" "+i.Reason+" "+i.Evidence), " ")
}

// stored is what `curtsy pages` lists: each page's URL, and its aliases.
func (m *mirrors) stored() map[string][]string {
	m.t.Helper()
	x := m.files()
	defer x.Close()
	all := map[string][]string{}
	err := questions.Pages.Each(m.t.Context(), x, nil, func(p crawl.PageInfo) error {
		if _, twice := all[p.URL]; twice {
			m.t.Errorf("%s is listed twice", p.URL)
		}
		slices.Sort(p.Aliases)
		all[p.URL] = p.Aliases
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

// want checks the mirror database and the stored set. Each URL of stored may be followed by its
// aliases, all in one string.
func (m *mirrors) want(states []string, stored []string) {
	m.t.Helper()
	slices.Sort(states)
	if got := m.states(); !slices.Equal(got, states) {
		m.t.Errorf("mirrors:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(states, "\n  "))
	}
	want := map[string][]string{}
	for _, s := range stored {
		f := strings.Fields(s)
		slices.Sort(f[1:])
		want[f[0]] = f[1:]
	}
	got := m.stored()
	for _, u := range slices.Sorted(maps.Keys(want)) {
		switch aliases, ok := got[u]; {
		case !ok:
			m.t.Errorf("%s is not stored", u)
		case !slices.Equal(aliases, want[u]):
			m.t.Errorf("%s has the aliases %q, want %q", u, aliases, want[u])
		}
	}
	for _, u := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[u]; !ok {
			m.t.Errorf("%s is stored, aliases %q", u, got[u])
		}
	}
	m.found(want)
}

// found checks that search has each page once, under the address it is stored at, with its aliases.
// All pages of simweb have the word in common.
func (m *mirrors) found(want map[string][]string) {
	m.t.Helper()
	x := m.files()
	defer x.Close()
	a, err := x.Search(m.t.Context(), crawl.SearchRequest{Query: "page", Limit: 1000})
	if err != nil || a.Behind > 0 {
		m.t.Fatalf("search: %+v, %v", a, err)
	}
	hits := map[string]bool{}
	also := map[string]bool{}
	for _, h := range a.Hits {
		if hits[h.URL] {
			m.t.Errorf("%s is found twice", h.URL)
		}
		if _, ok := want[h.URL]; !ok {
			m.t.Errorf("%s is found, and not to be stored", h.URL)
		}
		hits[h.URL] = true
		for _, u := range h.Also {
			also[u] = true
		}
		for _, u := range want[h.URL] {
			if !slices.Contains(h.Also, u) {
				m.t.Errorf("%s is found without its alias %s: also %q", h.URL, u, h.Also)
			}
		}
	}
	for u := range want {
		if !hits[u] && !also[u] {
			m.t.Errorf("%s is not found", u)
		}
	}
}

// asked counts the requests of the last run to an origin as the log spells it, but for
// those to robots.txt.
func (m *mirrors) asked(origin string) (paths []string) {
	for _, r := range m.log {
		if r.Origin == origin && r.Path != "/robots.txt" {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// quiet checks that nothing but robots.txt was asked of these hosts in the last run, nor any of
// them through a collapsed name.
func (m *mirrors) quiet(hosts ...string) {
	m.t.Helper()
	for _, h := range hosts {
		if paths := m.asked(h); len(paths) > 0 {
			m.t.Errorf("%s was asked for %q", h, paths)
		}
	}
}

// once checks that no page was asked for twice in the last run.
func (m *mirrors) once() {
	m.t.Helper()
	n := map[string]int{}
	for _, r := range m.log {
		if n[r.Origin+r.Path]++; n[r.Origin+r.Path] == 2 && r.Path != "/robots.txt" {
			m.t.Errorf("%s%s was asked for twice", r.Origin, r.Path)
		}
	}
}

// explained checks what became of URLs: "state reason".
func (m *mirrors) explained(want string, urls ...string) {
	m.t.Helper()
	fr := m.files()
	defer fr.Close()
	for _, u := range urls {
		x, err := fr.Explain(m.t.Context(), u)
		if got := strings.TrimSpace(x.State + " " + x.Reason); err != nil || got != want {
			m.t.Errorf("%s is %s (%s), %v; want %s", u, got, x.Detail, err, want)
		}
	}
}

// apart is a name for a host in another shard than the one given, or in the same.
func apart(prefix, other string, shards int, same bool) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%d.sim.test", prefix, i)
		if (crawl.ShardOf(canon.Host(name), shards) == crawl.ShardOf(canon.Host(other), shards)) == same {
			return name
		}
	}
}

// mirrorMetrics are the metrics of mirrors, without their common prefix.
func mirrorMetrics(t testing.TB, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		name, ok := strings.CutPrefix(f.GetName(), "curtsy_frontier_mirror")
		if !ok {
			continue
		}
		for _, x := range f.GetMetric() {
			full := name
			for _, l := range x.GetLabel() {
				full += " " + l.GetValue()
			}
			all[full] = x.GetCounter().GetValue() + x.GetGauge().GetValue()
		}
	}
	return all
}
