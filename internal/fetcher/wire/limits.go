package wire

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/pkg/botauth"
)

const (
	// readBuffer is how much of a response is read from a connection at once, if its reader wants
	// less: head and body of an ordinary page.
	readBuffer = 32 << 10
	// MaxCrawlDelay is the longest Crawl-delay that a visit waits for. A host with a longer one is
	// paused and reported, and never visited more often than it asks.
	MaxCrawlDelay = 10 * time.Minute
	// PoliteDelay is the least delay for hosts without permission for a shorter one.
	PoliteDelay = time.Second
	// afterAbandon is the least pause after we closed a connection in the middle of an answer. The
	// origin notices that a moment later than we do.
	afterAbandon = 25 * time.Millisecond
	// afterAbandonProxy is the same if a proxy has to pass that on.
	afterAbandonProxy = 100 * time.Millisecond
)

// Options bounds what a client's requests may use. The zero value of a field stands for its
// default.
type Options struct {
	Visits int // that run at the same time; 0 = 64

	ConnectTimeout time.Duration // name lookup, connect and TLS together; 0 = 10 s
	FirstByte      time.Duration // from the request to the first byte of the answer; 0 = 30 s
	WholeResponse  time.Duration // from the request to the last byte; 0 = 2 min
	// An answer must have MinRate bytes a second in each window; 0 = 20 s.
	RateWindow  time.Duration
	MinRate     int64         // 0 = 1024
	IdleTimeout time.Duration // an unused connection is kept this long; 0 = 30 s

	MaxHeader int64 // bytes of a response's header block; 0 = 64 KiB
	// Bytes that large pages in flight, and what is gathered from pages with many links, may use
	// together. A page that would need more waits; 0 = 256 MiB.
	PageMemory int64
	// Requests at the same time, and open connections, to one public address (IPv6: to one /64); 0
	// = 8.
	MaxPerIP int

	Resolver *net.Resolver // nil: the system's
	Dial     Dial          // opens connections to sites and proxies; nil: the system's
	TLS      *tls.Config   // nil: certificates are verified as usual

	// Signer signs each request over https, and none over http; nil means that none is signed.
	Signer *botauth.Signer

	Credentials *credentials.Set   // sent to the sites that require them; nil: none
	Proxy       *credentials.Proxy // requests go through it; nil: they go directly
}

func (o Options) withDefaults() Options {
	orDefault(&o.Visits, 64)
	orDefault(&o.ConnectTimeout, 10*time.Second)
	orDefault(&o.FirstByte, 30*time.Second)
	orDefault(&o.WholeResponse, 2*time.Minute)
	orDefault(&o.RateWindow, 20*time.Second)
	orDefault(&o.MinRate, 1024)
	orDefault(&o.IdleTimeout, 30*time.Second)
	orDefault(&o.MaxHeader, 64<<10)
	orDefault(&o.PageMemory, 256<<20) // about seven of the largest at the same time
	orDefault(&o.MaxPerIP, 8)
	return o
}

// orDefault sets an option that is not set.
func orDefault[N int | int64 | time.Duration](n *N, v N) {
	if *n <= 0 {
		*n = v
	}
}
