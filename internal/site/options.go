package site

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
	"github.com/prometheus/client_golang/prometheus"
)

// Options describe what a Site watches, offers and mails. Root, Base, Dir, Serve, Info.CGI and Mail
// have no default.
type Options struct {
	Root   string // document root
	Base   string // URL at which the root is served
	Dir    string // directory of rupd.db, outside the root
	Robots string // file with the site's robots.txt; "" for the one in the root
	Index  string // name of index files, whose URL is that of their directory; "" for none
	Ignore []string

	Settle    time.Duration // quiet time after which a burst of changes is processed; 0 for 2 s
	ScanEvery time.Duration // between scans of the whole root; 0 for an hour

	Serve   string         // address of the HTTP server for robots
	Proxies []netip.Prefix // whose X-Forwarded-For is trusted
	Info    rup.Info       // what is offered; CGI may be relative to Base

	Unasked          bool // mail reports to addresses that have not confirmed that they want them
	MaxRegistrations int  // 0 for 1000
	PerDomain        int  // registrations with addresses in one domain; 0 for 20
	RegisterPerHour  int  // from one address; 0 for 10
	IndexPerHour     int  // GetIndex from one address; 0 for 60

	Mail MailOptions

	Log      *slog.Logger         // nil for none
	Registry *prometheus.Registry // nil for none of its own
}

// plan is the result of checking Options.
type plan struct {
	Options
	names  names
	base   *url.URL
	cgi    *url.URL
	robots string
	relay  *relay
}

// check fills in defaults. It returns an error if the Options are invalid.
func (o Options) check() (*plan, error) {
	p := &plan{Options: o}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Registry == nil {
		p.Registry = prometheus.NewRegistry()
	}
	zero := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	zero(&p.Settle, 2*time.Second)
	zero(&p.ScanEvery, time.Hour)
	if p.MaxRegistrations <= 0 {
		p.MaxRegistrations = 1000
	}
	var err error
	if p.names, err = newNames(o.Index, o.Ignore); err != nil {
		return nil, err
	}
	if p.base, err = parseBase(o.Base); err != nil {
		return nil, err
	}
	if p.relay, err = newRelay(o.Mail, p.base); err != nil {
		return nil, err
	}
	if p.robots = o.Robots; p.robots == "" {
		if p.base.Path != "/" {
			return nil, fmt.Errorf("base %s is not the root of its host: give the file with the host's robots.txt (robots-file), for example /var/www/html/robots.txt", p.base)
		}
		p.robots = filepath.Join(o.Root, "robots.txt")
	}
	if err := p.offer(); err != nil {
		return nil, err
	}
	p.relay.out = p.page("leave")
	return p, p.places()
}

// page is the absolute URL of a page below the CGI URL.
func (p *plan) page(name string) string {
	u := *p.cgi
	u.Path, u.RawQuery = pagePath(p.cgi, name), ""
	return u.String()
}

// offer checks what rupinfo.txt offers to robots.
func (p *plan) offer() error {
	cgi, err := url.Parse(p.Info.CGI)
	if err != nil || p.Info.CGI == "" {
		return fmt.Errorf("cgi %q: must be a path of the site or a URL on its host, for example /rup", p.Info.CGI)
	}
	p.cgi = p.base.ResolveReference(cgi)
	switch {
	case p.cgi.Hostname() != p.base.Hostname(), p.cgi.Scheme != "http" && p.cgi.Scheme != "https":
		return fmt.Errorf("cgi %s: must be on the site's host, %s; robots use no other host", p.cgi, p.base.Hostname())
	case strings.Trim(p.cgi.Path, "/") == "", p.cgi.Path == rup.InfoPath, strings.ContainsAny(p.cgi.Path, "{} "), p.cgi.Fragment != "":
		return fmt.Errorf("cgi %s: needs a path of its own, for example /rup", p.cgi)
	}
	for _, unit := range p.Info.Latency {
		if unit.Days() == 0 {
			return fmt.Errorf("latency %q: use day, week or month", unit)
		}
	}
	_, err = p.Info.Text()
	return err
}

// places checks that our own files are not inside the document root. Otherwise writing them would
// be a change, which would be written to them again, and the registrations would be served to
// everybody.
func (p *plan) places() error {
	root, err := filepath.Abs(p.Root)
	if err != nil || p.Root == "" {
		return errors.Join(fmt.Errorf("root %q: must be the document root, for example /var/www/html", p.Root), err)
	}
	dir, err := filepath.Abs(p.Dir)
	if err != nil || p.Dir == "" {
		return errors.Join(fmt.Errorf("dir %q: must be a directory to keep state in, for example /var/lib/rupd", p.Dir), err)
	}
	resolved := func(path string) string {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		return path
	}
	if within(resolved(dir), resolved(root)) {
		return fmt.Errorf("dir %s: is in the document root, where everyone could read it; use for example /var/lib/rupd", dir)
	}
	p.Root = root
	return nil
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
