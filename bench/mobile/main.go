// Command mobile compares two crawls of one site of real manuals: by requests, and by a mobile
// robot that the site lets in (docs/mobile-robots.md).
//
//	go run ./mobile                 both crawls, and both again after one page in a hundred changed
//	go run ./mobile -pages 300      the same with fewer pages
//	go run ./mobile -by robot-only  what the robot alone sends, without a crawl around it
//
// nginx serves the manuals with the settings of Debian (gzip on), curtsy agenthost runs robots,
// and curtsy crawl crawls, each as processes of their own. All connections go through proxies in
// this process, which count octets in both directions. What the crawls stored is compared, page by
// page, by the SHA-256 of the octets.
//
// The crawl by requests runs without a delay, because with one it would take an hour and a half:
// its seconds are those it took, and a second more for each request. The crawl by a robot has the
// delay. The crawls after the change are done by a curtsy whose clock is two days ahead, because
// nothing is fetched again on the same day.
//
// It needs Debian's nginx, and its packages postgresql-doc-15 and cppreference-doc-en-html, and
// installs what is missing if it is run by root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/curtsy/curtsy/bench/command"
)

type settings struct {
	pages int
	delay time.Duration
	dir   string
	by    map[string]bool
}

func main() { command.Main("mobile", parse, run) }

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("mobile", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.pages, "pages", 0, "pages of the site; 0: all 5,594")
	f.DurationVar(&s.delay, "delay", time.Second, "between the requests of a crawl")
	f.StringVar(&s.dir, "dir", "", "keep all files in this `DIR`, which does not exist; empty: a temporary one")
	by := f.String("by", "requests,robot", "crawls to measure: requests, robot, robot-only (without a crawl around it)")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	s.by = map[string]bool{}
	for _, word := range strings.Split(*by, ",") {
		if word != "requests" && word != "robot" && word != "robot-only" {
			return s, fmt.Errorf("-by %q is unknown; use requests, robot, robot-only", word)
		}
		s.by[word] = true
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case s.pages != 0 && s.pages < 100:
		return s, errors.New("-pages is 100 or more")
	}
	return s, nil
}

// ahead is how far the clock of the second crawls is ahead.
const ahead = 48 * time.Hour

func run(ctx context.Context, s settings, w io.Writer) (err error) {
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "curtsy-mobile-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	} else if err := os.Mkdir(s.dir, 0o755); err != nil {
		return err
	}
	if err := install(ctx); err != nil {
		return err
	}
	now, later := filepath.Join(s.dir, "now"), filepath.Join(s.dir, "later")
	bins := map[bool]string{false: filepath.Join(now, "curtsy"), true: filepath.Join(later, "curtsy")}
	if err := command.Build(ctx, now, "./cmd/curtsy"); err != nil {
		return err
	}
	m, err := newManuals(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	fmt.Fprintf(w, "%d pages, %.1f MB\n\n", m.pages, float64(m.octets)/1e6)
	t := table{w: w}
	for _, again := range []bool{false, true} {
		if again {
			if err := m.change(); err != nil {
				return err
			}
			if s.by["requests"] || s.by["robot"] {
				if err := buildAhead(ctx, later); err != nil {
					return err
				}
			}
		}
		if err := m.phase(ctx, bins, again, &t); err != nil {
			return err
		}
	}
	return nil
}

// phase does each kind of crawl once, and compares what they have stored.
func (m *manuals) phase(ctx context.Context, bins map[bool]string, again bool, t *table) error {
	bin, what, all := bins[again], "first", []map[string]string{}
	if again {
		what = "after 1 % changed"
	}
	if m.s.by["requests"] {
		f, err := m.crawl(ctx, bin, "requests", 0, again)
		if err != nil {
			return err
		}
		f.seconds += float64(f.http) * m.s.delay.Seconds()
		t.row(what, "requests", f)
		pages, err := m.stored(ctx, bin, "requests")
		if err != nil {
			return err
		}
		all = append(all, pages)
	}
	if m.s.by["robot"] {
		if err := m.startHost(ctx, bin); err != nil {
			return err
		}
		f, err := m.crawl(ctx, bin, "robot", m.s.delay, again, "--mobile-robots", m.file("robot.pem"))
		if err != nil {
			return err
		}
		t.row(what, "robot", f)
		pages, err := m.stored(ctx, bin, "robot")
		if err = errors.Join(err, m.stopHost()); err != nil {
			return err
		}
		all = append(all, pages)
	}
	if m.s.by["robot-only"] {
		// Its tickets have the time of this process.
		if err := m.startHost(ctx, bins[false]); err != nil {
			return err
		}
		pages, err := m.robotOnly(ctx, what, t)
		if err = errors.Join(err, m.stopHost()); err != nil {
			return err
		}
		all = append(all, pages)
	}
	for i := 1; i < len(all); i++ {
		if err := compare(t.w, all[0], all[i]); err != nil {
			return err
		}
	}
	return nil
}

// table prints one row after the other.
type table struct {
	w     io.Writer
	begun bool
}

// figures are what a crawl cost.
type figures struct {
	http, atp  int   // requests
	httpOctets int64 // in both directions
	atpOctets  int64
	seconds    float64
	stored     int
}

func (t *table) row(what, how string, f figures) {
	if !t.begun {
		fmt.Fprint(t.w, "| crawl | by | pages stored | HTTP requests | ATP requests | octets, HTTP | octets, ATP | octets | seconds |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n")
		t.begun = true
	}
	fmt.Fprintf(t.w, "| %s | %s | %d | %d | %d | %d | %d | %d | %.0f |\n", what, how, f.stored, f.http, f.atp, f.httpOctets, f.atpOctets, f.httpOctets+f.atpOctets, f.seconds)
}

// install installs what is missing.
func install(ctx context.Context) error {
	var missing []string
	for _, p := range [][2]string{{"nginx-light", "/usr/sbin/nginx"}, {"postgresql-doc-15", postgres}, {"cppreference-doc-en-html", cppreference}} {
		if _, err := os.Stat(p[1]); err != nil {
			missing = append(missing, p[0])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	for _, args := range [][]string{{"update", "-qq"}, append([]string{"install", "-y", "-qq", "--no-install-recommends"}, missing...)} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("install %v: %w\n%s", missing, err, out)
		}
	}
	return nil
}
