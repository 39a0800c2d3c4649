//go:build external && linux

package browser

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/internal/testaid"
)

// leaky is a page that tries all ways out of a browser, to an address of this machine.
const leaky = `<link rel=dns-prefetch href="//leak.example"><link rel=preconnect href="http://ADDR/"><img src="http://ADDR/img"><iframe src="http://ADDR/frame"></iframe><script>` + text + `
	try { new WebSocket('ws://ADDR/ws').onerror = () => show('no socket') } catch (e) { show(e) }
	fetch('http://ADDR/fetch', {mode: 'no-cors'}).then(() => show('fetched'), () => show('no fetch'));
	navigator.sendBeacon('http://ADDR/beacon', 'x');
	try { const pc = new RTCPeerConnection({iceServers: [{urls: ['stun:ADDR', 'turn:ADDR?transport=tcp'], username: 'u', credential: 'c'}]});
		pc.createDataChannel('x'); pc.onicecandidate = e => { if (e.candidate) document.title = e.candidate.candidate }; pc.createOffer().then(o => pc.setLocalDescription(o)) } catch (e) { show(e) }
	try { const w = new Worker(URL.createObjectURL(new Blob(['fetch("http://ADDR/worker", {mode: "no-cors"}).then(() => postMessage("worker got out"), () => 0)']))); w.onmessage = e => show(e.data) } catch (e) { show(e) }
	if (self.WebTransport) try { new WebTransport('https://ADDR/').ready.catch(() => 0) } catch (e) {}
	window.open('http://ADDR/window'); location.href = 'http://ADDR/navigation'</script>`

// No packet leaves a browser, in each way to start one: a listener on this machine sees no
// connection, and the processes see no interface and have no sockets of the network.
func TestExternalNoPacketLeaves(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var accepted atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			_ = c.Close()
		}
	}()
	// The listener works.
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	testaid.Until(t, "the listener has accepted a connection", func() bool { return accepted.Load() == 1 })

	for _, way := range attributes() {
		r := own(t, Options{})
		if err := r.probe([]*syscall.SysProcAttr{way}); err != nil {
			t.Fatal(err)
		}
		r.attr = way
		p := page(strings.ReplaceAll(leaky, "ADDR", l.Addr().String()))
		p.URL = "http://a.example/"
		var sent []string
		res, err := r.Render(t.Context(), p, func(q render.Request) render.Response {
			sent = append(sent, q.URL)
			for id := range r.all {
				if way != nil {
					checkNamespace(t, id.cmd.Process.Pid)
				}
			}
			return render.Response{Refused: "test"}
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(sent) == 0 || accepted.Load() != 1 {
			t.Errorf("%s: requests %q through Fetch; %d connections", r.Isolation(), sent, accepted.Load())
		}
		if got := body(string(res.HTML)); strings.Contains(got, "got out") || strings.Contains(got, "fetched") || !strings.Contains(got, "no fetch") {
			t.Errorf("%s: %s", r.Isolation(), got)
		}
		if strings.Contains(string(res.HTML), "candidate") {
			t.Errorf("it knows an address: %s", res.HTML)
		}
		t.Log(r.Isolation())
		r.Close()
	}
}

// checkNamespace looks into the namespace of the network of a process.
func checkNamespace(t *testing.T, pid int) {
	t.Helper()
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "route"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, name))
		if err != nil {
			t.Error(err)
		}
		if lines := strings.Count(string(b), "\n"); lines > 1 {
			t.Errorf("sockets or routes in %s:\n%s", name, b)
		}
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	if err != nil || strings.Count(string(b), "\n") != 3 || !strings.Contains(string(b), "lo:") {
		t.Errorf("interfaces: %s, %v", b, err)
	}
}

// families returns the processes below this one, by their parents, and their command lines.
func families(pid int) map[int]string {
	found := map[int]string{}
	for _, p := range descendants(pid) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		found[p] = strings.ReplaceAll(string(b), "\x00", " ")
	}
	return found
}

// alive lists those of these processes that run.
func alive(pids map[int]string) (list []string) {
	for p, line := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		if err == nil && strings.ReplaceAll(string(b), "\x00", " ") == line && line != "" {
			list = append(list, strconv.Itoa(p)+" "+line)
		}
	}
	return list
}

// After Close no process of a browser is left, with and without namespaces.
func TestExternalCloseEndsAll(t *testing.T) {
	for _, way := range attributes() {
		r := own(t, Options{})
		r.attr = way
		if _, err := r.Render(t.Context(), page("x"), noFetch); err != nil {
			t.Fatal(err)
		}
		all := map[int]string{}
		for b := range r.all {
			all = families(b.cmd.Process.Pid)
		}
		if len(alive(all)) < 3 {
			t.Fatalf("processes: %v", all)
		}
		r.Close()
		if left := alive(all); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		if left, err := os.ReadDir(r.opt.Dir); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
	}
}

const parentEnv = "RENDERS_FOR_A_TEST"

// When this program is killed, its browsers end, with and without namespaces.
func TestExternalParentKilled(t *testing.T) {
	if way := os.Getenv(parentEnv); way != "" {
		n, _ := strconv.Atoi(way)
		r, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.attr = attributes()[n]
		_, _ = r.Render(t.Context(), page("<script src=/a.js></script>"), func(render.Request) render.Response {
			fmt.Println("OPEN")
			select {} // the parent kills this process
		})
		return
	}
	for n := range attributes() {
		cmd := exec.Command(os.Args[0], "-test.run=^TestExternalParentKilled$")
		cmd.Env = append(os.Environ(), parentEnv+"="+strconv.Itoa(n))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var seen []byte
		b := make([]byte, 1000)
		for !bytes.Contains(seen, []byte("OPEN")) {
			k, err := out.Read(b)
			if seen = append(seen, b[:k]...); err != nil {
				t.Fatalf("%s, %v", seen, err)
			}
		}
		all := families(cmd.Process.Pid)
		if len(all) < 4 {
			t.Fatalf("processes: %v", all)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		testaid.Until(t, "all processes have ended", func() bool { return len(alive(all)) == 0 })
	}
}

// find returns the process of a browser with this in its command line.
func find(r *Renderer, what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for b := range r.all {
		for p, line := range families(b.cmd.Process.Pid) {
			if strings.Contains(line, what) {
				return p
			}
		}
	}
	return 0
}

// A process of the browser that dies while a page is rendered costs that page. The next one is
// rendered by another browser, and so is one that comes after an idle browser was killed.
func TestExternalCrashes(t *testing.T) {
	r := own(t, Options{})
	for _, what := range []string{"--type=renderer", "guard"} {
		_, err := r.Render(t.Context(), page("<script src=/a.js></script>"), func(render.Request) render.Response {
			pid := find(r, what)
			if what == "guard" {
				for b := range r.all {
					pid = b.cmd.Process.Pid
				}
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			return render.Response{Status: 200}
		})
		var failed *render.Failed
		if !errors.As(err, &failed) || failed.Why == "" {
			t.Errorf("%s killed: %v", what, err)
		}
		t.Logf("%s: %v", what, err)
		if res, err := r.Render(t.Context(), page("x"), noFetch); err != nil || body(string(res.HTML)) != "x" {
			t.Errorf("the page after it: %v", err)
		}
	}
	for b := range r.all {
		if err := syscall.Kill(b.cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	if res, err := r.Render(t.Context(), page("x"), noFetch); err != nil || body(string(res.HTML)) != "x" {
		t.Errorf("the page after an idle browser was killed: %v", err)
	}
}

// A browser is replaced after so many pages, and none sees anything of those before it.
func TestExternalPagesSeeNothingOfOthers(t *testing.T) {
	r := own(t, Options{Pages: 2})
	var first map[int]string
	for i := range 3 {
		res, err := r.Render(t.Context(), page(`<script>document.body.append(document.cookie + '|' + localStorage.length + '|' + Math.random() + crypto.randomUUID()); document.cookie = 'a=b'; localStorage.a = 1</script>`), noFetch)
		if err != nil {
			t.Fatal(err)
		}
		if got := body(string(res.HTML)); !strings.HasPrefix(got, "|0|0.") {
			t.Errorf("page %d: %s", i, got)
		}
		if i == 0 {
			for b := range r.all {
				first = families(b.cmd.Process.Pid)
			}
		}
	}
	if r.started != 2 || len(alive(first)) > 0 {
		t.Errorf("%d browsers, of the first are left: %q", r.started, alive(first))
	}
}

// Pages are rendered at the same time, each by a browser of its own.
func TestExternalTwoAtOnce(t *testing.T) {
	r := own(t, Options{Processes: 2})
	both := make(chan struct{}, 2)
	together := make(chan struct{})
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := r.Render(t.Context(), page("<script src=/a.js></script>"), func(render.Request) render.Response {
				both <- struct{}{}
				if len(both) == 2 {
					close(together)
				}
				<-together
				return render.Response{Refused: "test"}
			})
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// The same page at the same time gives the same bytes.
func TestExternalSameBytes(t *testing.T) {
	r := renderer(t)
	const p = `<ul id=l></ul><script>` + text + `for (let i = 0; i < 5; i++) { setTimeout(() => show(i + ' ' + Math.random() + ' ' + Date.now()), Math.random() * 3000); fetch('/' + i).then(r => r.text()).then(show) }
		show(crypto.randomUUID()); show(crypto.getRandomValues(new Uint32Array(3))); show(performance.timeOrigin); setTimeout(() => show(performance.now()), 345)</script>`
	var first string
	for range 4 {
		res, err := r.Render(t.Context(), page(p), func(q render.Request) render.Response { return render.Response{Status: 200, Body: []byte(q.URL)} })
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(res.HTML)
			t.Log(body(first))
		}
		if string(res.HTML) != first {
			t.Errorf("%s\nafter\n%s", body(string(res.HTML)), body(first))
		}
	}
}

// Each browser that is installed renders pages, with its own sandbox.
func TestExternalEachBrowser(t *testing.T) {
	n := 0
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		n++
		r := own(t, Options{Path: path})
		for _, a := range apps[:5] {
			var l log
			res, err := r.Render(t.Context(), page(a.body), a.site.fetch(&l))
			if err != nil {
				t.Fatalf("%s: %s: %v", name, a.name, err)
			}
			if got := body(string(res.HTML)); got != a.want {
				t.Errorf("%s: %s: %s, want %s", name, a.name, got, a.want)
			}
		}
		if s := r.Isolation(); !strings.HasSuffix(s, "filter of system calls, user "+strconv.Itoa(r.limit.User)+", its own sandbox") || r.limit.User == 0 {
			t.Errorf("%s: %s", name, s)
		}
		r.Close()
	}
	if n == 0 {
		t.Fatal("no browser is installed")
	}
}

// A user without privileges has a browser without network, too.
func TestExternalAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the other tests run as a user")
	}
	if os.Getenv(parentEnv) != "" {
		return
	}
	dir, err := os.MkdirTemp("", "u-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	b, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program, tmp := filepath.Join(dir, "browser.test"), filepath.Join(dir, "t")
	if err := os.WriteFile(program, b, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(tmp, 0o755), os.Chown(tmp, 1234, 1234)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestExternal(NoPacketLeaves|CloseEndsAll)$", "-test.v")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp, "HOME=" + tmp}
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1234, Gid: 1234}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "user 1234") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
