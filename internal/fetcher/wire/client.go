package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/pkg/botauth"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// Config says how requests are sent. It does not change; a hold keeps the one it began with.
type Config struct {
	Header       http.Header // of every request
	Resolve      ResolveMap
	AllowPrivate bool
	Contact      bool // we say who we are, so public addresses may be reached
	// The delay of a host that nobody asks more for: what an address rests is a part of it.
	Pace time.Duration
}

// Client sends requests and nothing else: it keeps no cookies, follows no redirect, repeats nothing
// and speaks no HTTP/2.
type Client struct {
	opt        Options
	tls        *tls.Config
	Reach      func(netip.Addr) Reach // reachOf; tests play the internet on loopback
	gate       Gate
	check      check
	conns      connRecord
	skew       skew
	onSigned   func()
	onSkew     func(ahead time.Duration)
	onOver     func(x *crawl.Exchange)
	ipLimiters ipLimiters
	memory     *memoryBudget // for large pages

	afterAbandon    time.Duration
	credentialStore credentialStore
	proxy           proxyState
}

// NewClient makes a client; Close ends it.
func NewClient(opt Options) *Client {
	opt = opt.withDefaults()
	c := &Client{opt: opt, Reach: ReachOf, ipLimiters: ipLimiters{limit: opt.MaxPerIP, visits: max(opt.Visits/slotsShare, 1)}, memory: newMemoryBudget(opt.PageMemory), tls: opt.TLS.Clone(),
		afterAbandon: afterAbandon}
	if opt.Proxy != nil {
		c.afterAbandon = afterAbandonProxy
	}
	if c.tls == nil {
		c.tls = new(tls.Config)
	}
	c.tls.NextProtos = []string{"http/1.1"}
	if c.tls.ClientSessionCache == nil {
		c.tls.ClientSessionCache = tls.NewLRUClientSessionCache(1024)
	}
	c.credentialStore.init(opt.Credentials, c.tls)
	return c
}

// OnViolation makes the client tell of each request that was stopped at the last moment. It is
// called before any is sent.
func (c *Client) OnViolation(report func(why string)) { c.check.onFire = report }

// Violations is how many requests were stopped at the last moment because they would have been
// impolite. It must be 0.
func (c *Client) Violations() int64 { return c.check.fired.Load() }

// OnSigned makes the client tell of each request that carries a signature. It is called before any
// is sent.
func (c *Client) OnSigned(report func()) { c.onSigned = report }

// OnOver makes the client tell of each request that is over, also of one that came to nothing
// before it was sent (Exchange.Unsent). It is called before any is sent; tell may be called by many
// goroutines, and keeps nothing.
func (c *Client) OnOver(report func(x *crawl.Exchange)) { c.onOver = report }

// OnSkew makes the client tell once when its signatures have times that several servers say are
// wrong: by how much the clock here is ahead of theirs, or behind, if negative. It tells again only
// after the clock was right meanwhile. It is called before any request is sent.
func (c *Client) OnSkew(report func(ahead time.Duration)) { c.onSkew = report }

// Close closes the connections that are kept for later requests.
func (c *Client) Close() { c.conns.closeIdle() }

// Session is a visit's hold on its host: under it, and only under it, requests are sent. It belongs
// to the visit's goroutine; it is not safe for concurrent use but for what its context does.
type Session struct {
	c       *Client
	cfg     *Config
	ctx     context.Context // ends with the lease, or when a stopping fetcher's patience does
	host    canon.Host
	Lease   *Lease
	Hurried bool
	Granted time.Duration // delay granted
	// That, asked for by robots.txt, or backed off to; without the floor of a second.
	Delayed time.Duration
	Waiting context.Context // ends as soon as the fetcher stops, too
	Buf     []byte          // the last body
	memory  int64           // that is taken for it
	// The last body that came under a heavy encoding, as it came, when it was an ordinary one.
	packed []byte

	Recorder *Recorder // keeps what goes over the wire; nil: nothing is

	sending   bytes.Buffer // the request under way, in one piece
	unwatch   func()       // ends the watch over ctx; nil: no request is under way
	form      string       // what the request under way posts; empty: it is a GET
	abandoned bool         // the last connection was closed in the middle of an answer

	// Of the request under way.
	out         bool        // the gate is passed, and not told of the end
	wire        *wireReader // its answer's body, while that is read
	conn        *conn
	reused      bool
	used        bool            // a connection was armed: another one is not
	unsigned    botauth.Message // what is to be signed; without a header, nothing is
	signedAt    time.Time       // zero: it was not
	behind      *credentials.Site
	head        http.Header // of the request to that site, for what it is shown; nil: nothing is
	credentials CredentialUse
	started     atomic.Bool // bytes may have gone out

	token ipToken // at the address

	// What kind of address was dialled last, as a reach plus one; 0 while unknown. Set by the
	// goroutine that dials.
	where atomic.Int32

	Requests int // that passed the gate, a failed connect included

	// What requests are told of as (crawl.Exchange), and those that are over, oldest first. Their
	// reader takes them out.
	Kind        crawl.RequestKind
	DelaySource string // who asks for Owed
	Traced      []crawl.Exchange
	RequestLog  RequestLog // nil: none is kept
	inFlight    crawl.Exchange
}

// RequestLog is told of each request before anything of it is sent, and when it is over: what of it
// outlives the process. It is called by the visit's goroutine.
type RequestLog interface {
	Began(x *crawl.Exchange)
	Ended(x *crawl.Exchange)
	Undone() // the last one, which is over, was never sent, and is not told of
}

// NewSession begins a hold. Its user calls release in the end.
func (c *Client) NewSession(ctx, waiting context.Context, cfg *Config, host canon.Host, l *Lease) *Session {
	h := &Session{c: c, cfg: cfg, host: host, Lease: l, Waiting: waiting, ctx: ctx, token: c.newIPToken(string(host))}
	switch open := c.conns.get(host); {
	case open == nil:
	case open.cfg != cfg:
		open.Close() // the guard might say no today, and --resolve lead elsewhere
	default:
		h.dialled(open.private)
	}
	return h
}

func (h *Session) dialled(isPrivate bool) {
	if isPrivate {
		h.where.Store(int32(private) + 1)
	} else {
		h.where.Store(int32(Public) + 1)
	}
}

// Private reports whether the address dialled last is private.
func (h *Session) Private() bool { return h.where.Load() == int32(private)+1 }

// Delay is the least time from the end of a response to the next request. An address not yet
// known may turn out private and is given the benefit of the doubt here; ready makes up for it
// before anything is sent.
func (h *Session) Delay() time.Duration {
	d := h.Delayed
	if h.where.Load() == int32(Public)+1 {
		d = h.delayFor(false)
	}
	if h.abandoned {
		d = max(d, h.c.afterAbandon)
	}
	return d
}

// delayFor is the delay owed to an address.
func (h *Session) delayFor(isPrivate bool) time.Duration {
	if !isPrivate && !h.Hurried {
		return max(h.Delayed, PoliteDelay)
	}
	return h.Delayed
}

// ready waits for what the address of a connection is owed, and lets it send one request. A
// connection that is not armed here sends nothing.
func (h *Session) ready(c *conn) {
	if c.cfg != h.cfg || c.host != h.host {
		return // it is of another spec, and being closed
	}
	h.dialled(c.private)
	if !c.private {
		if end := h.c.gate.End(h.host); !end.IsZero() {
			if backoff.Sleep(h.Waiting, time.Until(end.Add(h.delayFor(c.private)))) != nil {
				return
			}
		}
		// It has one already, if all is well.
		if h.takeIPToken(c.addr, c) != nil {
			return
		}
	}
	h.show(c)
	if h.sign() != nil {
		return // an origin that expects a signature must not be asked without
	}
	c.armed.Store(h)
}

// begin is called by the connection before the first byte goes out; the last chance to say no.
func (h *Session) begin(c *conn) error {
	if !h.Lease.Alive() {
		return errLease
	}
	if err := h.c.check.begin(c.host, max(h.delayFor(c.private), least(h.Granted, h.Hurried, c.private))); err != nil {
		return err
	}
	h.started.Store(true)
	return nil
}

// send waits for the gate and sends one request. When it returns without an error the caller reads
// the answer and calls done; else done was called.
func (h *Session) send(u canon.URL, extra http.Header) (*reply, error) {
	h.conn, h.reused, h.used = nil, false, false
	h.started.Store(false)
	if !h.Lease.Alive() {
		return nil, errLease
	}
	if u.Host() != h.host {
		return nil, &violation{u.Host(), "it is not the host of the visit, " + string(h.host)}
	}
	delay := h.Delay()
	h.Lease.addDelay(delay) // before the rest, so that whoever comes after us knows of it by then
	if err := h.c.gate.Wait(h.Waiting, h.host, delay); err != nil {
		return nil, err
	}
	h.out = true
	h.trace(u, delay)
	h.Requests++
	resp, err := h.roundTrip(u, h.request(u, extra))
	if err != nil {
		var full *LimiterTimeout
		var useless *proxyError
		if errors.As(err, &full) || errors.As(err, &useless) {
			h.Requests-- // nothing was asked of the host
			h.done(false)
			h.Traced = h.Traced[:len(h.Traced)-1]
			if h.RequestLog != nil {
				h.RequestLog.Undone()
			}
			return nil, err
		}
		h.done(false)
		return nil, err
	}
	h.compareClocks(resp.Header)
	return resp, nil
}

// takeIPToken waits for a place at a public address, unless the request under way has it.
func (h *Session) takeIPToken(a netip.Addr, kept *conn) error {
	pace := h.cfg.Pace // not what this host asks for: one name must not slow down its neighbours
	if !h.Hurried {
		pace = max(pace, PoliteDelay)
	}
	return h.token.take(h.Waiting, a, pace, kept)
}

// Release ends a hold: no request is sent under it any more.
func (h *Session) Release() {
	h.letGo()
	h.token.leave()
}

// Abort ends a request that whoever sent it did not live to see the end of, and reports
// whether there was one.
func (h *Session) Abort() bool {
	if !h.out {
		return false
	}
	h.done(false)
	return true
}

// MayHaveSent reports whether bytes of the last request may have gone out.
func (h *Session) MayHaveSent() bool { return h.started.Load() }

// LimitPatience makes requests fail that would wait long for a place at their address. So many are
// left to the hold, about.
func (h *Session) LimitPatience(requests int) {
	h.token.patience, h.token.requests = limiterPatience, requests
}

// AwaitEnd waits until the origin has seen the end of the last request, which was at end: nobody
// may send the next one before.
func (h *Session) AwaitEnd(end time.Time) {
	if h.abandoned {
		_ = backoff.Sleep(context.Background(), h.c.afterAbandon-time.Since(end))
		h.abandoned = false
	}
}

// Continues makes a hold begin with what one before it on the same host knew of its address and
// its last connection.
func (h *Session) Continues(before *Session) {
	h.abandoned = before.abandoned
	h.where.CompareAndSwap(0, before.where.Load())
}

// Pause is how long the gate will keep the next request waiting, as far as is known
// before its address is.
func (h *Session) Pause() time.Duration {
	if end := h.c.gate.End(h.host); !end.IsZero() {
		return max(time.Until(end.Add(h.Delay())), 0)
	}
	return 0
}

// done ends the request under way. Unless its answer was read to the end the connection is closed,
// so that the request is over for the origin too; only then does the delay begin.
func (h *Session) done(complete bool) {
	h.out, h.abandoned = false, false
	if h.unwatch != nil {
		h.unwatch()
		h.unwatch = nil
	}
	if h.conn != nil && h.used {
		h.conn.armed.Store(nil)
		h.conn.recording.Store(nil)
		if complete {
			h.conn.toIdle()
		} else {
			h.conn.Close()
			h.abandoned = h.started.Load()
		}
	}
	if complete && h.conn != nil && h.used {
		h.token.done(h.conn)
	} else {
		h.token.done(nil)
	}
	h.traced(h.c.gate.Done(h.host))
}

// request makes the request for a URL exactly as it is spelled: what robots.txt was asked about is
// what goes over the wire.
func (h *Session) request(u canon.URL, extra http.Header) *request {
	r := &request{method: http.MethodGet, target: u.PathQuery(), host: authority(u), header: h.cfg.Header}
	signed := h.c.opt.Signer != nil && u.Scheme() == "https"
	shown := h.meet(u)
	if extra != nil || signed || shown {
		r.header = r.header.Clone()
		maps.Copy(r.header, extra)
	}
	if shown {
		h.head = r.header
	}
	if h.form != "" {
		r.method, r.body = http.MethodPost, h.form
	}
	h.unsigned, h.signedAt = botauth.Message{}, time.Time{}
	if signed {
		path, query, _ := strings.Cut(r.target, "?")
		h.unsigned = botauth.Message{Method: r.method, Scheme: "https", Authority: r.host, Path: path, Query: query, Header: r.header}
	}
	return r
}

// authority is host and port as written in a URL.
func authority(u canon.URL) string {
	s := string(u.Root())
	return strings.TrimSuffix(s[strings.Index(s, "//")+2:], "/")
}

// Post sends a form and reads what is answered. A redirect is an answer like any other: what is in
// the form is for this URL alone.
func (h *Session) Post(u canon.URL, form string, want WantFunc) (Answer, error) {
	h.form = form
	defer func() { h.form = "" }()
	return h.Fetch(u, http.Header{"Content-Type": {rup.FormType}}, want)
}
