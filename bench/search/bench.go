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

	// If parts is set, only these directories of dir are served, separated by spaces. The start
	// page then links to the index.html of each, or to every page, because no page does.
	parts string
	every bool
}

var manuals = []manual{
	{name: "postgresql", pkg: "postgresql-doc-15", dir: "/usr/share/doc/postgresql-doc-15/html", stemmer: "english"},
	{name: "python", pkg: "python3.11-doc", dir: "/usr/share/doc/python3.11/html", stemmer: "english"},
	{name: "cppreference", pkg: "cppreference-doc-en-html", dir: "/usr/share/cppreference/doc/html/en", stemmer: "english"},
	{name: "gimp-de", pkg: "gimp-help-de", dir: "/usr/share/gimp/2.0/help/de", stemmer: "german"},
	{name: "debian-handbook-fr", pkg: "debian-handbook", dir: "/usr/share/doc/debian-handbook/html/fr-FR", stemmer: "french"},
	// Added after the ranking was finished, to test it with manuals that had not been used for it.
	{name: "git", pkg: "git-doc", dir: "/usr/share/doc/git-doc", stemmer: "english"},
	{name: "sqlite", pkg: "sqlite3-doc", dir: "/usr/share/doc/sqlite3", stemmer: "english"},
	{name: "django", pkg: "python-django-doc", dir: "/usr/share/doc/python-django-doc/html", stemmer: "english"},
	{name: "debian-handbook-es", pkg: "debian-handbook", dir: "/usr/share/doc/debian-handbook/html/es-ES", stemmer: "spanish"},
}

// unseen are corpora that are no programming manuals. They were added on 2026-11-30, so that a
// change of the ranking can be judged on pages and queries that it was not made for.
var unseen = []manual{
	{name: "libreoffice", pkg: "libreoffice-help-en-us", dir: "/usr/share/libreoffice/help", stemmer: "english", parts: "en-US", every: true},
	{name: "gnucash", pkg: "gnucash-docs", dir: "/usr/share/doc/gnucash-docs", stemmer: "english",
		parts: "gnucash-guide-en gnucash-help-en gnucash-guide-de gnucash-help-de"},
	{name: "apache", pkg: "apache2-doc", dir: "/usr/share/doc/apache2-doc/manual", stemmer: "english", parts: "en da de es fr ja ko pt-br ru tr zh-cn"},
	{name: "installation-guide", pkg: "installation-guide-amd64", dir: "/usr/share/doc/installation-guide-amd64", stemmer: "none", parts: "cs de ja vi"},
}

// bulk are pages without queries of their own. They make the corpora as many pages as a team's
// sites may have, where speed is measured.
var bulk = []manual{
	{name: "linux", pkg: "linux-doc-6.1", dir: "/usr/share/doc/linux-doc-6.1/html"},
	{name: "libreoffice-de", pkg: "libreoffice-help-de", dir: "/usr/share/libreoffice/help", parts: "de", every: true},
}

func (m manual) host() string { return m.name + ".manual.test" }

// A bench is a directory with a binary of the checkout and its crawl.
type bench struct {
	dir     string
	shards  int
	manuals []manual
	extra   []string // arguments for our own searches
	reader  bool     // ours is told the reader's language
	pages   []page
	twin    map[string]string // place of a page: that of the first page of the host with its text
	stop    []func()          // ends what engines started
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
		site, err := m.site()
		if err != nil {
			return err
		}
		mux.Handle(m.host()+"/", site)
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
	b.twins()
	return nil
}

// twins finds the pages of a host with the same title and text.
func (b *bench) twins() {
	b.twin = map[string]string{}
	first := map[string]string{}
	for _, p := range b.pages {
		at := place(p.URL)
		host, _, _ := strings.Cut(at, "/")
		key := host + "\n" + p.Title + "\n" + p.Text
		if first[key] == "" {
			first[key] = at
		}
		b.twin[at] = first[key]
	}
}

// one returns the first place of a page, of several with the same text.
func (b *bench) one(place string) string {
	if at := b.twin[place]; at != "" {
		return at
	}
	return place
}

// distinct leaves out hits whose text stands further up. Ours shows such pages once; so that the
// rivals do not fill ten places with copies of one page, theirs are counted likewise.
func (b *bench) distinct(hits []hit) (out []hit) {
	seen := map[string]bool{}
	for _, h := range hits {
		at := b.one(place(h.urls[0]))
		if !seen[at] {
			out = append(out, h)
		}
		seen[at] = true
	}
	return out
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
