package wire

import (
	"cmp"
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
	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/pkg/botauth"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// Config says how requests are sent. It does not change, and a session keeps the Config that it
// began with.
type Config struct {
	Header       http.Header // of every request
	Resolve      ResolveMap
	AllowPrivate bool
	Contact      bool // the User-Agent says who we are, so public addresses may be reached
	// The delay of a host for which nobody asks for more. The pause of an address is a part of it.
	Pace time.Duration
}

// Client sends requests and nothing else: it keeps no cookies, follows no redirect, repeats nothing
// and speaks no HTTP/2.
type Client struct {
	opt        Options
	tls        *tls.Config
	Reach      func(netip.Addr) Reach // ReachOf; tests have the internet on loopback addresses
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

// OnViolation makes the client call report for each request that was stopped at the last moment. It
// must be called before any request is sent.
func (c *Client) OnViolation(report func(why string)) { c.check.onFire = report }

// Violations returns how many requests were stopped at the last moment because they would have been
// impolite. It must be 0.
func (c *Client) Violations() int64 { return c.check.fired.Load() }

// OnSigned makes the client call report for each request that is signed. It must be called before
// any request is sent.
func (c *Client) OnSigned(report func()) { c.onSigned = report }

// OnOver makes the client call report for each request that has ended, also for one that failed
// before it was sent (Exchange.Unsent). It must be called before any request is sent. report may be
// called by many goroutines, and must not keep x.
func (c *Client) OnOver(report func(x *crawl.Exchange)) { c.onOver = report }

// OnSkew makes the client call report once if several servers say that the times of its signatures
// are wrong. ahead is by how much the clock here is ahead of theirs; it is negative if ours is
// behind. It is reported again only after the clock was right in between. OnSkew must be called
// before any request is sent.
func (c *Client) OnSkew(report func(ahead time.Duration)) { c.onSkew = report }

// Close closes the connections that are kept for later requests.
func (c *Client) Close() { c.conns.closeIdle() }

// Session is the right of a visit to send requests to its host. Every request is sent in one. It
// belongs to the visit's goroutine and must not be used concurrently, except by what its context
// does.
type Session struct {
	c       *Client
	cfg     *Config
	ctx     context.Context // ends with the lease, or some time after the fetcher began to stop
	host    canon.Host
	Lease   *Lease
	Hurried bool
	// NewAddress makes the first request fail with [LimiterTimeout] if a quarter of all visits are
	// at its address already.
	NewAddress bool
	Granted    time.Duration // the delay that was granted
	// The delay that was granted, that robots.txt asks for, or of a back-off; without the least
	// delay of a second.
	Delayed time.Duration
	Waiting context.Context // ends as soon as the fetcher stops, too
	// Open reports whether requests may be sent to the host at this time of the day; nil: always.
	Open   func() bool
	Buf    []byte // the last body
	Memory Memory // that Buf uses, and what is gathered from it
	// The last body that came with a heavy encoding, as it came, if it was of ordinary size.
	packed []byte

	Recorder *Recorder // records what goes over the wire; nil: nothing is recorded

	buffers   buffers
	watch     watch  // over ctx, while a request is running
	form      string // what the running request posts; empty: it is a GET
	target    string // of the running request, instead of its URL's path and query; or ""
	abandoned bool   // the last connection was closed in the middle of an answer

	// Of the running request.
	out         bool        // it passed the gate and has not ended
	talking     bool        // it is an exchange that is not HTTP
	wire        *wireReader // the body of its answer, while that is read
	conn        *conn
	reused      bool
	used        bool            // a connection was armed for it, so no other one is
	unsigned    botauth.Message // what is to be signed; without a header, nothing
	signedAt    time.Time       // zero: it was not signed
	behind      *credentials.Site
	head        http.Header // of the request, into which credentials are put; nil: there are none
	credentials CredentialUse
	started     atomic.Bool // bytes may have gone out

	token ipToken // at the address

	// The kind of address that was dialled last, as a Reach plus one; 0 means unknown. It is set by
	// the goroutine that dials.
	where atomic.Int32

	Requests int // that passed the gate, including those whose connection failed

	// How requests are reported (crawl.Exchange), and those that have ended, oldest first. Their
	// reader removes them.
	Kind        crawl.RequestKind
	DelaySource string // who asks for Delayed
	Traced      []crawl.Exchange
	RequestLog  RequestLog // nil: nothing is recorded
	inFlight    crawl.Exchange
}

// RequestLog records requests that have to be known after the process ended. It is called before
// anything of a request is sent, and when it has ended, by the visit's goroutine.
type RequestLog interface {
	Began(x *crawl.Exchange)
	Ended(x *crawl.Exchange)
	Undone() // the last request was never sent, and is not reported
}

// NewSession begins a session. Its user calls Release at the end.
func (c *Client) NewSession(ctx, waiting context.Context, cfg *Config, host canon.Host, l *Lease) *Session {
	h := &Session{c: c, cfg: cfg, host: host, Lease: l, Waiting: waiting, ctx: ctx, token: c.newIPToken(string(host))}
	h.Memory.h = h
	switch open := c.conns.get(host); {
	case open == nil:
	case open.cfg != cfg:
		open.Close() // the guard may refuse it now, and --resolve may lead elsewhere
	default:
		h.dialled(open.private)
		_ = h.token.arrive(open.addr, false)
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

// Parties are those to whom the host of the session belongs: its domain, and the block of the
// address of the last request, if that is public and known.
func (h *Session) Parties() []fair.Party {
	all := []fair.Party{fair.DomainOf(h.host)}
	if c := h.conn; c != nil && !c.private && !unknownBlock.Contains(c.addr) {
		all = append(all, fair.BlockOf(c.addr))
	}
	return all
}

// Private reports whether the address that was dialled last is private.
func (h *Session) Private() bool { return h.where.Load() == int32(private)+1 }

// Public reports whether the address that was dialled last is public.
func (h *Session) Public() bool { return h.where.Load() == int32(Public)+1 }

// BlockOf returns the address that a session dialled last, and for IPv6 the first one of its /64.
// It is "" if none was dialled, or if only the proxy knows it. It may be called at any time.
func BlockOf(h *Session) string { return h.token.blockName() }

// Delay returns the least time from the end of a response to the next request. An address that is
// not known yet may be private, so here it counts as private. If it is public, ready waits for the
// rest before anything is sent.
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

// delayFor returns the delay for an address.
func (h *Session) delayFor(isPrivate bool) time.Duration {
	if !isPrivate && !h.Hurried {
		return max(h.Delayed, PoliteDelay)
	}
	return h.Delayed
}

// ready waits for the delay of the address of a connection, and then allows the connection to send
// one request. A connection sends nothing without that.
func (h *Session) ready(c *conn) {
	if c.cfg != h.cfg || c.host != h.host {
		return // it is of another spec and is being closed
	}
	h.dialled(c.private)
	if !c.private {
		if end := h.c.gate.End(h.host); !end.IsZero() {
			if backoff.Sleep(h.Waiting, time.Until(end.Add(h.delayFor(c.private)))) != nil {
				return
			}
		}
		// Normally the request has a token already.
		if h.takeIPToken(c.addr, c) != nil {
			return
		}
	}
	h.show(c)
	if h.sign() != nil {
		return // a request without a signature must not reach an origin that expects one
	}
	c.armed.Store(h)
}

// Closed reports that no request may be sent now because of the time of the day.
func (h *Session) Closed() bool { return h.Open != nil && !h.Open() }

// begin is called by the connection before the first byte goes out. It is the last opportunity to
// stop a request.
func (h *Session) begin(c *conn) error {
	if !h.Lease.Alive() {
		return errLease
	}
	if h.Closed() {
		return errClosed
	}
	if err := h.c.check.begin(c.host, max(h.delayFor(c.private), least(h.Granted, h.Hurried, c.private))); err != nil {
		return err
	}
	h.started.Store(true)
	return nil
}

// send waits for the gate and sends one request. If it returns no error, the caller reads the
// answer and then calls done. Otherwise done was called.
func (h *Session) send(u canon.URL, extra http.Header) (*reply, error) {
	if err := h.c.pass(h, u); err != nil {
		return nil, err
	}
	resp, err := h.roundTrip(u, h.request(u, extra))
	if err != nil {
		return nil, h.c.turnedAway(h, err)
	}
	h.compareClocks(resp.Header)
	return resp, nil
}

// pass waits for the gate. Without an error a request is running from here on, and done ends it.
func (c *Client) pass(h *Session, u canon.URL) error {
	h.conn, h.reused, h.used = nil, false, false
	h.started.Store(false)
	if !h.Lease.Alive() {
		return errLease
	}
	if h.Closed() {
		return errClosed
	}
	if u.Host() != h.host {
		return &violation{u.Host(), "it is not the host of the visit, " + string(h.host)}
	}
	delay := h.Delay()
	h.Lease.addDelay(delay) // before waiting, so that the next visit to the host knows it by then
	if err := c.gate.Wait(h.Waiting, h.host, delay); err != nil {
		return err
	}
	h.out = true
	h.trace(u, delay)
	h.Requests++
	return nil
}

// turnedAway ends a request that failed before its answer began, and returns its error.
func (c *Client) turnedAway(h *Session, err error) error {
	var full *LimiterTimeout
	var useless *proxyError
	unsent := errors.As(err, &full) || errors.As(err, &useless)
	if unsent {
		h.Requests-- // the host received nothing
	}
	h.done(false)
	if unsent {
		h.Traced = h.Traced[:len(h.Traced)-1]
		if h.RequestLog != nil {
			h.RequestLog.Undone()
		}
	}
	return err
}

// takeIPToken waits for a token of a public address, unless the running request has one.
func (h *Session) takeIPToken(a netip.Addr, kept *conn) error {
	pace := h.cfg.Pace // not this host's delay: one name must not slow down others
	if !h.Hurried {
		pace = max(pace, PoliteDelay)
	}
	return h.token.take(h.Waiting, a, pace, kept)
}

// Release ends a session. No request is sent in it any more.
func (h *Session) Release() {
	h.watch.release()
	h.buffers.release()
	h.Memory.release()
	h.token.leave()
	h.token.depart()
}

// Abort ends a request that its sender did not finish, because of a panic. It reports whether there
// was one.
func (h *Session) Abort() bool {
	if !h.out {
		return false
	}
	h.done(false)
	return true
}

// MayHaveSent reports whether bytes of the last request may have gone out.
func (h *Session) MayHaveSent() bool { return h.started.Load() }

// LimitPatience makes requests fail if they would wait too long for a token of their address.
// requests is about how many the session will send.
func (h *Session) LimitPatience(requests int) {
	h.token.patience, h.token.requests = limiterPatience, requests
}

// AwaitEnd waits until the origin has noticed the end of the last request, which was at end. Nobody
// may send the next request before.
func (h *Session) AwaitEnd(end time.Time) {
	if h.abandoned {
		_ = backoff.Sleep(context.Background(), h.c.afterAbandon-time.Since(end))
		h.abandoned = false
	}
}

// Continues makes a session begin with what an earlier one on the same host knew about its address
// and its last connection.
func (h *Session) Continues(before *Session) {
	h.abandoned = before.abandoned
	h.where.CompareAndSwap(0, before.where.Load())
}

// Pause returns how long the gate will delay the next request, as far as is known before its
// address is.
func (h *Session) Pause() time.Duration {
	if end := h.c.gate.End(h.host); !end.IsZero() {
		return max(time.Until(end.Add(h.Delay())), 0)
	}
	return 0
}

// done ends the running request. Unless its answer was read to its end, the connection is closed,
// so that the request ends for the origin, too. The delay begins only then.
func (h *Session) done(complete bool) {
	h.out, h.abandoned = false, false
	h.watch.end()
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

// request makes the request for a URL exactly as it is spelled. What robots.txt allowed is what
// goes over the wire, or another spelling of it ([Session.Spell]).
func (h *Session) request(u canon.URL, extra http.Header) *request {
	r := &request{method: http.MethodGet, target: cmp.Or(h.target, u.PathQuery()), host: authority(u), header: h.cfg.Header}
	signed := h.c.opt.Signer != nil && u.Scheme() == "https"
	shown := h.meet(u)
	if extra != nil || signed || shown {
		r.header = r.header.Clone()
		maps.Copy(r.header, extra)
		r.own = true
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

// Spell makes requests for u have this target, until the function that it returns is called. It is
// the path and query of u in another spelling, in which a server has signed them. ok is false if it
// is not; then nothing changes.
func (h *Session) Spell(u canon.URL, target string) (done func(), ok bool) {
	for i := range len(target) {
		if target[i] <= ' ' || target[i] >= 0x7f || target[i] == '#' {
			return nil, false
		}
	}
	same, err := canon.Parse(strings.TrimSuffix(string(u.Root()), "/") + target)
	if err != nil || same != u || !strings.HasPrefix(target, "/") {
		return nil, false
	}
	h.target = target
	return func() { h.target = "" }, true
}

// authority returns host and port as they are written in a URL.
func authority(u canon.URL) string {
	s := string(u.Root())
	return strings.TrimSuffix(s[strings.Index(s, "//")+2:], "/")
}

// Post sends a form and reads the answer. A redirect is an answer like any other, because the form
// is for this URL alone.
func (h *Session) Post(u canon.URL, form string, want WantFunc) (Answer, error) {
	h.form = form
	defer func() { h.form = "" }()
	return h.Fetch(u, http.Header{"Content-Type": {rup.FormType}}, want)
}
