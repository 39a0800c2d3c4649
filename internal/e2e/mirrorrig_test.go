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
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/canon"
)

// mirrors is a crawl of a web with mirrors. Time passes between two runs of it.
type mirrors struct {
	*rig
	web  *website
	log  []requestlog.Request // of the last run
	live []string             // what the running crawl answered at its end, in the form of states
	met  map[string]float64   // metrics of mirrors at its end, by name and label
}

// newMirrors starts a web with only these hosts.
func newMirrors(t *testing.T, shards int, hosts ...simweb.Behavior) *mirrors {
	t.Helper()
	return mirrorsOf(serve(t, simweb.Config{
		Seed: 3, Hosts: len(hosts), PagesPerHost: 6, PageBytes: 2 << 10, TLS: true, Mix: func(i int) simweb.Behavior { return hosts[i] },
	}), t, shards)
}

// mirrorsOf starts the crawl of a web that runs.
func mirrorsOf(web *website, t *testing.T, shards int) *mirrors {
	t.Helper()
	spec := specFor(web)
	spec.Shards, spec.Search, spec.Seeds = shards, true, nil
	return &mirrors{rig: &rig{t: t, net: web.net, spec: spec, index: true}, web: web}
}

// main is a host with its own pages, copyOf one with the pages of another host. Its robots.txt is
// text, "" for none.
func main(name, text string) simweb.Behavior { return copyOf("", name, text) }

func copyOf(of, name, text string) simweb.Behavior {
	b := simweb.Behavior{Name: name, CopyOf: of}
	if text != "" {
		b.Robots, b.RobotsText, b.Disallow = simweb.RobotsCustom, text, closedBy(name, text)
	}
	return b
}

// closedBy returns what a robots.txt made by hostLine forbids at a host: everything, if it names
// another host, except for what allowPages allows.
func closedBy(name, text string) func(path, token string) bool {
	_, host, ok := strings.Cut(text, "Host: ")
	// For these only the http origin is closed: see asked.
	if !ok || host == name+"\n" || strings.HasPrefix(host, "https:") {
		return nil
	}
	return func(path, _ string) bool {
		return !strings.Contains(text, allowPages) || !strings.Contains(path, ".html")
	}
}

// setRobots gives a host another robots.txt.
func (m *mirrors) setRobots(name, text string) { m.web.SetRobots(name, text, closedBy(name, text)) }

// allowPages allows all pages except the home page, in spite of a Host line.
const allowPages = "Allow: /*.html"

// hostLine makes a robots.txt that names a main host.
func hostLine(of string, rules ...string) string {
	text := "User-agent: *\n"
	for _, r := range rules {
		text += r + "\n"
	}
	return text + "Host: " + of + "\n"
}

// home and pages return seeds.
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

// crawl runs the crawl to its end with more seeds. The services are new ones each time, as after a
// restart. The log of all runs so far must be polite, and no request may have been stopped at the
// last moment.
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
		m.stop() // unless it was stopped already
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

// states returns the answer of `curtsy mirrors --json` for a crawl that does not run, in the form
// of state; the running crawl must have given the same answer.
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
		m.t.Errorf("mirrors after the end %q, while it ran %q", lines, m.live)
	}
	return lines
}

// state returns a line of that, without since and detail: "origin state main reason evidence".
func (m *mirrors) state(i crawl.MirrorInfo) string {
	m.t.Helper()
	host := canon.URL(i.Origin + "/").Host()
	if i.Since.IsZero() || time.Until(i.Since) > 0 || i.Host != string(host) {
		m.t.Errorf("%+v", i)
	}
	return strings.Join(strings.Fields(i.Origin+" "+i.State+" "+i.Main+" "+i.Reason+" "+i.Evidence), " ")
}

// stored returns what `curtsy pages` lists: the URL of each page, and its aliases.
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

// want checks the mirror database and the stored pages. Each URL of stored may be followed by its
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

// found checks that search finds each page once, under the address at which it is stored, with its
// aliases. All pages of simweb have the word in common.
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

// asked returns the requests of the last run to an origin, spelled as in the log, except for those
// for robots.txt.
func (m *mirrors) asked(origin string) (paths []string) {
	for _, r := range m.log {
		if r.Origin == origin && r.Path != "/robots.txt" {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// quiet checks that in the last run only robots.txt was requested from these hosts, also under a
// merged name.
func (m *mirrors) quiet(hosts ...string) {
	m.t.Helper()
	for _, h := range hosts {
		if paths := m.asked(h); len(paths) > 0 {
			m.t.Errorf("%s was asked for %q", h, paths)
		}
	}
}

// once checks that no page was requested twice in the last run.
func (m *mirrors) once() {
	m.t.Helper()
	n := map[string]int{}
	for _, r := range m.log {
		if n[r.Origin+r.Path]++; n[r.Origin+r.Path] == 2 && r.Path != "/robots.txt" {
			m.t.Errorf("%s%s was asked for twice", r.Origin, r.Path)
		}
	}
}

// explained checks the outcome of URLs: "state reason".
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

// apart returns a name of a host in another shard than the given one, or in the same.
func apart(prefix, other string, shards int, same bool) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%d.sim.test", prefix, i)
		if (crawl.ShardOf(canon.Host(name), shards) == crawl.ShardOf(canon.Host(other), shards)) == same {
			return name
		}
	}
}

// mirrorMetrics returns the metrics of mirrors, without their common prefix.
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
