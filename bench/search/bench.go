package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A manual is a directory of pages that a Debian package installs, served under its own host name.
type manual struct {
	name, pkg, dir string
	stemmer        string // the setting of Xapian; Curtsy detects the language
}

var manuals = []manual{
	{"postgresql", "postgresql-doc-15", "/usr/share/doc/postgresql-doc-15/html", "english"},
	{"python", "python3.11-doc", "/usr/share/doc/python3.11/html", "english"},
	{"cppreference", "cppreference-doc-en-html", "/usr/share/cppreference/doc/html/en", "english"},
	{"gimp-de", "gimp-help-de", "/usr/share/gimp/2.0/help/de", "german"},
	{"debian-handbook-fr", "debian-handbook", "/usr/share/doc/debian-handbook/html/fr-FR", "french"},
	// Added after the ranking was finished, to test it with manuals that had not been used for it.
	{"git", "git-doc", "/usr/share/doc/git-doc", "english"},
	{"sqlite", "sqlite3-doc", "/usr/share/doc/sqlite3", "english"},
	{"django", "python-django-doc", "/usr/share/doc/python-django-doc/html", "english"},
	{"debian-handbook-es", "debian-handbook", "/usr/share/doc/debian-handbook/html/es-ES", "spanish"},
}

func (m manual) host() string { return m.name + ".manual.test" }

// A bench is a directory with a binary of the checkout and its crawl.
type bench struct {
	dir     string
	shards  int
	manuals []manual
	pages   []page
}

// A page is one line of the export.
type page struct{ URL, Title, Text string }

// place returns the host and path of a URL, however its path was escaped, or "" if it is not a URL.
func place(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Hostname() + u.Path
}

func (b *bench) binary() string { return filepath.Join(b.dir, "curtsy") }
func (b *bench) data() string   { return filepath.Join(b.dir, fmt.Sprintf("data-%d", b.shards)) }

// prepare builds curtsy from the checkout that contains this module, crawls the manuals, each
// served under its host at a loopback address, and reads the exported text. The crawl of an earlier
// run is resumed, and has nothing left to do.
func (b *bench) prepare(ctx context.Context, reindex bool) error {
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	defer web.Close()
	args := []string{"crawl", "--dir", b.data(), "--allow-private", "--delay", "0s", "--resolve", "*.manual.test=" + web.Listener.Addr().String(),
		"--shards", strconv.Itoa(b.shards), "--listen", "off", "--log-level", "warn"}
	for _, m := range b.manuals {
		if _, err := os.Stat(m.dir); err != nil {
			return fmt.Errorf("install it with apt-get install --no-install-recommends %s: %w", m.pkg, err)
		}
		mux.Handle(m.host()+"/", http.FileServer(http.Dir(m.dir)))
		args = append(args, "http://"+m.host()+"/")
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", b.binary(), "./cmd/curtsy")
	build.Dir = ".."
	if _, err := run(build); err != nil {
		return fmt.Errorf("run this in bench/: %w", err)
	}
	if _, err := run(exec.CommandContext(ctx, b.binary(), args...)); err != nil {
		return err
	}
	if reindex {
		if _, err := run(exec.CommandContext(ctx, b.binary(), "reindex", "--dir", b.data())); err != nil {
			return err
		}
	}
	text, err := run(exec.CommandContext(ctx, b.binary(), "export", "pages", "--dir", b.data()))
	if err != nil {
		return err
	}
	for dec := json.NewDecoder(bytes.NewReader(text)); dec.More(); {
		var p page
		if err := dec.Decode(&p); err != nil {
			return err
		}
		b.pages = append(b.pages, p)
	}
	return nil
}

// run runs a command and returns its standard output.
func run(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	return out, nil
}
