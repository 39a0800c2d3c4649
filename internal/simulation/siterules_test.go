package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// TestSiteRuleSimulation is TestSimulation with a file of site rules that changes during the crawl.
// Each service learns of a change at another moment. The rules are about pages of their own, so the
// checks of TestSimulation hold as they are. What the rules must make of these pages is computed
// here, and not by package siterules. SEEDS and FROM work as in TestSimulation.
func TestSiteRuleSimulation(t *testing.T) {
	for _, seed := range seedsOf(t, keptRuleSeeds, 0, 2) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				w := newWorld(t, seed)
				w.rules = &ruleWorld{r: rand.New(rand.NewPCG(seed, 33)), pages: map[string]*rulePage{}}
				w.run()
			})
		})
	}
}

// keptRuleSeeds are like keptSeeds. In the first two, links were sent by services with newer rules
// than those of the shard that dropped them.
var keptRuleSeeds = []uint64{40, 49, 3}

// ruleWorld are the pages with site rules, and the files of rules.
type ruleWorld struct {
	r        *rand.Rand
	pages    map[string]*rulePage // by URL
	seeds    []string
	versions []ruleSet
	used     []int // of versions, in the order of their use

	mu sync.Mutex // one change of the settings of a service at a time
}

// rulePage is a page that rules are about.
type rulePage struct {
	host, tag  string
	n          int
	two, three string // its headings
	marks      []string
	links      []string
}

func (p *rulePage) url() string { return fmt.Sprintf("http://%s/r/%s/%d.html", p.host, p.tag, p.n) }

// ruleSet is a file of site rules; nil: there is none.
type ruleSet map[string]*hostRules

// hostRules are the entry of a host, or of "*.sim.test".
type hostRules struct {
	include, exclude []string // tags
	kind             string   // the element with the field kind
	num              bool
	product          string
	drop             bool
	skip             []string // "lost", "old", or "kind=" with a value
}

// anyHost is the entry for all hosts.
const anyHost = "*.sim.test"

// addPages adds the pages to the plain hosts of the chains.
func (rw *ruleWorld) addPages(cfg *simweb.Config, chains [][]string) {
	r := rw.r
	var hosts []string
	for _, c := range chains {
		for _, u := range c {
			if h := strings.Split(u, "/")[2]; !slices.Contains(hosts, h) {
				hosts = append(hosts, h)
			}
		}
	}
	slices.Sort(hosts)
	var all []*rulePage
	for n := range 16 + r.IntN(20) {
		p := &rulePage{host: hosts[r.IntN(len(hosts))], tag: string("abc"[r.IntN(3)]), n: n, two: fmt.Sprint("two ", r.IntN(4)), three: fmt.Sprint("three ", r.IntN(3))}
		for _, mark := range []string{"lost", "old"} {
			if r.IntN(5) == 0 {
				p.marks = append(p.marks, mark)
			}
		}
		all = append(all, p)
		rw.pages[p.url()] = p
	}
	for i, p := range all {
		if i < 2 {
			rw.seeds = append(rw.seeds, p.url())
		}
		// Each page but a seed has one link that leads to it from an earlier one, and more.
		if i >= 2 {
			from := all[r.IntN(i)]
			from.links = append(from.links, p.url())
		}
		for range r.IntN(2) {
			p.links = append(p.links, all[r.IntN(len(all))].url())
		}
	}
	for _, p := range all {
		body := fmt.Sprintf("<!DOCTYPE html><html><title>Rule page %d</title><nav>Menu %d</nav><h2>%s</h2><h3>%s</h3><p>Number quruled%d.</p>", p.n, p.n, p.two, p.three, p.n)
		for _, m := range p.marks {
			body += fmt.Sprintf("<p class=%s>This page.</p>", m)
		}
		for _, l := range p.links {
			body += fmt.Sprintf("<a href=%q>on</a> ", l)
		}
		var host int
		if _, err := fmt.Sscanf(p.host, "h%04d", &host); err != nil {
			panic(err)
		}
		b := cfg.Behaviors[host]
		b.Files = append(b.Files, simweb.File{Path: strings.TrimPrefix(p.url(), "http://"+p.host), ContentType: "text/html; charset=utf-8", Body: body + "</html>\n"})
		cfg.Behaviors[host] = b
	}
	for range 4 {
		rw.versions = append(rw.versions, rw.randomRules(hosts))
	}
	rw.used = []int{r.IntN(len(rw.versions))}
}

func (rw *ruleWorld) randomRules(hosts []string) ruleSet {
	r := rw.r
	if r.IntN(8) == 0 {
		return nil
	}
	skips := func() (list []string) {
		for _, s := range []string{"lost", "old"} {
			if r.IntN(3) == 0 {
				list = append(list, s)
			}
		}
		return list
	}
	set := ruleSet{}
	for _, h := range hosts {
		if r.IntN(6) == 0 {
			continue
		}
		e := &hostRules{kind: []string{"", "h2", "h3"}[r.IntN(3)], num: r.IntN(2) == 0, drop: r.IntN(3) == 0, skip: skips()}
		if r.IntN(2) == 0 {
			e.product = fmt.Sprint("product ", r.IntN(2))
		}
		if e.kind != "" && r.IntN(4) == 0 {
			e.skip = append(e.skip, map[string]string{"h2": "kind=two ", "h3": "kind=three "}[e.kind]+fmt.Sprint(r.IntN(3)))
		}
		if r.IntN(3) == 0 {
			e.include = []string{"a", "b", "c"}[:1+r.IntN(2)]
		}
		if r.IntN(3) == 0 {
			e.exclude = []string{string("abc"[r.IntN(3)])}
		}
		set[h] = e
	}
	if r.IntN(2) == 0 {
		set[anyHost] = &hostRules{product: "any", skip: skips()}
	}
	return set
}

// text is the file.
func (s ruleSet) text() string {
	if len(s) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("sites:\n")
	for _, h := range slices.Sorted(maps.Keys(s)) {
		e := s[h]
		fmt.Fprintf(&b, "  %q:\n    render: never\n", h+"/r/")
		for name, tags := range map[string][]string{"include": e.include, "exclude": e.exclude} {
			if len(tags) > 0 {
				fmt.Fprintf(&b, "    %s: [\"/r/%s/**\"]\n", name, strings.Join(tags, "/**\", \"/r/"))
			}
		}
		fields := ""
		if e.kind != "" {
			fields += fmt.Sprintf("      kind: {css: %s}\n", e.kind)
		}
		if e.num {
			fields += "      num: {path: '^/r/./(\\d+)', type: number}\n"
		}
		if e.product != "" {
			fields += fmt.Sprintf("      product: {const: %s}\n", e.product)
		}
		if fields != "" {
			b.WriteString("    fields:\n" + fields)
		}
		if e.drop {
			b.WriteString("    content: {drop: [nav]}\n")
		}
		if len(e.skip) > 0 {
			b.WriteString("    skip:\n")
		}
		for _, s := range e.skip {
			if value, ok := strings.CutPrefix(s, "kind="); ok {
				fmt.Fprintf(&b, "      - {field: kind, equals: %s}\n", value)
			} else {
				fmt.Fprintf(&b, "      - {css: p.%s}\n", s)
			}
		}
	}
	return b.String()
}

// fields returns the fields that the rules give a page, as name=value.
func (s ruleSet) fields(p *rulePage) (list []string) {
	host, product := s[p.host], ""
	if e := s[anyHost]; e != nil {
		product = e.product
	}
	if host != nil && host.product != "" {
		product = host.product
	}
	if host != nil {
		switch host.kind {
		case "h2":
			list = append(list, "kind="+p.two)
		case "h3":
			list = append(list, "kind="+p.three)
		}
		if host.num {
			list = append(list, fmt.Sprint("num=", p.n))
		}
	}
	if product != "" {
		list = append(list, "product="+product)
	}
	return list
}

// excludes reports whether a page is out of scope.
func (s ruleSet) excludes(p *rulePage) bool {
	e := s[p.host]
	return e != nil && (slices.Contains(e.exclude, p.tag) || len(e.include) > 0 && !slices.Contains(e.include, p.tag))
}

// skips reports whether a page is not to be stored.
func (s ruleSet) skips(p *rulePage) bool {
	var conditions []string
	if e := s[anyHost]; e != nil {
		conditions = e.skip
	}
	if e := s[p.host]; e != nil && len(e.skip) > 0 {
		conditions = e.skip
	}
	return slices.ContainsFunc(conditions, func(c string) bool { return slices.Contains(p.marks, c) || slices.Contains(s.fields(p), c) })
}

// last are the rules that are in force at the end.
func (rw *ruleWorld) last() ruleSet { return rw.versions[rw.used[len(rw.used)-1]] }

// reached are the pages to which links of pages lead that may be stored.
func (rw *ruleWorld) reached() map[string]bool {
	rules, found, queue := rw.last(), map[string]bool{}, slices.Clone(rw.seeds)
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		p := rw.pages[u]
		if found[u] || rules.excludes(p) {
			continue
		}
		if found[u] = true; !rules.skips(p) {
			queue = append(queue, p.links...)
		}
	}
	return found
}

// planRules plans changes of the rules.
func (w *world) planRules() {
	if w.rules == nil {
		return
	}
	r := w.rules.r
	for range 1 + r.IntN(5) {
		n := r.IntN(len(w.rules.versions))
		delays := make([]time.Duration, len(w.all))
		for i := range delays {
			delays[i] = time.Duration(r.IntN(3000)) * ms
			if r.IntN(3) > 0 {
				delays[i] /= 20
			}
		}
		w.later(time.Duration(r.Int64N(int64(70*time.Second))), func() { w.changeRules(n, delays) })
	}
}

// changeRules gives the crawl other rules. Each service learns of them a little later, unless it
// begins meanwhile.
func (w *world) changeRules(n int, delays []time.Duration) {
	w.rules.used = append(w.rules.used, n)
	w.spec.Sites = w.rules.versions[n].text()
	spec, count := w.spec, len(w.rules.used)
	w.note("the site rules are those of file %d from now on", n)
	for i, s := range w.all {
		w.later(delays[i], func() {
			if l := s.life; l != nil {
				w.dying.Go(func() { l.follow(spec, count) })
			}
		})
	}
}

// follow gives a service other settings, unless it has newer ones.
func (l *life) follow(spec crawl.Spec, count int) {
	rw := l.s.w.rules
	rw.mu.Lock()
	defer rw.mu.Unlock()
	if count <= l.followed || l.isDead() {
		return
	}
	l.followed = count
	if err := l.setSpec(spec); err != nil && !l.isDead() {
		l.s.w.t.Errorf("%s: %v", l, err)
	}
}

// expectRules adds the pages to what the web expects. What must become of them, checkRules knows.
func (w *world) expectRules(want map[string]simweb.Expectation) {
	if w.rules == nil {
		return
	}
	for u := range w.rules.pages {
		want[u] = simweb.Expectation{Class: simweb.Stored, Also: []simweb.Class{simweb.Refused}, Optional: true}
	}
}

// refusedAfterLoss reports whether a stored page may be refused in the frontier: a page that may
// have been lost with a page store, or with messages of the broker, is queued again, also if it is
// not lost. If the rules exclude it before it is fetched again, it is refused.
func (w *world) refusedAfterLoss(u string, x crawl.Explanation) bool {
	return w.rules != nil && w.rules.pages[u] != nil && w.rules.last().excludes(w.rules.pages[u]) && x.Reason == string(crawl.ReasonScope) &&
		(w.faults.indexers > 0 || w.faults.rollbacks > 0)
}

// checkRules compares what became of the pages with the last rules.
func (w *world) checkRules(got map[string]crawl.Explanation, listed map[string]crawl.PageInfo) {
	if w.rules == nil {
		return
	}
	rules, reached := w.rules.last(), w.rules.reached()
	for u, p := range w.rules.pages {
		x, excluded, skipped := got[u], rules.excludes(p), rules.skips(p)
		_, is := listed[u]
		w.note("%s excluded: %v, skipped: %v, reached: %v; %s %s, stored: %v", u, excluded, skipped, reached[u], x.State, x.Reason, is)
		switch {
		case is && skipped:
			w.fail("rules-skip", "%s is stored, and the rules skip it", u)
		case !x.Seen && reached[u]:
			w.fail("rules-outcome", "%s was never seen", u)
		case !x.Seen || excluded:
		case skipped && (x.State != crawl.Refused.String() || x.Reason != string(crawl.ReasonSiteRule)):
			w.fail("rules-outcome", "%s is %s (%s: %s), want refused: site-rule", u, x.State, x.Reason, x.Detail)
		case !skipped && x.State != crawl.Stored.String():
			w.fail("rules-outcome", "%s is %s (%s: %s), want stored", u, x.State, x.Reason, x.Detail)
		}
	}
	w.rulesFetchOnce()
}

// rulesFetchOnce looks for pages that were fetched twice although nothing had gone wrong, and no
// rules had skipped them.
func (w *world) rulesFetchOnce() {
	last := map[string]*requestlog.Request{}
	for _, q := range w.web.Log() {
		u := "http://" + q.Origin + q.Path
		p := w.rules.pages[u]
		if p == nil || q.Status != 200 || q.Aborted || slices.ContainsFunc(w.rules.used, func(n int) bool { return w.rules.versions[n].skips(p) }) {
			continue
		}
		if before := last[u]; before != nil && w.faults.undisturbed(before.Start, q.Start) {
			w.fail("rules-fetch-once", "%s was fetched again %v after it had been fetched", u, q.Start.Sub(before.End))
		}
		last[u] = &q
	}
}

// checkRuled compares a stored page with what the last rules make of it.
func (w *world) checkRuled(p *pages.Page) {
	if w.rules == nil || w.rules.pages[string(p.URL)] == nil || p.Deleted != "" {
		return
	}
	var got []string
	if p.Ruled != nil {
		for _, f := range p.Ruled.Fields {
			got = append(got, f.Name+"="+strings.Join(f.Values, "|"))
		}
	}
	if want := w.rules.last().fields(w.rules.pages[string(p.URL)]); !slices.Equal(got, want) {
		w.fail("rules-fields", "%s has the fields %q, want %q", p.URL, got, want)
	}
}
