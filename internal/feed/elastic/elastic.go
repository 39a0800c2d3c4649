package elastic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"

	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/feed"

	"github.com/dustin/go-humanize"
)

// The limits of a request. DefaultPart is what both servers' manuals advise to stay below.
const (
	DefaultPart = 10 << 20
	LeastPart   = 64 << 10
	MostPart    = 100_000_000 // a server refuses more, unless http.max_content_length was raised
)

// Options are what a URL does not have. The zero value takes the defaults.
type Options struct {
	Password string // of the user in the URL, if the URL has none
	APIKey   string // sent if the URL has no user, as the server has encoded it
	// Dial opens connections; nil means those of the operating system.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  *slog.Logger // nil: nothing is logged
}

// Sink is an index of a server. Its methods may be called concurrently.
type Sink struct {
	client *elastictransport.Client
	idle   func() // closes idle connections
	index  string // the name that requests use: that of an alias, or of an index
	server string // for messages, without a password
	log    *slog.Logger

	part    atomic.Int64 // the largest request in bytes; it shrinks when a server answers 413
	isAlias atomic.Bool  // index is an alias, so that a missing one is not made by a write
}

var _ feed.Sink = (*Sink)(nil)

// Open checks a URL and makes a sink for it, without a request. The parameters of the URL are part
// (the largest request), ca (a file with certificates of authorities, PEM) and gzip (true).
func Open(_ context.Context, u *url.URL, o Options) (feed.Sink, error) {
	product, transport, _ := strings.Cut(u.Scheme, "+")
	if product != "elasticsearch" && product != "opensearch" || transport != "" && transport != "http" && transport != "https" {
		return nil, fmt.Errorf("the scheme %q is not one of elasticsearch, elasticsearch+http, opensearch and opensearch+http", u.Scheme)
	}
	if u.Host == "" {
		return nil, errors.New("the URL has no server: write " + product + "://HOST:9200/INDEX")
	}
	at := strings.LastIndexByte(u.Path, '/')
	index := u.Path[at+1:]
	if index == "" {
		return nil, errors.New("the URL has no index: write " + product + "://" + u.Host + "/INDEX, such as /pages")
	}
	if err := export.IndexName(index); err != nil {
		return nil, err
	}
	s := &Sink{index: index, server: u.Host, log: o.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	c, err := readParameters(u.Query())
	if err != nil {
		return nil, err
	}
	s.part.Store(c.part)
	base := &url.URL{Scheme: cmp.Or(transport, "https"), Host: u.Host, Path: strings.TrimRight(u.Path[:max(at, 0)], "/")}
	if err := s.connect(base, u.User, c, o); err != nil {
		return nil, err
	}
	return s, nil
}

// parameters are those of the URL.
type parameters struct {
	part int64
	ca   string
	gzip bool
}

func readParameters(q url.Values) (p parameters, err error) {
	p.part = DefaultPart
	for name := range q {
		value := q.Get(name)
		switch name {
		case "part":
			n, err := humanize.ParseBytes(value)
			if err != nil || n < LeastPart || n > MostPart {
				return p, fmt.Errorf("part=%s is not a size from 64KiB to 100MB, such as 20MiB", value)
			}
			p.part = int64(n)
		case "ca":
			p.ca = value
		case "gzip":
			if value != "true" && value != "false" {
				return p, fmt.Errorf("gzip=%s is neither true nor false", value)
			}
			p.gzip = value == "true"
		default:
			return p, fmt.Errorf("the parameter %q is unknown; there are part, ca and gzip", name)
		}
	}
	return p, nil
}

// Close closes the connections.
func (s *Sink) Close() error {
	s.idle()
	return s.client.Close(context.Background())
}
