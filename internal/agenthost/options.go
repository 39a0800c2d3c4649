package agenthost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// Options are what a [Host] needs. All fields without a note are required.
type Options struct {
	Root       string // the document root; "": documents are what the sitemaps of the site list
	Server     string // the site's own server on this machine, which has the documents; "": none
	Base       string // the URL at which the document root is served; its path ends with "/"
	Dir        string // for state, modules and results; outside of the document root
	RobotsFile string // "": that of the server, or if Base has no path that in the document root
	Index      string // the name of index files, which have the URL of their directory; "": none
	Extensions []string
	Headers    []Header // lines that the web server adds; may be empty

	// Dial connects to the server. Nil means TCP. The address is one of this machine.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Address string  // where robots are sent: atp://host[:port], the host of tickets
	Allowed []Robot // nobody else is admitted

	Runs     int           // at the same time
	Memory   int64         // bytes of a robot's linear memory
	CPU      time.Duration // processor time of a run, in whole seconds
	Wall     time.Duration // of a run, by the clock
	Read     int64         // octets of documents that a run may read
	Sent     int64         // octets of results, compressed, that a run may send
	Document int64         // octets of one document

	Keep    time.Duration // how long results are kept after the end of a run
	Results int64         // bytes of all results together; then the oldest are deleted earlier

	Registry *prometheus.Registry // nil: no metrics
	Log      *slog.Logger
}

// plan is Options that were checked, with what follows from them.
type plan struct {
	Options
	base    canon.URL
	origin  robots.Origin
	address atp.Address
	allowed map[string]Robot  // by the text of their key
	types   map[string]string // of documents, by extension
	server  *siteServer       // nil: there is none
	headers headers
}

func (o Options) check() (*plan, error) {
	p := &plan{Options: o, allowed: map[string]Robot{}, types: map[string]string{}}
	var err error
	if p.base, err = canon.Parse(o.Base); err != nil {
		return nil, fmt.Errorf("base %s: %w", o.Base, err)
	}
	if p.base.Query() != "" || !strings.HasSuffix(p.base.Path(), "/") {
		return nil, fmt.Errorf("base %s: use the URL of a directory, for example https://www.example.org/", o.Base)
	}
	if p.origin, err = robots.ParseOrigin(string(p.base)); err != nil {
		return nil, err
	}
	if p.address, err = atp.ParseAddress(o.Address); err != nil {
		return nil, fmt.Errorf("address: %w; use for example atp://www.example.org:%d", err, atp.UnprivilegedPort)
	}
	if p.address.Place != "" {
		return nil, fmt.Errorf("address %s: remove what follows the port", o.Address)
	}
	if o.Server != "" {
		if p.server, err = newSiteServer(o.Server, p.base, o.Dial); err != nil {
			return nil, err
		}
	} else if o.Root == "" {
		return nil, errors.New("there are no documents: set root, for example to /var/www/html, or server")
	}
	if p.headers, err = newHeaders(o.Headers, p.origin); err != nil {
		return nil, err
	}
	if p.RobotsFile == "" && p.server == nil {
		if p.base.Path() != "/" {
			return nil, errors.New("base has a path, so robots-file must name the robots.txt of the host")
		}
		p.RobotsFile = filepath.Join(o.Root, "robots.txt")
	}
	for _, r := range o.Allowed {
		if _, twice := p.allowed[r.Key]; twice {
			return nil, fmt.Errorf("two robots have the key %s; write their subtrees into one entry", r.Key)
		}
		p.allowed[r.Key] = r
	}
	for _, e := range o.Extensions {
		kind, ok := mediaTypes[e]
		if !ok && p.server == nil { // a server states it
			return nil, fmt.Errorf("extension %q: its media type is unknown; remove it, or set server", e)
		}
		p.types[e] = kind
	}
	return p, p.separate()
}

// separate refuses a data folder that robots could read.
func (p *plan) separate() error {
	if p.Root == "" {
		return nil
	}
	root, err := filepath.EvalSymlinks(p.Root)
	if err != nil {
		return fmt.Errorf("root: %w", err)
	}
	if info, err := os.Stat(root); err != nil {
		return fmt.Errorf("root: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("root %s is not a directory", p.Root)
	}
	dir, err := filepath.Abs(p.Dir)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if root, err = filepath.Abs(root); err != nil {
		return err
	}
	if rel, err := filepath.Rel(root, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return fmt.Errorf("dir %s is inside the document root %s; use a directory outside of it", p.Dir, p.Root)
	}
	return nil
}

// mediaTypes are the types of documents, by the extension of their files. A file of another kind is
// no document: it may be a program, whose text the web server does not show.
var mediaTypes = map[string]string{
	"html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml", "txt": "text/plain", "md": "text/markdown",
	"xml": "application/xml", "rss": "application/rss+xml", "atom": "application/atom+xml", "svg": "image/svg+xml",
	"json": "application/json", "jsonld": "application/ld+json", "csv": "text/csv", "tsv": "text/tab-separated-values",
	"pdf": "application/pdf", "epub": "application/epub+zip",
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"odt":  "application/vnd.oasis.opendocument.text", "ods": "application/vnd.oasis.opendocument.spreadsheet", "odp": "application/vnd.oasis.opendocument.presentation",
}

// DefaultExtensions are the extensions of the documents that robots may read by default.
func DefaultExtensions() []string {
	return []string{"html", "htm", "xhtml", "txt", "md", "xml", "rss", "atom", "json", "jsonld", "csv", "tsv", "pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp"}
}
