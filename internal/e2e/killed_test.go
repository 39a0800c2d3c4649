package e2e

import (
	"bytes"
	"encoding/json"
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
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/internal/testaid"
)

// program is the curtsy command, in separate processes, and a web for it to crawl.
type program struct {
	t   *testing.T
	bin string
	web *simweb.Server
}

// command makes a process of the program; nothing in the environment configures it.
func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.bin, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "CURTSY_") })
	return cmd
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

func (p *program) decode(line []byte, v any) {
	p.t.Helper()
	if err := json.Unmarshal(line, v); err != nil {
		p.t.Fatalf("%v: %s", err, line)
	}
}

// killAt runs a command until the web has had so many requests, and then kills it like a power cut.
func (p *program) killAt(cmd *exec.Cmd, requests int) {
	p.t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	over := false
	testaid.Until(p.t, fmt.Sprintf("%d requests were sent", requests), func() bool {
		select {
		case <-ended:
			over = true
		default:
		}
		return over || len(p.web.Log()) >= requests
	})
	if over {
		p.t.Fatalf("the crawl was over before request %d: %s", requests, errs.Bytes())
	}
	cmd.Process.Kill()
	<-ended
}

// TestKilled kills the program again and again in the middle of a crawl with an archive, at any
// instruction; other tests stop a crawl between two steps. All its promises must hold:
//   - What was counted is not fetched again: of each host with a delay of 20 ms or more at most two
//     requests are repeated for each kill; and none comes too early.
//   - At the end all pages are stored.
//   - The timelines of its hosts have all that the log of the web has, in the same order and at the
//     same times, and no pause in them is shorter than the bound that it names.
//   - All records of the archive are complete, and each stored page has one response; what was
//     fetched again because of a kill has a revisit.
func TestKilled(t *testing.T) {
	if testaid.RaceDetector {
		t.Skip("the race detector only sees this process, and the tested code runs in others; the run without it tests everything")
	}
	const hosts, pages, kills = 12, 40, 8
	delay := func(i int) time.Duration { return time.Duration(i%4) * 20 * time.Millisecond }
	web, err := simweb.Start(simweb.Config{Seed: 13, Hosts: hosts, PagesPerHost: pages, PageBytes: 2 << 10, KeepSent: true, Mix: func(i int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree, CrawlDelay: delay(i), Latency: 3 * time.Millisecond}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	p := &program{t, filepath.Join(t.TempDir(), "curtsy"), web}
	if out, err := exec.Command("go", "build", "-o", p.bin, "../../cmd/curtsy").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir, warcs := t.TempDir(), t.TempDir()
	// Each process names another contact, which identifies its requests in the log of the web. A
	// request that was in progress when its process was killed may be read later than that.
	args := []string{
		"crawl", "--dir", dir, "--listen", "off", "--allow-private", "--delay", "10ms", "--hold-max", "3s",
		"--resolve", web.Resolve(), "--warc", warcs, "--search=false", "--contact", "",
	}
	contact := len(args) - 1
	slow := map[string]bool{}
	for i := range hosts {
		name := fmt.Sprintf("h%04d.sim.test", i)
		args = append(args, "http://"+name+"/")
		slow[name] = delay(i) >= 20*time.Millisecond
	}
	const each = hosts * pages / (kills + 2)
	for i := range kills {
		args[contact] = process(i)
		p.killAt(p.command(args...), len(web.Log())+each)
	}
	args[contact] = process(kills)
	p.run(p.command(args...))
	log := web.Log()
	// The web may notice late that a process was killed.
	for _, v := range requestlog.Check(log, requestlog.CheckOptions{Token: token, Delay: requestlog.Every(10 * time.Millisecond), AbortTolerance: time.Hour}) {
		t.Error(v)
	}
	repeated := repeats(t, log, kills, func(host string) bool { return slow[host] })
	stored := 0
	for _, e := range web.Expect(token) {
		if e.Class == simweb.Stored {
			stored++
		}
	}
	var listed []string
	for line := range bytes.Lines(p.run(p.command("pages", "--json", "--dir", dir))) {
		var i crawl.PageInfo
		p.decode(line, &i)
		listed = append(listed, i.URL)
	}
	if len(listed) != stored {
		t.Errorf("%d pages of %d", len(listed), stored)
	}
	revisits := wholeArchive(t, web, warcs, listed)
	requests, cut := 0, 0
	for i := range hosts {
		var tl crawl.Timeline
		p.decode(p.run(p.command("timeline", fmt.Sprintf("h%04d.sim.test", i), "--json", "--dir", dir)), &tl)
		if tl.More || len(tl.Unknown) > 0 {
			t.Errorf("%s: more %v, unknown %v", tl.Host, tl.More, tl.Unknown)
		}
		cut += sameAsLog(t, tl, log)
		requests += len(tl.Requests)
		pauses(t, tl, max(delay(i), 10*time.Millisecond))
	}
	t.Logf("%d requests, %d of them repeated after %d kills; %d in %d timelines, %d cut; %d pages, %d revisits",
		len(log), repeated, kills, requests, hosts, cut, stored, revisits)
}

// process returns the contact that a process of a crawl names.
func process(i int) string { return fmt.Sprintf("process-%d@example.org", i) }

// repeats checks that, for each slow host, at most two requests are repeated per killed process,
// and that no process repeats its own requests. It returns how many were repeated.
func repeats(t *testing.T, log []requestlog.Request, kills int, slow func(host string) bool) (sum int) {
	t.Helper()
	type at struct {
		host string
		kill int
	}
	by := func(r requestlog.Request) (n int) {
		for n < kills && !strings.Contains(r.UserAgent, process(n)) {
			n++
		}
		return n
	}
	repeats, last := map[at]int{}, map[string]int{}
	for _, r := range log {
		u, n := r.Host+r.Path, by(r)
		if before, again := last[u]; again {
			if sum++; before == n {
				t.Errorf("%s was asked for twice by one process", u)
			}
			if repeats[at{r.Host, before}]++; repeats[at{r.Host, before}] == 3 && slow(r.Host) {
				t.Errorf("of %s more than two requests were repeated for kill %d", r.Host, before+1)
			}
		}
		last[u] = n
	}
	return sum
}

// wholeArchive checks that everything in the archive was sent, and that each of these pages has one
// response. It returns how many revisits there are.
func wholeArchive(t *testing.T, web *simweb.Server, dir string, pages []string) (revisits int) {
	t.Helper()
	sent := map[string][]string{}
	for _, s := range web.Sent() {
		sent[s.URL] = append(sent[s.URL], string(s.Bytes))
	}
	responses := map[string]int{}
	for _, rec := range readArchive(t, dir) {
		uri := rec.h.Get("Warc-Target-Uri")
		if rec.is("response") {
			if responses[uri]++; responses[uri] > 1 && !strings.Contains(rec.block, "HTTP/1.1 304") {
				t.Errorf("%s has %d responses", uri, responses[uri])
			}
			if !slices.Contains(sent[uri], rec.block) {
				t.Errorf("%s: what is archived was not sent: %.300q", uri, rec.block)
			}
		}
		if rec.is("revisit") {
			revisits++
		}
	}
	for _, u := range pages {
		if responses[u] != 1 {
			t.Errorf("%s is stored, and has %d responses", u, responses[u])
		}
	}
	return revisits
}

// pauses checks that no pause of a timeline is shorter than the bound that it names, and no bound
// is lower than the minimum.
func pauses(t *testing.T, tl crawl.Timeline, least time.Duration) {
	t.Helper()
	for j, r := range tl.Requests {
		if r.Kind != "robots" && j > 0 && r.BoundS < least.Seconds() {
			t.Errorf("%s: a bound of %gs by %s", r.URL, r.BoundS, r.BoundSource)
		}
		if j == 0 || tl.Requests[j-1].Cut {
			continue
		}
		if pause := r.Start.Sub(tl.Requests[j-1].End); pause.Seconds() < r.BoundS {
			t.Errorf("%s: %v after the end before, the bound is %gs by %s", r.URL, pause, r.BoundS, r.BoundSource)
		}
	}
}

// sameAsLog compares a timeline with the log of the web, and returns how many of its requests were
// cut. A request that was cut may have ended before its first byte was sent.
func sameAsLog(t *testing.T, tl crawl.Timeline, log []requestlog.Request) (cut int) {
	t.Helper()
	// However late a busy machine lets either of them read its clock, one request ends before the
	// next one begins.
	const ahead = 2 * time.Millisecond
	var came []time.Time // at this host
	for _, was := range log {
		if was.Host == tl.Host {
			came = append(came, was.Start)
		}
	}
	before, after := time.Time{}, append(came, time.Now())
	i := 0
	next := func() (r crawl.Request, ok bool) {
		if i == len(tl.Requests) {
			return r, false
		}
		r = tl.Requests[i]
		if i++; r.Cut {
			cut++
		}
		return r, true
	}
	for _, was := range log {
		if was.Host != tl.Host {
			continue
		}
		after = after[1:]
		url := "http://" + was.Origin + was.Path
		r, ok := next()
		for ok && r.URL != url && (r.Cut || r.Unsent) {
			r, ok = next()
		}
		// A request that never reached the web was usually sent again: the log has that one if it
		// had begun.
		for ok && r.Cut && i < len(tl.Requests) && tl.Requests[i].URL == url && !tl.Requests[i].Start.After(was.Start.Add(ahead)) {
			r, ok = next()
		}
		switch {
		case !ok || r.URL != url:
			t.Fatalf("%s: the web's log has %s where the timeline has %q", tl.Host, url, r.URL)
		case r.Start.After(was.Start.Add(ahead)) || r.Start.Before(before):
			t.Errorf("%s: it came at %v, and was sent at %v", url, was.Start, r.Start)
		case !r.Cut && (r.Status != was.Status || r.End.Before(was.Start) || r.End.After(after[0].Add(ahead))):
			t.Errorf("%s: it came at %v, the next one at %v, and was answered %d; the timeline has %d at %v", url, was.Start, after[0], was.Status, r.Status, r.End)
		}
		before = was.Start
	}
	for r, ok := next(); ok; r, ok = next() {
		if !r.Cut && !r.Unsent {
			t.Errorf("%s: the web's log has no %s at %v", tl.Host, r.URL, r.Start)
		}
	}
	return cut
}
