package fetcher

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/internal/fetcher/dispatch"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/mobile/pagereader"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/pkg/botauth"
	"github.com/prometheus/client_golang/prometheus"
)

// Robot is a mobile robot, and the key that servers know it by. It may be used concurrently, by all
// fetchers of a process.
type Robot = dispatch.Robot

// PageReader is the mobile robot of Curtsy's own, whose tickets are signed with key. Without a key
// it is nil.
func PageReader(key *botauth.Key) (*Robot, error) {
	if key == nil {
		return nil, nil
	}
	return dispatch.NewRobot(key, pagereader.Module())
}

// Options says how a Fetcher works. The zero value is right for a crawl. The zero value of a field
// stands for its default.
type Options struct {
	Name  string // its name for frontiers, a NATS subject token; "": one is invented
	Slots int    // visits that run at the same time; 0 = 64

	// Shared makes this fetcher one of several in its process, for as many crawls; nil means that
	// it is alone. The options that NewShared uses are then those that it was called with.
	Shared *Shared
	Weight int // of this crawl when slots are divided among those of Shared; 0 = 1

	// Alone says that no other crawl uses this NATS server, so that visits of others need not be
	// considered. Otherwise a host is entered with a claim on it among all crawls of the server
	// (internal/fetcher/claims).
	Alone bool

	ConnectTimeout time.Duration // name lookup, connect and TLS together; 0 = 10 s
	FirstByte      time.Duration // from the request to the first byte of the answer; 0 = 30 s
	WholeResponse  time.Duration // from the request to the last byte; 0 = 2 min
	// An answer must have MinRate bytes a second in each window; 0 = 20 s.
	RateWindow  time.Duration
	MinRate     int64         // 0 = 1024
	IdleTimeout time.Duration // an unused connection is kept this long; 0 = 30 s

	MaxHeader int64 // bytes of a response's header block; 0 = 64 KiB
	MaxBody   int64 // bytes of a page after content-decoding; 0 = 10 MiB
	// Bytes of a JSON catalogue of datasets; 0 = catalog.MaxCatalogue.
	MaxCatalogue int64
	// Bytes of a sitemap; 0 = sitemap.MaxBytes. Tests set less: the race detector needs half a
	// minute for 50 MiB of XML.
	maxSitemap int64
	// Bytes that large pages in flight, and what is gathered from pages with many links, may use
	// together. A page that would need more waits; 0 = 256 MiB.
	PageMemory int64
	// Requests at the same time, and open connections, to one public address (IPv6: to one /64); 0
	// = 8.
	MaxPerIP int

	Grace          time.Duration // for publishing results after Run's context ended; 0 = 5 s
	RequestTimeout time.Duration // for questions to a frontier; 0 = 2 s

	RulesCache int // robots.txt files whose rules are kept; 0 = 4096

	// RequestLog is a file in which requests are recorded until they are reported, so that a
	// process that is killed leaves no gap in the timeline of a host; "" means that there is none.
	// Only one process at a time may use it.
	RequestLog string

	// PDFToText is the path of poppler's pdftotext, which then reads the text of PDF files; ""
	// means that it is not used.
	PDFToText string

	// Renderer runs the scripts of pages if the crawl asks for that; nil: all pages are stored as
	// they come.
	Renderer render.Renderer
	Renders  int // pages that are rendered at the same time; 0 = 1

	DiscardPages bool // pages are fetched, read for links and counted, but handed to nobody

	// SendPages hands pages to the indexer of a shard and returns once a kill of the process does
	// not lose them. It may be called concurrently, and must not keep pages. It is for an indexer
	// in this process; nil means that they are sent through NATS.
	SendPages func(ctx context.Context, shard int, pages []byte) error

	// Dial opens the connections to sites and proxies, as net.Dialer's DialContext does; nil means
	// the system's. The guard decides before which addresses may be dialled.
	Dial wire.Dial
	// Fault is called before and after an event is appended to a shard's log ("append", "appended")
	// and pages are handed to an indexer ("send pages", "sent pages"). If it returns an error, that
	// step fails with it. It is nil, except in tests that end a fetcher at such a point.
	Fault    func(point string) error
	Resolver *net.Resolver   // nil: the system's
	TLS      *tls.Config     // nil: certificates are verified as usual
	Signer   *botauth.Signer // of each request over https; nil: none is signed
	// Robot is sent to the servers that sites name for mobile robots; nil means that none is, and
	// dispatches fail with a reason.
	Robot *Robot
	// Sent to the sites that require them; nil means none.
	Credentials *credentials.Set
	// Requests go through it; nil means that they go directly.
	Proxy      *credentials.Proxy
	Tracer     *tracing.Tracer       // of visits; nil: none is traced
	Log        *slog.Logger          // nil: slog.Default()
	Registerer prometheus.Registerer // nil: the metrics are kept but registered nowhere
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.Grace, 5*time.Second)
	def(&o.RequestTimeout, 2*time.Second)
	if o.Slots <= 0 {
		o.Slots = 64
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// smallBatch is how many bytes of pages a visit gathers if Options.SendPages takes them. A message
// costs little more there than its bytes, and each visit keeps the memory for one.
const smallBatch = 32 << 10

// visit returns the options of visits.
func (o Options) visit(log *slog.Logger, shards int) visit.Options {
	batch := 0
	if o.SendPages != nil {
		batch = smallBatch
	}
	return visit.Options{
		Fetcher: o.Name, Shards: shards, MaxBody: o.MaxBody, MaxCatalogue: o.MaxCatalogue, MaxSitemap: o.maxSitemap, RulesCache: o.RulesCache,
		DiscardPages: o.DiscardPages, MaxBatch: batch, PDFToText: o.PDFToText, Renderer: o.Renderer, Renders: o.Renders, Robot: o.Robot, Log: log,
	}
}

// wire returns the options of requests.
func (o Options) wire() wire.Options {
	return wire.Options{
		Visits: o.Slots, ConnectTimeout: o.ConnectTimeout, FirstByte: o.FirstByte, WholeResponse: o.WholeResponse,
		RateWindow: o.RateWindow, MinRate: o.MinRate, IdleTimeout: o.IdleTimeout, MaxHeader: o.MaxHeader, PageMemory: o.PageMemory,
		MaxPerIP: o.MaxPerIP, Dial: o.Dial, Resolver: o.Resolver, TLS: o.TLS, Signer: o.Signer, Credentials: o.Credentials, Proxy: o.Proxy,
	}
}
