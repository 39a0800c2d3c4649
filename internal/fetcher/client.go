package fetcher

import (
	"context"
	"crypto/tls"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/pkg/canon"
)

// config is a crawl.Spec made ready for use. It does not change; a new spec makes a new one, and a visit keeps the one it
// began with.
type config struct {
	spec         crawl.Spec
	names        crawl.Names
	scope        *scope.Scope
	scopeHash    uint64
	resolve      resolveMap
	header       http.Header // of every request
	allowPrivate bool
	contact      bool
	forgotten    crawl.Forgotten
}

// client sends requests and nothing else: no cookies, no redirects, no repeats, no proxy, no HTTP/2.
type client struct {
	opt       Options
	transport *http.Transport
	tls       *tls.Config
	reach     func(netip.Addr) reach // reachOf; tests play the internet on loopback
	gate      Gate
	check     check
	conns     connRecord
	ips       ipCap
	large     chan struct{} // a place for each page larger than keepBuffer
}

func newClient(opt Options) *client {
	c := &client{opt: opt, reach: reachOf, ips: ipCap{limit: opt.MaxPerIP}, large: make(chan struct{}, maxLarge), tls: opt.TLS.Clone()}
	if c.tls == nil {
		c.tls = new(tls.Config)
	}
	c.tls.NextProtos = []string{"http/1.1"}
	if c.tls.ClientSessionCache == nil {
		c.tls.ClientSessionCache = tls.NewLRUClientSessionCache(1024)
	}
	http1 := new(http.Protocols)
	http1.SetHTTP1(true)
	c.transport = &http.Transport{
		Proxy:                  nil, // also not from the environment: a proxy would hide the address from the guard
		DialContext:            c.dial,
		DialTLSContext:         c.dialTLS,
		DisableCompression:     true, // Accept-Encoding and decoding are ours, with limits
		MaxIdleConns:           1024,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        opt.IdleTimeout,
		MaxResponseHeaderBytes: opt.MaxHeader,
		WriteBufferSize:        8 << 10, // larger than any head we send: a request is one Write
		ReadBufferSize:         16 << 10,
		Protocols:              http1,
	}
	return c
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// hold is a visit's hold on its host: under it, and only under it, requests are sent. It belongs to the visit's goroutine;
// begin and ready are called by net/http on its behalf.
type hold struct {
	c       *client
	cfg     *config
	ctx     context.Context // ends with the lease, or when a stopping fetcher's patience does
	host    canon.Host
	lease   *lease
	hurried bool
	granted time.Duration   // delay granted
	owed    time.Duration   // that, asked for by robots.txt, or backed off to; without the floor of a second
	waiting context.Context // ends as soon as the fetcher stops, too
	buf     []byte          // the last body
	large   bool            // and it has a place among the large ones

	get       *http.Request // what all requests have in common
	form      string        // what the request under way posts; empty: it is a GET
	abandoned bool          // the last connection was closed in the middle of an answer

	// Of the request under way.
	out     bool        // the gate is passed, and not told of the end
	wire    *wireReader // its answer's body, while that is read
	conn    *conn
	reused  bool
	used    bool // a connection was armed: another one is not
	ipHeld  bool
	started atomic.Bool // bytes may have gone out

	// What kind of address was dialled last, as a reach plus one; 0 while unknown. Set by the goroutine that dials.
	where atomic.Int32

	requests int // that passed the gate, a failed connect included
}

// newHold begins a hold. Its user calls release in the end.
func (c *client) newHold(ctx, waiting context.Context, cfg *config, host canon.Host, l *lease) *hold {
	h := &hold{c: c, cfg: cfg, host: host, lease: l, waiting: waiting}
	h.ctx = context.WithValue(ctx, holdKey{}, h)
	traced := httptrace.WithClientTrace(h.ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { h.ready(info.Conn, info.Reused) },
	})
	h.get = (&http.Request{
		Method: http.MethodGet,
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		// net/http repeats a request on its own, 0 ms later, when a reused connection turns out closed. A body it
		// cannot rewind stops it, and none is sent for one that is empty.
		Body: emptyBody{},
		// A body of unknown length would be probed for 200 ms in a goroutine; on a busy machine that can come to nothing, and the
		// request would go out with Transfer-Encoding: chunked, in two pieces, of which conn lets only one pass.
		TransferEncoding: []string{"identity"},
	}).WithContext(traced)
	switch open := c.conns.get(host); {
	case open == nil:
	case open.cfg != cfg:
		open.Close() // the guard might say no today, and --resolve lead elsewhere
	default:
		h.dialled(open.private)
	}
	return h
}

func (h *hold) dialled(isPrivate bool) {
	if isPrivate {
		h.where.Store(int32(private) + 1)
	} else {
		h.where.Store(int32(public) + 1)
	}
}

// private reports whether the address dialled last is private.
func (h *hold) private() bool { return h.where.Load() == int32(private)+1 }

// delay is the least time from the end of a response to the next request. An address not yet known may turn out private
// and is given the benefit of the doubt here; ready makes up for it before anything is sent.
func (h *hold) delay() time.Duration {
	d := h.owed
	if h.where.Load() == int32(public)+1 {
		d = h.owedTo(false)
	}
	if h.abandoned {
		d = max(d, afterAbandon)
	}
	return d
}

// owedTo is the delay owed to an address.
func (h *hold) owedTo(isPrivate bool) time.Duration {
	if !isPrivate && !h.hurried {
		return max(h.owed, politeDelay)
	}
	return h.owed
}

// ready is called when net/http has a connection for the request and is about to send. Only a connection that is armed
// here lets it.
func (h *hold) ready(nc any, reused bool) {
	c, ok := nc.(*conn)
	if !ok || h.used {
		return
	}
	h.conn, h.reused, h.used = c, reused, true
	if c.cfg != h.cfg || c.host != h.host {
		return // it is of another spec, and being closed
	}
	h.dialled(c.private)
	if !c.private {
		if end := h.c.gate.End(h.host); !end.IsZero() {
			if sleep(h.waiting, time.Until(end.Add(h.owedTo(c.private)))) != nil {
				return
			}
		}
		if h.c.ips.acquire(h.waiting, c.addr) != nil {
			return
		}
		h.ipHeld = true
	}
	c.armed.Store(h)
}

// begin is called by the connection before the first byte goes out; the last chance to say no.
func (h *hold) begin(c *conn) error {
	if !h.lease.alive() {
		return errLease
	}
	if err := h.c.check.begin(c.host, max(h.owedTo(c.private), least(h.granted, h.hurried, c.private))); err != nil {
		return err
	}
	h.started.Store(true)
	return nil
}

// send waits for the gate and sends one request. When it returns without an error the caller reads the answer and calls
// done; else done was called.
func (h *hold) send(u canon.URL, extra http.Header) (*http.Response, error) {
	h.conn, h.reused, h.used, h.ipHeld = nil, false, false, false
	h.started.Store(false)
	if !h.lease.alive() {
		return nil, errLease
	}
	if u.Host() != h.host {
		return nil, &violation{u.Host(), "it is not the visit's host, " + string(h.host)}
	}
	if err := h.c.gate.Wait(h.waiting, h.host, h.delay()); err != nil {
		return nil, err
	}
	h.out = true
	h.requests++
	resp, err := h.c.transport.RoundTrip(h.request(u, extra))
	if err != nil {
		h.done(false)
		return nil, err
	}
	return resp, nil
}

// done ends the request under way. Unless its answer was read to the end the connection is closed, so that the request is
// over for the origin too; only then does the delay begin.
func (h *hold) done(complete bool) {
	h.out, h.abandoned = false, false
	if h.conn != nil && h.used {
		h.conn.armed.Store(nil)
		if complete {
			h.conn.rest()
		} else {
			h.conn.Close()
			h.abandoned = h.started.Load()
		}
		if h.ipHeld {
			h.c.ips.release(h.conn.addr)
			h.ipHeld = false
		}
	}
	h.c.gate.Done(h.host)
}

// request makes the request for a URL exactly as it is spelled: what robots.txt was asked about is what goes over the wire.
func (h *hold) request(u canon.URL, extra http.Header) *http.Request {
	target := &url.URL{Scheme: u.Scheme(), Host: authority(u)}
	pathQuery := u.PathQuery()
	path, query, _ := strings.Cut(pathQuery, "?")
	if strings.HasPrefix(path, "//") {
		// Opaque would read as an authority. RawPath is used as it is when it is a valid spelling of Path.
		target.RawPath = path
		target.Path, _ = url.PathUnescape(path)
	} else {
		target.Opaque = path
	}
	target.RawQuery = query
	header := h.cfg.header
	if extra != nil {
		header = header.Clone()
		maps.Copy(header, extra)
	}
	r := *h.get
	r.URL, r.Host, r.Header = target, target.Host, header
	if h.form != "" {
		h.postForm(&r)
	}
	return &r
}

// authority is host and port as written in a URL.
func authority(u canon.URL) string {
	s := string(u.Root())
	return strings.TrimSuffix(s[strings.Index(s, "//")+2:], "/")
}

type emptyBody struct{}

// beforeEmpty is a test's: what happens before the emptiness is read.
var beforeEmpty func()

func (emptyBody) Read([]byte) (int, error) {
	if beforeEmpty != nil {
		beforeEmpty()
	}
	return 0, io.EOF
}
func (emptyBody) Close() error { return nil }

// WriteTo spares each request a buffer of 32 KB, which io.Copy would make for nothing.
func (emptyBody) WriteTo(io.Writer) (int64, error) { return 0, nil }
