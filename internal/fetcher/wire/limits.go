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
	// less.
	readBuffer = 16 << 10
	// MaxCrawlDelay is the longest Crawl-delay we wait out. Above it the host is held and
	// reported, never hurried.
	MaxCrawlDelay = 10 * time.Minute
	// PoliteDelay is the least delay for hosts that may not be hurried.
	PoliteDelay = time.Second
	// afterAbandon is the least rest after we closed a connection in the middle of an answer: the
	// origin sees its end a moment later than we do.
	afterAbandon = 25 * time.Millisecond
	// afterAbandonProxy is the same where a proxy has to pass that on.
	afterAbandonProxy = 100 * time.Millisecond
)

// Options bounds what a client's requests may take. A field's zero means its default.
type Options struct {
	Visits int // that are carried out at once; 0 = 64

	ConnectTimeout time.Duration // name lookup, connect and TLS together; 0 = 10 s
	FirstByte      time.Duration // from the request to the first byte of the answer; 0 = 30 s
	WholeResponse  time.Duration // from the request to the last byte; 0 = 2 min
	// An answer must bring MinRate bytes a second over each window; 0 = 20 s.
	RateWindow  time.Duration
	MinRate     int64         // 0 = 1024
	IdleTimeout time.Duration // an unused connection is kept this long; 0 = 30 s

	MaxHeader int64 // bytes of a response's header block; 0 = 64 KiB
	// Bytes that large pages under way take together; one that finds no room waits; 0 = 256 MiB.
	PageMemory int64
	// Requests at once, and open connections, to one public address (IPv6: to one /64); 0 = 8.
	MaxPerIP int

	Resolver *net.Resolver // nil: the system's
	Dial     Dial          // opens connections to sites and proxies; nil: the system's
	TLS      *tls.Config   // nil: certificates are verified as usual

	// Signer signs each request over https, and none over http; nil: none is signed.
	Signer *botauth.Signer

	Credentials *credentials.Set   // what sites behind a door are shown; nil: nothing
	Proxy       *credentials.Proxy // requests go through it; nil: sites are asked directly
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
	orDefault(&o.PageMemory, 256<<20) // eight of the largest at once, about
	orDefault(&o.MaxPerIP, 8)
	return o
}

// orDefault sets an option that is not set.
func orDefault[N int | int64 | time.Duration](n *N, v N) {
	if *n <= 0 {
		*n = v
	}
}
