package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/web/dashboard"
)

// run makes the store, requests the pages, and writes the table.
func run(ctx context.Context, s settings, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "eyes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	spec := crawl.Spec{
		Name: "default", Shards: s.shards, Created: time.Now(), Scope: "any", MaxDepth: -1, HoldMax: 10 * time.Minute,
		Agent: "curtsy", AllowPrivate: true, Search: true, Delay: time.Second, Seeds: []string{"http://" + hostName(0) + "/"},
	}
	e, err := engine.Open(ctx, engine.Options{
		Dir: dir, Instance: "eyes", Plan: func(*crawl.Spec) (crawl.Spec, error) { return spec, nil }, NotFetched: true, Unreached: true,
		Version: "0.0.0", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.Run(ctx, func(ctx context.Context, _ crawl.Status) error {
		c, began := e.Crawl(), time.Now()
		if err := fill(ctx, s, c); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		if err := store(ctx, s, c); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		st, err := c.Status(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%d hosts, %d URLs, %d pages stored; made in %v\n", st.Hosts, st.Discovered, st.Stored, time.Since(began).Round(time.Second))
		web := dashboard.New(dashboard.Options{Ask: dashboard.Of(c), Name: "bench", Timeout: 10 * time.Minute})
		return ask(ctx, s, web, out)
	})
}

// asked is a page of the table.
type asked struct{ name, path string }

func pages() []asked {
	host := hostName(hostNumber)
	page := url.QueryEscape("http://" + host + shownPage)
	return []asked{
		{"overview", "/"},
		{"hosts", "/hosts"},
		{"hosts, most queued first", "/hosts?sort=queued&down=1"},
		{"hosts, filtered", "/hosts?q=*7.site*&state=held"},
		{"host", "/host/" + host},
		{"explain, stored", "/explain?url=" + page},
		{"explain, queued", "/explain?url=" + url.QueryEscape("http://"+host+"/some/directory/page-1.html")},
		{"explain, unknown", "/explain?url=" + url.QueryEscape("http://nobody.example/")},
		{"search, a rare word", "/search?q=" + oneWord},
		{"search, a word of all pages", "/search?q=words"},
		{"datasets", "/datasets"},
		{"datasets, two words and a licence", "/datasets?q=water+station&license=CC0-1.0"},
		{"datasets, page 100", "/datasets?from=5001"},
		{"dataset", ""},
		{"mirrors", "/mirrors"},
		{"updates", "/updates"},
		{"mobile-robots", "/mobile-robots"},
		{"log", "/log"},
		{"log of a host", "/log?host=" + host},
		{"robots.txt", "/robots?url=" + page},
		{"copy of a page", "/copy?url=" + page},
		{"settings", "/settings"},
	}
}

var found = regexp.MustCompile(`[0-9]+ to [0-9]+ of [0-9,]+`)

var datasetLink = regexp.MustCompile(`href="(/dataset/[^"]+)"`)

// ask requests each page, and writes what it costs: the first time, and the minimum of the other
// times.
func ask(ctx context.Context, s settings, web http.Handler, out io.Writer) error {
	if s.profile != "" {
		f, err := os.Create(s.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	runtime.GC()
	before := cpu()
	time.Sleep(2 * time.Second)
	fmt.Fprintf(out, "at rest: %.1f ms of CPU a second\n", ms(cpu()-before)/2)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "page\tms of CPU\tfirst\tMiB allocated\tKiB sent\tms by the clock\tfirst\tMiB held after\t")
	dataset := ""
	for _, p := range pages() {
		if p.path == "" {
			if p.path = dataset; dataset == "" {
				continue
			}
		}
		if !strings.Contains(p.path, s.only) && p.path != "/datasets" {
			continue
		}
		cost, body, err := costOf(ctx, s, web, p.path)
		if err != nil {
			return err
		}
		if m := found.FindString(body); m != "" && p.path == "/datasets" {
			fmt.Fprintf(out, "datasets: %s\n", m)
		}
		if m := datasetLink.FindStringSubmatch(body); m != nil {
			dataset = m[1]
		}
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.2f\t%.0f\t%.1f\t%.1f\t%.0f\t\n", p.name, cost.cpu, cost.first, cost.alloc/(1<<20), float64(len(body))/1024, cost.clock, cost.firstClock, heapMiB())
		w.Flush()
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return err
	}
	fmt.Fprintf(out, "memory at most: %d MiB\n", u.Maxrss>>10)
	return nil
}

// making is shown on a page about datasets while there is no result to show yet.
const making = "is being put together from"

// cost is the cost of a page, in milliseconds and bytes: first is the CPU time of the first round,
// with everything that is computed in the background, and firstClock the time until it was
// answered; the others are the minimum of the later rounds.
type cost struct{ first, firstClock, cpu, alloc, clock float64 }

func costOf(ctx context.Context, s settings, web http.Handler, path string) (c cost, body string, err error) {
	for i := range s.rounds + 1 {
		var m0, m1 runtime.MemStats
		runtime.ReadMemStats(&m0)
		at, began := cpu(), time.Now()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1"+path, nil)
		answer := httptest.NewRecorder()
		web.ServeHTTP(answer, r)
		took, clock := ms(cpu()-at), ms(time.Since(began))
		runtime.ReadMemStats(&m1)
		if answer.Code != http.StatusOK {
			return c, "", fmt.Errorf("%s: %d %.300s", path, answer.Code, answer.Body)
		}
		body = answer.Body.String()
		if i == 0 {
			for strings.Contains(body, making) {
				time.Sleep(10 * time.Millisecond)
				answer = httptest.NewRecorder()
				web.ServeHTTP(answer, r)
				body = answer.Body.String()
			}
			c = cost{ms(cpu() - at), clock, math.Inf(1), math.Inf(1), math.Inf(1)}
			continue
		}
		c.cpu, c.clock, c.alloc = min(c.cpu, took), min(c.clock, clock), min(c.alloc, float64(m1.TotalAlloc-m0.TotalAlloc))
	}
	return c, body, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// heapMiB returns the size of the heap after a collection, in MiB.
func heapMiB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// cpu returns the CPU time that this process has used so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it cannot fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
