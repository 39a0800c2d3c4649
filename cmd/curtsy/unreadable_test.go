package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/pkg/canon"
)

// killEnv names a part of the URLs of pages that kill the process that reads them. It works in test
// binaries only.
const killEnv = "TEST_KILLS_CURTSY"

// mainThatMayDie is main, with pages that kill the process.
func mainThatMayDie() {
	if what := os.Getenv(killEnv); what != "" {
		indexer.SetTestHook(func(u canon.URL) {
			if strings.Contains(string(u), what) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		})
	}
	main()
}

// killSite is a site of three pages, and how to run curtsy on it.
type killSite struct {
	t    *testing.T
	url  string
	dir  string
	kill bool
}

func newKillSite(t *testing.T) *killSite {
	srv := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/", "/one", "/killer":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, `<title>%s</title><p>words of %[1]s <a href=/one>1</a> <a href=/killer>2</a>`, r.URL.Path)
		default:
			http.NotFound(w, r)
		}
	})
	return &killSite{t: t, url: srv.URL + "/", dir: t.TempDir()}
}

// run runs a command and returns its output, and whether it was killed.
func (k *killSite) run(args ...string) (out string, killed bool) {
	k.t.Helper()
	cmd := exec.Command("curtsy", args...)
	cmd.Env = append(os.Environ(), "CURTSY_LISTEN=off")
	if k.kill {
		cmd.Env = append(cmd.Env, killEnv+"=/killer")
	}
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		killed = !exit.Exited()
		if !killed {
			k.t.Errorf("curtsy %s: %v\n%s", strings.Join(args, " "), err, b)
		}
	}
	return string(b), killed
}

func (k *killSite) crawl() (killed bool) {
	_, killed = k.run("crawl", "--dir", k.dir, "--contact", "a@example.org", "--allow-private", "--delay", "20ms", k.url)
	return killed
}

// quarantine checks that the killer has an outcome of its own, that the others are stored,
// and that counts agree.
func (k *killSite) setAside() {
	k.t.Helper()
	if out, _ := k.run("explain", "--dir", k.dir, k.url+"killer"); !strings.Contains(out, "unreadable") || !strings.Contains(out, "failed") {
		k.t.Errorf("explain says %q", out)
	}
	if out, _ := k.run("pages", "--dir", k.dir); !strings.Contains(out, k.url+"one") || strings.Contains(out, k.url+"killer") {
		k.t.Errorf("pages: %s", out)
	}
	out, _ := k.run("status", "--dir", k.dir, "--json")
	for _, want := range []string{`"stored":2`, `"failed":1`, `"unreadable":1`} {
		if !strings.Contains(strings.ReplaceAll(out, " ", ""), want) {
			k.t.Errorf("status lacks %s: %s", want, out)
		}
	}
	if out, _ := k.run("search", "--dir", k.dir, "words"); strings.Contains(out, k.url+"killer") || !strings.Contains(out, k.url+"one") {
		k.t.Errorf("search: %s", out)
	}
}

// A page that kills the process that stores it costs one start. At the next start it is tried in a
// process of its own and quarantined.
func TestPageThatKillsIsSetAside(t *testing.T) {
	t.Parallel()
	k := newKillSite(t)
	k.kill = true
	if !k.crawl() {
		t.Fatal("the page did not kill the first process: this test tests nothing")
	}
	if k.crawl() {
		t.Fatal("the page killed the second process, too")
	}
	k.setAside()
}

// A process that is killed while it reads a harmless page loses nothing: the page is tried again
// and stored.
func TestPageThatWasReadWhenSomebodyKilled(t *testing.T) {
	t.Parallel()
	k := newKillSite(t)
	k.kill = true
	if !k.crawl() {
		t.Fatal("nothing was killed")
	}
	k.kill = false
	if k.crawl() {
		t.Fatal("killed")
	}
	if out, _ := k.run("pages", "--dir", k.dir); !strings.Contains(out, k.url+"killer") {
		t.Errorf("the page is lost: %s", out)
	}
}

// A stored page that kills the process that indexes or exports it costs at most one start of each
// kind, and is removed by the next crawl.
func TestStoredPageThatKills(t *testing.T) {
	for _, args := range [][]string{{"reindex"}, {"export", "pages"}, {"export", "links"}, {"search", "words"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			k := newKillSite(t)
			if k.crawl() {
				t.Fatal("killed")
			}
			k.kill = true
			args := append(args[:len(args):len(args)], "--dir", k.dir)
			if _, killed := k.run(args...); !killed {
				t.Fatal("the page did not kill the first process: this test tests nothing")
			}
			if _, killed := k.run(args...); killed {
				t.Fatal("the page killed the second process, too")
			}
			if k.crawl() {
				t.Fatal("the page killed the crawl")
			}
			k.setAside()
		})
	}
}
