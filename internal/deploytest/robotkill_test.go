//go:build external

package deploytest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/internal/testaid"
)

const (
	robotSite  = "www.robots.example" // its registered domain is that of its agent host
	robotDelay = 300 * time.Millisecond
	robotRate  = 64 << 10 // octets a second from the agent host, so that a kill hits a transfer
)

// TestExternalRobotsKilled crawls a site by a mobile robot, with curtsy crawl and curtsy agenthost
// as processes, and kills one of the two ten times at random moments. In the end each page of the
// site is stored once, with its bytes, and no request came too early. ROBOT_SEED sets the random
// seed, ROBOT_PAGES the size of the site, ROBOT_KILLS the number of kills.
func TestExternalRobotsKilled(t *testing.T) {
	t.Parallel() // it mostly waits
	seed := setting(t, "ROBOT_SEED", 1)
	k := &robotKills{t: t, chance: rand.New(rand.NewPCG(uint64(seed), 30)), dir: t.TempDir(), log: requestlog.New(1 << 20)}
	k.site(setting(t, "ROBOT_PAGES", 400))
	k.serve()
	k.startHost()
	k.startCrawl()
	for n := range setting(t, "ROBOT_KILLS", 10) {
		k.kill(n)
	}
	testaid.Until(t, "the crawl ends", k.crawl.over)
	k.crawl.stop()
	k.host.stop()
	k.check()
}

type robotKills struct {
	t      *testing.T
	chance *rand.Rand
	dir    string
	log    *requestlog.Log
	files  map[string][]byte // by path

	web, agents string // addresses: the site's server, and the relay to the agent host
	listen      string // the address at which the agent host listens
	moved       atomic.Int64
	done        atomic.Int64 // requests to the site
	crawl, host *process
}

// site makes the document root.
func (k *robotKills) site(pages int) {
	words := strings.Fields("crawl page robot house river stone garden light winter summer paper window letter bridge morning evening")
	k.files = map[string][]byte{}
	var home strings.Builder
	home.WriteString("<!DOCTYPE html><html><title>home</title>")
	for n := range pages {
		path := fmt.Sprintf("/docs/%d/p%d.html", n%7, n)
		var b strings.Builder
		fmt.Fprintf(&b, "<!DOCTYPE html><html><title>Page %d</title><p>", n)
		for range 400 + k.chance.IntN(800) {
			fmt.Fprintf(&b, "%s%d ", words[k.chance.IntN(len(words))], k.chance.IntN(1000))
		}
		fmt.Fprintf(&b, "<a href=/docs/%d/p%d.html>next</a></html>\n", (n+1)%pages%7, (n+1)%pages)
		k.files[path] = []byte(b.String())
		fmt.Fprintf(&home, "<a href=%s>%d</a>\n", path, n)
	}
	k.files["/"] = []byte(home.String() + "</html>\n")
	for path, body := range k.files {
		if path == "/" {
			path = "/index.html"
		}
		name := filepath.Join(k.dir, "root", path)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			k.t.Fatal(err)
		}
		if err := os.WriteFile(name, body, 0o644); err != nil {
			k.t.Fatal(err)
		}
	}
}

// serve starts the site's server and the relay, and writes the robots.txt.
func (k *robotKills) serve() {
	t := k.t
	files := http.FileServer(http.Dir(filepath.Join(k.dir, "root")))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.Host)
		entry := k.log.Begin(requestlog.Request{
			Start: time.Now(), Host: host, Origin: r.Host, Method: r.Method, Path: r.URL.RequestURI(), UserAgent: r.UserAgent(), Robots: r.URL.Path == "/robots.txt",
		})
		answer := httptest.NewRecorder()
		files.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", fmt.Sprint(answer.Body.Len()))
		w.WriteHeader(answer.Code)
		// As in a simulated web, an answer has ended just before its last octets are sent.
		end := time.Now()
		_, err := w.Write(answer.Body.Bytes())
		k.log.End(&entry, end, answer.Code, 0, int64(answer.Body.Len()), err != nil || r.Context().Err() != nil)
		k.done.Add(1)
	}))
	t.Cleanup(srv.Close)
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	k.web = robotSite + ":" + port
	relay, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(relay.Addr().String())
	k.agents = robotSite + ":" + port
	k.listen = fmt.Sprintf("127.0.0.1:%d", freePort(t))
	ctx, cancel := context.WithCancel(context.Background())
	var relays sync.WaitGroup
	relays.Go(func() {
		for {
			c, err := relay.Accept()
			if err != nil {
				return
			}
			relays.Go(func() { k.relay(ctx, c) })
		}
	})
	t.Cleanup(func() { cancel(); relay.Close(); relays.Wait() })
	robots := "User-agent: *\nDisallow:\nMobile-agent-server: /docs/ atp://" + k.agents + "\n"
	k.files["/robots.txt"] = []byte(robots)
	if err := os.WriteFile(filepath.Join(k.dir, "root", "robots.txt"), []byte(robots), 0o644); err != nil {
		t.Fatal(err)
	}
}

// relay connects a client to the agent host, slowly, and logs the exchange.
func (k *robotKills) relay(ctx context.Context, c net.Conn) {
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	head := make([]byte, 4096)
	n, err := c.Read(head)
	if err != nil {
		return
	}
	method, _, _ := strings.Cut(string(head[:n]), " ")
	agent := ""
	for line := range strings.Lines(string(head[:n])) {
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "User-Agent") {
			agent = strings.TrimSpace(value)
		}
	}
	entry := k.log.Begin(requestlog.Request{Start: time.Now(), Host: robotSite, Origin: k.agents, Method: method, Path: "/", UserAgent: agent, Agent: true})
	status, sent, length, gone := 0, int64(0), int64(-1), false
	// The last octets are noticed before they are passed on.
	end := time.Now()
	defer func() { k.log.End(&entry, end, status, 0, sent, gone) }()
	up, err := net.Dial("tcp", k.listen)
	if err != nil {
		end = time.Now()
		return
	}
	defer up.Close()
	defer context.AfterFunc(ctx, func() { up.Close() })()
	left := make(chan struct{})
	go func() {
		defer close(left)
		if _, err := up.Write(head[:n]); err == nil {
			_, _ = io.Copy(up, c)
		}
		up.Close() // the client has left, so the answer is of no use
	}()
	b := make([]byte, 8<<10)
	for {
		n, err := up.Read(b)
		if status == 0 && n > 12 {
			_, _ = fmt.Sscanf(string(b[:n]), "ATP/0.1 %d", &status)
			length = wholeLength(b[:n])
		}
		end = time.Now()
		if n > 0 {
			if _, werr := c.Write(b[:n]); werr != nil {
				err = werr
			}
			sent += int64(n)
			k.moved.Add(int64(n))
			select {
			case <-time.After(time.Duration(n) * time.Second / robotRate):
			case <-left:
			}
		}
		if sent == length {
			break
		}
		if err != nil { // without a length, the end of the connection is the end of the response
			end, gone = time.Now(), err != io.EOF
			break
		}
	}
	c.Close()
	<-left
}

// wholeLength returns the length of a response with its head, or -1 if the head does not say it.
func wholeLength(b []byte) int64 {
	head, _, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	for line := range strings.Lines(string(head)) {
		if name, value, _ := strings.Cut(line, ":"); ok && strings.EqualFold(name, "Content-Length") {
			if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil {
				return int64(len(head)+4) + n
			}
		}
	}
	return -1
}

func (k *robotKills) startHost() {
	t := k.t
	key := filepath.Join(k.dir, "robot.pem")
	entry := strings.Fields(string(run(t, program(t, "curtsy"), "agenthost", "key", key)))
	at := slices.IndexFunc(entry, func(s string) bool { return strings.HasPrefix(s, "key=") })
	if at < 0 {
		t.Fatalf("agenthost key printed %q", entry)
	}
	k.host = launch(t, filepath.Join(k.dir, "agenthost.log"), "agenthost", "curtsy", "agenthost", "--root", filepath.Join(k.dir, "root"), "--base", "http://"+k.web+"/",
		"--address", "atp://"+k.agents, "--serve", k.listen, "--dir", filepath.Join(k.dir, "agenthost"), "--listen", "off",
		"--allow-robot", "name=us "+entry[at]+" subtree=/docs/ runs=1000")
	k.show(k.host)
	k.listening()
}

// listening waits until the agent host accepts connections.
func (k *robotKills) listening() {
	testaid.Until(k.t, "the agent host listens", func() bool {
		c, err := net.Dial("tcp", k.listen)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func (k *robotKills) startCrawl() {
	k.crawl = launch(k.t, filepath.Join(k.dir, "crawl.log"), "crawl", "curtsy", "crawl", "--dir", filepath.Join(k.dir, "crawl"), "--mobile-robots", filepath.Join(k.dir, "robot.pem"),
		"--allow-private", "--resolve", robotSite+"=127.0.0.1", "--delay", robotDelay.String(), "--hurry", robotSite, "--contact", contact, "--listen", "off",
		"--search=false", "http://"+k.web+"/")
	k.show(k.crawl)
}

// show prints what a process wrote if the test fails, and ends the process.
func (k *robotKills) show(p *process) {
	k.t.Cleanup(func() {
		if !p.over() {
			p.kill()
		}
		if k.t.Failed() {
			text, _ := os.ReadFile(p.log)
			k.t.Logf("%s wrote, at last:\n%s", p.name, tail(text))
		}
	})
}

// kill waits until something has happened, kills one of the processes and starts it again. What
// happens is counted in octets of results and in requests, so a slow machine is not killed earlier.
func (k *robotKills) kill(n int) {
	t := k.t
	octets, requests := k.moved.Load()+k.chance.Int64N(64<<10), k.done.Load()+k.chance.Int64N(12)
	testaid.Until(t, fmt.Sprintf("it is time for kill %d", n+1), func() bool {
		return k.crawl.over() || k.moved.Load() > octets || k.done.Load() > requests
	})
	if k.crawl.over() {
		t.Logf("the crawl was done before kill %d", n+1)
		return
	}
	if k.chance.IntN(2) == 0 {
		k.crawl.kill()
		t.Logf("kill %d: the crawl, after %d octets and %d requests", n+1, k.moved.Load(), k.done.Load())
		k.startCrawl()
		return
	}
	k.host.kill()
	t.Logf("kill %d: the agent host, after %d octets and %d requests", n+1, k.moved.Load(), k.done.Load())
	k.startHost()
}

// check compares what is stored with the files of the site, and checks the log.
func (k *robotKills) check() {
	t := k.t
	where := []string{"--dir", filepath.Join(k.dir, "crawl")}
	pages, st := storedPages(t, where...), status(t, where...)
	want := map[string]string{}
	for path, body := range k.files {
		if path != "/robots.txt" {
			sum := sha256.Sum256(body)
			want["http://"+k.web+path] = hex.EncodeToString(sum[:])
		}
	}
	for _, u := range slices.Sorted(maps.Keys(want)) {
		if pages[u] != want[u] {
			t.Errorf("%s is stored as %q, want %q", u, pages[u], want[u])
		}
	}
	if len(pages) != len(want) || int(st.Stored) != len(want) || st.Queued+st.InFlight != 0 {
		t.Errorf("%d pages are stored, want %d; %+v", len(pages), len(want), st)
	}
	log := k.log.Requests()
	for _, v := range requestlog.Check(log, requestlog.CheckOptions{Delay: requestlog.Every(robotDelay), Token: "curtsy"}) {
		t.Error(v)
	}
	var toAgents, forPages int
	var methods bytes.Buffer
	for _, q := range log {
		if q.Agent {
			toAgents++
			fmt.Fprintf(&methods, "%s %d, ", q.Method, q.Status)
		} else if !q.Robots {
			forPages++
		}
	}
	if k.moved.Load() == 0 || forPages > len(want) {
		t.Errorf("%d octets came from the agent host, and %d pages were requested from the site", k.moved.Load(), forPages)
	}
	t.Logf("%d pages; %d exchanges with the agent host (%s), %d octets; %d requests for pages", len(pages), toAgents, methods.String(), k.moved.Load(), forPages)
}
