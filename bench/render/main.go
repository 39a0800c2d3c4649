// Command render crawls a site of a shared bundle with `curtsy crawl --render auto`, and prints its
// pages with Chromium alone (--dump-dom), which is the strongest simple rival. It compares the
// texts, the requests that the site received, and what a page costs.
//
//	apt-get install chromium libjs-vue
//	cd bench && go run ./render [-pages 200] [-dumps 40] [-slots 2]
//
// The site is an application made with Vue: a page of 400 bytes, the framework, a script, a style
// sheet, a picture, and the data of each page as JSON, which has paragraphs of prose.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/bench/command"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/simweb/prose"
)

type settings struct {
	pages, dumps, slots int
	vue                 string
}

func parse(args []string, stderr io.Writer) (s settings, err error) {
	f := flag.NewFlagSet("render", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.pages, "pages", 200, "pages of the site")
	f.IntVar(&s.dumps, "dumps", 40, "pages that Chromium alone prints, one process each")
	f.IntVar(&s.slots, "slots", 2, "pages that the crawl renders at the same time, one host each")
	f.StringVar(&s.vue, "vue", "/usr/share/javascript/vue/vue.min.js", "the framework")
	return s, f.Parse(args)
}

func main() { command.Main("render", parse, run) }

// site is the application. It counts the requests for its pages and what belongs to them.
type site struct {
	vue      []byte
	pages    int
	requests atomic.Int64
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if path != "/robots.txt" {
		s.requests.Add(1)
	}
	kind, body := "text/html; charset=utf-8", []byte(nil)
	number, isPage := strings.CutPrefix(path, "/page/")
	data, isData := strings.CutPrefix(path, "/api/")
	switch {
	case path == "/robots.txt":
		kind, body = "text/plain", []byte("User-agent: *\nDisallow:\n")
	case isPage && s.has(number) || path == "/":
		body = []byte(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Manual</title><link rel="stylesheet" href="/style.css"></head><body><noscript>Please enable JavaScript.</noscript><div id="app"></div><script src="/vue.js"></script><script src="/app.js"></script></body></html>`)
	case isData && s.has(data):
		kind, body = "application/json", s.data(data)
	case path == "/vue.js":
		kind, body = "text/javascript", s.vue
	case path == "/app.js":
		kind, body = "text/javascript", []byte(app)
	case path == "/style.css":
		kind, body = "text/css", []byte("body { font-family: sans-serif } h1 { color: #246 } .next { display: flex }")
	case path == "/logo.svg":
		kind, body = "image/svg+xml", []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4" cx="4" cy="4"/></svg>`)
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Write(body)
}

func (s *site) has(number string) bool {
	n, err := strconv.Atoi(number)
	return err == nil && n >= 0 && n < s.pages
}

// data is an article as JSON.
func (s *site) data(number string) []byte {
	n, _ := strconv.Atoi(number)
	passages := prose.Passages(1)
	a := struct {
		Title string   `json:"title"`
		Text  []string `json:"text"`
		Next  []int    `json:"next"`
	}{Title: fmt.Sprintf("Chapter %d", n)}
	for i := range 12 {
		a.Text = append(a.Text, passages[(n*12+i)%len(passages)])
	}
	for i := 1; i <= 5; i++ {
		a.Next = append(a.Next, (n*5+i)%s.pages)
	}
	b, err := json.Marshal(a)
	if err != nil {
		log.Fatal(err)
	}
	return b
}

const app = `
new Vue({
  el: "#app",
  data: {article: null},
  template: '<main><img src="/logo.svg" alt="logo"><article v-if="article"><h1>{{ article.title }}</h1><p v-for="p in article.text">{{ p }}</p><nav class="next"><a v-for="n in article.next" :href="\'/page/\' + n">Chapter {{ n }}</a></nav></article><p v-else>Loading</p></main>',
  created() {
    const n = (location.pathname.match(/\d+/) || ["0"])[0];
    fetch("/api/" + n).then(r => r.json()).then(a => { this.article = a; document.title = a.title; });
  },
});
`

func run(ctx context.Context, s settings, out io.Writer) error {
	vue, err := os.ReadFile(s.vue)
	if err != nil {
		return fmt.Errorf("%w: apt-get install libjs-vue", err)
	}
	dir, err := os.MkdirTemp("", "render-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root, err := command.Checkout(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", root)
	if err := command.Build(ctx, dir, "github.com/curtsy/curtsy/cmd/curtsy"); err != nil {
		return err
	}
	web := &site{vue: vue, pages: s.pages}
	server := httptest.NewServer(web)
	defer server.Close()

	crawled, ours, err := crawl(ctx, dir, server.URL, s)
	if err != nil {
		return err
	}
	oursRequests := web.requests.Swap(0)
	rival, theirs, err := dump(ctx, dir, server.URL, s)
	if err != nil {
		return err
	}
	rivalRequests := web.requests.Load()

	same, differ := 0, 0
	for u, text := range theirs {
		if crawled[u] == text {
			same++
			continue
		}
		if differ++; differ <= 3 {
			fmt.Fprintf(out, "%s differs:\n  curtsy   %.300q\n  chromium %.300q\n", u, crawled[u], text)
		}
	}
	fmt.Fprintf(out, "%d pages of %d printed by both have the same text\n\n", same, same+differ)
	fmt.Fprintln(out, "| | pages | requests a page | CPU ms a page | seconds a page | peak MiB of memory, all processes |")
	fmt.Fprintln(out, "|---|---:|---:|---:|---:|---:|")
	for _, row := range []struct {
		name     string
		c        cost
		requests int64
	}{{"curtsy crawl --render auto", ours, oursRequests}, {"chromium --dump-dom, one process a page", rival, rivalRequests}} {
		n := float64(row.c.pages)
		fmt.Fprintf(out, "| %s | %d | %.2f | %.0f | %.2f | %d |\n", row.name, row.c.pages, float64(row.requests)/n, row.c.cpu.Seconds()*1000/n, row.c.wall.Seconds()/n, row.c.memory>>20)
	}
	if differ > 0 {
		return errors.New("texts differ")
	}
	return nil
}

// cost is what some pages have cost.
type cost struct {
	pages     int
	cpu, wall time.Duration
	memory    int64
}

// crawl crawls the site on as many names as pages may be rendered at the same time, and returns the
// text of each page.
func crawl(ctx context.Context, dir, site string, s settings) (texts map[string]string, c cost, err error) {
	data := filepath.Join(dir, "data")
	args := []string{"crawl", "--dir", data, "--render", "auto", "--render-slots", strconv.Itoa(s.slots), "--allow-private", "--delay", "0s", "--scope", "host", "--sitemaps=false", "--data-json=false",
		"--progress", "none", "--listen", "off", "--search=false", site + "/page/0"}
	c, _, err = measured(ctx, exec.CommandContext(ctx, filepath.Join(dir, "curtsy"), args...))
	if err != nil {
		return nil, c, err
	}
	export := exec.CommandContext(ctx, filepath.Join(dir, "curtsy"), "export", "pages", "--dir", data, "--content", "text", "--format", "jsonl")
	var stdout, stderr bytes.Buffer
	export.Stdout, export.Stderr = &stdout, &stderr
	if err := export.Run(); err != nil {
		return nil, c, fmt.Errorf("export: %w\n%s", err, stderr.Bytes())
	}
	texts = map[string]string{}
	for sc := bufio.NewScanner(&stdout); sc.Scan(); {
		var p struct{ URL, Text string }
		if err := json.Unmarshal(sc.Bytes(), &p); err != nil {
			return nil, c, err
		}
		texts[p.URL] = words(p.Text)
		c.pages++
	}
	return texts, c, nil
}

// dump prints pages with Chromium alone.
func dump(ctx context.Context, dir, site string, s settings) (c cost, texts map[string]string, err error) {
	texts = map[string]string{}
	var x pagetext.Extractor
	for i := range min(s.dumps, s.pages) {
		u := fmt.Sprintf("%s/page/%d", site, i*s.pages/min(s.dumps, s.pages))
		one, stdout, err := measured(ctx, exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000",
			"--user-data-dir="+filepath.Join(dir, "profile", strconv.Itoa(i)), "--dump-dom", u))
		if err != nil {
			return c, nil, err
		}
		c.pages++
		c.cpu, c.wall, c.memory = c.cpu+one.cpu, c.wall+one.wall, max(c.memory, one.memory)
		texts[u] = words(string(x.Text("text/html", "utf-8", stdout).Body))
	}
	return c, texts, nil
}

// words makes one line of a text.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// measured runs a command, and returns what it and its processes have cost.
func measured(ctx context.Context, cmd *exec.Cmd) (c cost, stdout []byte, err error) {
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return c, nil, err
	}
	done := make(chan struct{})
	spent := map[int]time.Duration{}
	var watching sync.WaitGroup
	watching.Go(func() {
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			m := command.MemoryOf(cmd.Process.Pid)
			c.memory = max(c.memory, m.Anonymous)
			command.CPUsOf(cmd.Process.Pid, spent)
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	err = cmd.Wait()
	close(done)
	watching.Wait()
	c.wall = time.Since(start)
	if err != nil {
		return c, nil, fmt.Errorf("%s: %w\n%s", cmd.Path, err, failed.Bytes())
	}
	for _, d := range spent {
		c.cpu += d
	}
	// Short processes may be missing there, and here those that nobody waits for.
	c.cpu = max(c.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	return c, out.Bytes(), nil
}
