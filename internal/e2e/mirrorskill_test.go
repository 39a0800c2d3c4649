package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simweb"
)

// command makes a process of the program; nothing in the environment configures it.
func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.bin, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "CURTSY_") })
	return cmd
}

// crawl is one that is started, and would go on to the end.
func (p *program) crawl(dir string, args ...string) *exec.Cmd {
	return p.command(append([]string{"crawl", "--dir", dir, "--listen", "off", "--allow-private", "--delay", "0s", "--hold-max", "3s",
		"--contact", "test@example.org",
		"--resolve", p.web.Resolve()}, args...)...)
}

func (p *program) run(cmd *exec.Cmd) []byte {
	p.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("%q: %v\n%s%s", cmd.Args, err, out.Bytes(), errs.Bytes())
	}
	return out.Bytes()
}

// asked counts requests of the log so far: for robots.txt, or for pages.
func (p *program) asked(host string, robots bool) (n int) {
	for _, r := range p.web.Log() {
		if r.Host == host && (r.Path == "/robots.txt") == robots {
			n++
		}
	}
	return n
}

// killWhen runs a crawl until something is so, and kills it then as a power cut would. It reports
// whether the crawl had ended by itself before.
func (p *program) killWhen(cmd *exec.Cmd, what string, so func() bool) (over bool) {
	p.t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	limit := time.After(time.Minute)
	for {
		select {
		case err := <-ended:
			if err != nil {
				p.t.Fatalf("before %s: %v\n%s", what, err, errs.Bytes())
			}
			return true
		case <-limit:
			cmd.Process.Kill()
			<-ended
			p.t.Fatalf("not %s within a minute\n%s", what, errs.Bytes())
		case <-time.After(time.Millisecond):
			if so() {
				cmd.Process.Kill()
				<-ended
				return false
			}
		}
	}
}

// result is all that a crawl with mirrors comes to, as the commands print it, without what depends
// on the time of day.
type result struct {
	mirrors []string
	pages   []string
	hits    []string
	classes string
}

func (p *program) result(dir string) (r result) {
	p.t.Helper()
	for line := range bytes.Lines(p.run(p.command("mirrors", "--json", "--dir", dir))) {
		var i crawl.MirrorInfo
		p.decode(line, &i)
		i.Since = time.Time{}
		text, _ := json.Marshal(i)
		r.mirrors = append(r.mirrors, string(text))
	}
	for line := range bytes.Lines(p.run(p.command("pages", "--json", "--dir", dir))) {
		var i crawl.PageInfo
		p.decode(line, &i)
		r.pages = append(r.pages, fmt.Sprint(i.URL, " ", i.SHA256, " ", i.Aliases))
	}
	for line := range bytes.Lines(p.run(p.command("search", "--json", "--limit", "1000", "--dir", dir, "page"))) {
		var h crawl.Hit
		p.decode(line, &h)
		r.hits = append(r.hits, fmt.Sprint(h.URL, " ", h.Also))
	}
	var st crawl.Status
	p.decode(p.run(p.command("status", "--json", "--dir", dir)), &st)
	if st.Queued+st.InFlight+st.Stored+st.Redirected+st.Refused+st.Failed != st.Discovered {
		p.t.Errorf("the classes do not add up: %+v", st)
	}
	r.classes = fmt.Sprint(st.Discovered, st.Queued, st.InFlight, st.Stored, st.Redirected, st.Refused, st.Failed, st.ByReason)
	slices.Sort(r.pages)
	slices.Sort(r.hits)
	return r
}

func (p *program) decode(line []byte, v any) {
	p.t.Helper()
	if err := json.Unmarshal(line, v); err != nil {
		p.t.Fatalf("%v: %s", err, line)
	}
}

// crawler is the program with a web of a site and a copy of it, of some hundred pages each.
func crawler(t *testing.T, site, copy simweb.Behavior) *program {
	t.Helper()
	return newProgram(t, simweb.Config{Seed: 4, Hosts: 2, PagesPerHost: 240, PageBytes: 1 << 10, Mix: func(i int) simweb.Behavior {
		b := []simweb.Behavior{site, copy}[i]
		b.Latency = 4 * time.Millisecond
		return b
	}})
}

// polite checks the web's log.
func (p *program) polite() {
	p.t.Helper()
	for _, v := range simweb.Check(p.web.Log(), simweb.CheckOptions{Token: token}) {
		p.t.Error(v)
	}
}

// A merge of some hundred URLs, all of which the main host has yet to be asked for, in a process
// that is killed again and again: the mirror database, the stored pages with their aliases, search
// and the accounting are what they are without that.
func TestMirrorsKilledInAMerge(t *testing.T) {
	t.Parallel()
	const copy = "copy.sim.test"
	p := crawler(t, main(m0, ""), copyOf(m0, copy, ""))
	dir := t.TempDir()

	// All pages of the copy are stored, none of the main host is known.
	calm, hurt := filepath.Join(dir, "calm"), filepath.Join(dir, "hurt")
	p.run(p.crawl(calm, append([]string{"--scope", "host"}, p.web.PageURLs(copy)...)...))
	files, err := filepath.Glob(filepath.Join(calm, "frontier-*.db"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, f := range files {
		age(t, f, 25*time.Hour)
	}
	if err := os.CopyFS(hurt, os.DirFS(calm)); err != nil {
		t.Fatal(err)
	}
	p.web.SetRobots(copy, hostLine(m0), closedBy(copy, hostLine(m0)))
	next := []string{"--scope", "domain", "http://" + copy + "/new.html"}

	p.web.ResetLog()
	p.run(p.crawl(calm, next...))
	want := p.result(calm)
	if len(want.mirrors) != 1 || !strings.Contains(want.mirrors[0], `"state":"mirror","reason":"","detail":"","evidence":"pages 5/5"`) || len(want.pages) != 240 {
		t.Fatalf("undisturbed: %q, %d pages", want.mirrors, len(want.pages))
	}
	for i, line := range want.pages {
		if !strings.HasPrefix(line, "http://"+m0) || !strings.Contains(line, "[http://"+copy+"/") {
			t.Fatalf("undisturbed: page %d is %s", i, line)
		}
	}
	quiet := func(what string) {
		t.Helper()
		if n := p.asked(copy, false); n != 0 {
			t.Errorf("%s: %d page requests to the mirror", what, n)
		}
		p.polite()
	}
	quiet("undisturbed")

	p.web.ResetLog()
	kills := 0
	kill := func(what string, so func() bool) {
		t.Helper()
		if !p.killWhen(p.crawl(hurt, next...), what, so) {
			kills++
		}
	}
	kill("its robots.txt was asked for", func() bool { return p.asked(copy, true) > 0 })
	kill("that of the main host was asked for", func() bool { return p.asked(m0, true) > 0 })
	for _, n := range []int{1, 4, 8, 40, 80, 120, 160, 200, 235} {
		kill(fmt.Sprintf("%d pages of the main host were asked for", n), func() bool { return p.asked(m0, false) >= n })
	}
	for _, after := range []time.Duration{250, 400, 600} {
		began := time.Now()
		kill("so late", func() bool { return time.Since(began) > after*time.Millisecond })
	}
	if kills < 8 {
		t.Errorf("only %d kills: the crawl had ended by itself", kills)
	}
	p.run(p.crawl(hurt, next...))
	quiet("killed")
	if got := p.result(hurt); got.classes != want.classes || !slices.Equal(got.mirrors, want.mirrors) || !slices.Equal(got.pages, want.pages) || !slices.Equal(got.hits, want.hits) {
		t.Errorf("%v after %d kills, and without them\n%s\n%s", errors.Join(differs("mirrors", got.mirrors, want.mirrors), differs("pages", got.pages, want.pages),
			differs("hits", got.hits, want.hits)), kills, got.classes, want.classes)
	}
	t.Logf("%d kills", kills)
}

// A twin is found to be one while its pages are being fetched, in a process that is killed again
// and again: none of them stays under its name, although many were handed over by fetchers that
// died before they could tell.
func TestMirrorsKilledWhileFetched(t *testing.T) {
	t.Parallel()
	const bare, www = "twin.sim.test", "www.twin.sim.test"
	p := crawler(t, main(bare, ""), copyOf(bare, www, ""))
	dir := t.TempDir()
	p.run(p.crawl(dir, home(bare)...))
	pages := p.web.PageURLs(www)
	kills := 0
	for n := 1; n < 150; n += 1 + n/3 {
		if !p.killWhen(p.crawl(dir, pages...), fmt.Sprintf("%d pages were asked for", n), func() bool { return p.asked(www, false) >= n }) {
			kills++
		}
	}
	p.run(p.crawl(dir, pages...))
	p.polite()
	got := p.result(dir)
	// Which of them is the main host depends on how many pages of the second are there when that is
	// seen; the same for all pages it must be.
	kept, alias := bare, www
	is := func(alias, kept string) string {
		return `{"host":"` + alias + `","origin":"http://` + alias + `","main":"http://` + kept + `","state":"mirror"`
	}
	if len(got.mirrors) == 1 && strings.HasPrefix(got.mirrors[0], is(bare, www)) {
		kept, alias = www, bare
	}
	if len(got.mirrors) != 1 || !strings.HasPrefix(got.mirrors[0], is(alias, kept)) {
		t.Errorf("mirrors %q after %d kills", got.mirrors, kills)
	}
	for _, line := range slices.Concat(got.pages, got.hits) {
		if !strings.HasPrefix(line, "http://"+kept+"/") {
			t.Errorf("listed or found: %s", line)
		}
	}
	if len(got.pages) != 240 || len(got.hits) != 240 {
		t.Errorf("%d pages, %d hits, want 240", len(got.pages), len(got.hits))
	}
	// What is left of the other is handed on, and not asked for.
	before := p.asked(alias, false)
	p.run(p.crawl(dir, "http://"+alias+"/new.html"))
	if n := p.asked(alias, false) - before; n > 0 {
		t.Errorf("%d page requests to an alias", n)
	}
	t.Logf("%d kills, %s is kept, %d requests to the other", kills, kept, before)
}

// differs names the first lines that two sorted lists do not have in common.
func differs(what string, got, want []string) error {
	var errs []error
	for _, l := range got {
		if _, ok := slices.BinarySearch(want, l); !ok && len(errs) < 5 {
			errs = append(errs, fmt.Errorf("%s: %s is not to be there", what, l))
		}
	}
	for _, l := range want {
		if _, ok := slices.BinarySearch(got, l); !ok && len(errs) < 10 {
			errs = append(errs, fmt.Errorf("%s: %s is missing", what, l))
		}
	}
	return errors.Join(errs...)
}
