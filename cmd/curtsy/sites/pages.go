package sites

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxFile is how many bytes of a file are read.
const maxFile = 20 << 20

// page is a page that rules are applied to.
type page struct {
	url         canon.URL
	from        string // "stored", "file" or "fetched"
	contentType string
	charset     string
	header      http.Header // nil if it is not known
	body        []byte
}

// pages finds pages: in a crawl, in files, and on the web. It is for one goroutine.
type pages struct {
	app    *app.App
	cfg    *config.SitesTest
	stored *asker.Crawl    // nil: there is none
	send   *fetcher.Manual // nil until a page is fetched
	last   map[canon.Host]time.Time
}

// open finds the crawl. Unless --dir or the like was given, there need not be one.
func (p *pages) open(ctx context.Context, src *config.Source) error {
	from, err := p.app.Open(ctx, p.cfg.Reader())
	if err != nil && (src.Given("dir") || p.cfg.URL != "") {
		return err
	}
	if err == nil {
		p.stored = from
	}
	return nil
}

func (p *pages) close() {
	if p.stored != nil {
		p.stored.Close()
	}
}

// file reads a local file, which has the address u.
func (p *pages) file(name string, u canon.URL) (*page, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, app.Usage("%v; name a URL or an existing file", err)
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	kind := mime.TypeByExtension(filepath.Ext(name))
	if strings.EqualFold(filepath.Ext(name), ".md") {
		kind = html.TypeMarkdown
	}
	return newPage(u, "file", cmp.Or(kind, http.DetectContentType(body)), nil, body), nil
}

func newPage(u canon.URL, from, contentType string, header http.Header, body []byte) *page {
	return &page{url: u, from: from, contentType: contentType, charset: html.PageCharset(body, contentType), header: header, body: body}
}

// of returns the stored page of a URL, or else fetches it, at least delay after the last request to
// its host.
func (p *pages) of(ctx context.Context, u canon.URL, delay time.Duration) (*page, error) {
	if p.stored != nil {
		rec, found, err := p.stored.Page(ctx, string(u), "html")
		if err == nil && found && rec.HTML != "" && !rec.Cut {
			return &page{url: canon.URL(rec.URL), from: "stored", contentType: cmp.Or(rec.ContentType, "text/html"), charset: "utf-8", body: []byte(rec.HTML)}, nil
		}
	}
	if p.send == nil {
		m, err := p.app.Requester(app.RequesterOptions{
			Sign: p.cfg.Sign, Access: p.cfg.SiteAccess, Contact: p.cfg.Contact, AllowPrivate: p.cfg.AllowPrivate, Resolve: p.cfg.Resolve,
		})
		if err != nil {
			return nil, err
		}
		p.send, p.last = m, map[canon.Host]time.Time{}
	}
	if at, ok := p.last[u.Host()]; ok && delay > 0 {
		if err := wait(ctx, delay-time.Since(at)); err != nil {
			return nil, err
		}
	}
	defer func() { p.last[u.Host()] = time.Now() }()
	return p.fetch(ctx, u)
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fetch requests a page. The requester obeys robots.txt and the delays of its host.
func (p *pages) fetch(ctx context.Context, u canon.URL) (*page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, string(u), nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: p.send}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: the server answers with status %d", u, res.StatusCode)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if end, err := canon.Parse(res.Request.URL.String()); err == nil {
		u = end
	}
	return newPage(u, "fetched", cmp.Or(res.Header.Get("Content-Type"), http.DetectContentType(body)), res.Header, body), nil
}
