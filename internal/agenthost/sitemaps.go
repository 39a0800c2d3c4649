package agenthost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/sitemap"
)

// Limits of what the sitemaps of a site list for one run, so that its memory is bounded. What is
// beyond them is not listed.
const (
	maxSitemaps    = 1000
	maxListed      = maxEntries
	maxListedBytes = 32 << 20
)

// errListed ends the reading of sitemaps at a limit.
var errListed = errors.New("the sitemaps list more than a run may list")

// listing are the documents that the sitemaps of a site list. It is used by one goroutine.
type listing struct {
	d     *documents
	paths []string // sorted, each once
	bytes int      // of them
	next  []canon.URL
	seen  map[canon.URL]bool // sitemaps that were read, or are in next
	read  int                // sitemaps
}

// paths returns the documents below the subtree that the sitemaps list. They are read once.
func (d *documents) paths(ctx context.Context) ([]string, error) {
	if d.listed != nil {
		return d.listed.paths, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.p.CPU)
	defer cancel()
	l := &listing{d: d, seen: map[canon.URL]bool{}}
	robotsURL := d.p.origin.String() + "/robots.txt"
	for _, raw := range d.robots.SitemapURLs(robotsURL) {
		l.add(raw)
	}
	if len(l.next) == 0 {
		l.add(d.p.origin.String() + "/sitemap.xml")
	}
	var failure error // the last one
	failed := 0
	for len(l.next) > 0 && !errors.Is(failure, errListed) {
		u := l.next[0]
		l.next = l.next[1:]
		err := l.sitemap(ctx, u)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the sitemaps cannot be read in %s: %w", d.p.CPU, mobile.Unreadable)
		}
		if err != nil {
			failure = fmt.Errorf("%s: %w", u, err)
			failed++
		}
	}
	if l.read == 0 {
		return nil, fmt.Errorf("no sitemap can be read (%w), so nothing is listed; make one, or set root as well: %w", failure, mobile.Unreadable)
	}
	if failed > 0 {
		d.p.Log.Warn("sitemaps were not read completely", "sitemaps", failed, "error", failure)
	}
	slices.Sort(l.paths)
	l.paths = slices.Compact(l.paths)
	d.listed = l
	return l.paths, nil
}

// add adds a sitemap of this site.
func (l *listing) add(raw string) {
	u, err := canon.Parse(raw)
	if err != nil || len(l.seen) >= maxSitemaps || l.seen[u] || !l.d.p.ours(u) {
		return
	}
	l.seen[u] = true
	l.next = append(l.next, u)
}

// ours reports whether a URL is one of this site.
func (p *plan) ours(u canon.URL) bool {
	return strings.HasPrefix(string(u), p.origin.String()+"/")
}

// sitemap reads a sitemap.
func (l *listing) sitemap(ctx context.Context, u canon.URL) error {
	res, err := l.d.p.server.get(ctx, l.d.token, u.PathQuery())
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", res.Status)
	}
	base := canon.NewBase(u)
	_, err = sitemap.Read(res.Body, sitemap.Options{}, func(e sitemap.Entry) error {
		at, err := base.Join(e.Loc)
		switch {
		case err != nil:
			return nil // it names no document
		case e.Sitemap:
			l.add(string(at))
			return nil
		case !l.d.p.ours(at) || l.d.admits(at) != nil:
			return nil
		}
		return l.page(at.PathQuery())
	})
	if err == nil || err == errListed {
		l.read++
	}
	return err
}

// page adds a document.
func (l *listing) page(path string) error {
	if l.bytes += len(path); len(l.paths) >= maxListed || l.bytes > maxListedBytes {
		return errListed
	}
	l.paths = append(l.paths, path)
	return nil
}

// listPaths returns the paths after one, each with NUL behind it.
func listPaths(paths []string, after string, most int) (list []byte, err error) {
	from, found := slices.BinarySearch(paths, after)
	if found {
		from++
	}
	for _, p := range paths[from:] {
		if len(list)+len(p)+1 > most {
			if len(list) == 0 {
				err = mobile.SmallBuffer
			}
			break
		}
		list = append(append(list, p...), 0)
	}
	return list, err
}
