package fetcher

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/pkg/sitemap"
)

// Version is the version our User-Agent names.
const Version = "0.1"

const (
	// maxCrawlDelay is the longest Crawl-delay we wait out. Above it the host is held and reported, never hurried.
	maxCrawlDelay = 10 * time.Minute
	// politeDelay is the least delay for hosts that may not be hurried.
	politeDelay = time.Second
	// afterAbandon is the least rest after we closed a connection in the middle of an answer: the origin sees its end
	// a moment later than we do.
	afterAbandon = 25 * time.Millisecond
	// maxHops is how many redirects in a row lead to pages.
	maxHops = 10
)

// Options says how a Fetcher works. The zero value is right for a crawl; a field's zero means its default.
type Options struct {
	Name  string // how frontiers know this fetcher, a NATS subject token; "" makes one up
	Hands int    // visits carried out at once; 0 = 64

	ConnectTimeout time.Duration // name lookup, connect and TLS together; 0 = 10 s
	FirstByte      time.Duration // from the request to the first byte of the answer; 0 = 30 s
	WholeResponse  time.Duration // from the request to the last byte; 0 = 2 min
	RateWindow     time.Duration // an answer must bring MinRate bytes a second over each window; 0 = 20 s
	MinRate        int64         // 0 = 1024
	IdleTimeout    time.Duration // an unused connection is kept this long; 0 = 30 s

	MaxHeader  int64 // bytes of a response's header block; 0 = 64 KiB
	MaxBody    int64 // bytes of a page after content-decoding; 0 = 10 MiB
	maxSitemap int64 // bytes of a sitemap; 0 = sitemap.MaxBytes. Tests set less: the race detector needs half a minute for 50 MiB of XML
	MaxPerIP   int   // requests at once to one public address; 0 = 8

	Grace          time.Duration // for publishing what is there after Run's context ended; 0 = 5 s
	RequestTimeout time.Duration // for questions to a frontier; 0 = 2 s

	RulesCache int // robots.txt files kept parsed; 0 = 4096

	DiscardPages bool // pages are fetched, read for links and counted, but handed to nobody

	Resolver   *net.Resolver         // nil: the system's
	TLS        *tls.Config           // nil: certificates are verified as usual
	Log        *slog.Logger          // nil: slog.Default()
	Registerer prometheus.Registerer // nil: the metrics are kept but registered nowhere
}

func (o Options) withDefaults() Options {
	o.maxSitemap = cmp.Or(o.maxSitemap, sitemap.MaxBytes)
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.ConnectTimeout, 10*time.Second)
	def(&o.FirstByte, 30*time.Second)
	def(&o.WholeResponse, 2*time.Minute)
	def(&o.RateWindow, 20*time.Second)
	def(&o.IdleTimeout, 30*time.Second)
	def(&o.Grace, 5*time.Second)
	def(&o.RequestTimeout, 2*time.Second)
	num := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	num(&o.Hands, 64)
	num(&o.MaxPerIP, 8)
	num(&o.RulesCache, 4096)
	if o.MinRate <= 0 {
		o.MinRate = 1024
	}
	if o.MaxHeader <= 0 {
		o.MaxHeader = 64 << 10
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 10 << 20
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}
