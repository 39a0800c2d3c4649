package fetcher

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	sites "github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/boottime"
	"github.com/curtsy/curtsy/pkg/botauth"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/rup"
)

// ManualOptions says who sends the requests, and which addresses may be reached.
type ManualOptions struct {
	// Contact is part of the User-Agent. Without it only private addresses are reached.
	Contact      string
	AllowPrivate bool     // reach loopback and private addresses as well
	Resolve      []string // HOST=ADDR, as in a crawl's Spec
	// Waiting is called if robots.txt or politeness delays a request; nil means that nobody is
	// informed.
	Waiting func(host string, wait time.Duration)
	// WholeAnswer is how long an answer may take, from the request to its last byte; 0 means 5 min.
	WholeAnswer time.Duration
	Signer      *botauth.Signer    // of each request over https; nil: none is signed
	Credentials *credentials.Set   // sent to the sites that require them; nil: none
	Proxy       *credentials.Proxy // requests go through it; nil: they go directly
	Dial        wire.Dial          // opens the connections; nil: the system's
	// Word is called with what a refusal asks for, and if credentials were not sent; nil means that
	// nobody is informed.
	Word func(text string)
}

// Manual is an http.RoundTripper for the few requests that a person makes at a prompt, outside of
// any crawl. They pass the same gate, the same check and the same guard as those of a crawl, and
// each origin's robots.txt is read first and obeyed. It may be used concurrently, and sends one
// request at a time. An answer is read before it is returned, up to rup.MaxAnswer bytes and one
// more, by which a reader sees that there is more.
type Manual struct {
	opt    ManualOptions
	agent  string // our User-Agent
	cfg    *wire.Config
	client *wire.Client

	// It has an element while a request is running. Whoever put it there may use the fields below.
	turn     chan struct{}
	files    map[canon.Origin]robotsText
	rules    map[canon.Origin]*robots.Rules
	delays   map[canon.Host]time.Duration // the longest that a robots.txt of the host asks for
	sessions map[canon.Host]*wire.Session // the last session on each host
}

// robotsText is a robots.txt that was read.
type robotsText struct {
	file  *robots.File
	state robots.State
	body  []byte // only if it was parsed
}

// NewManual checks the options.
func NewManual(opt ManualOptions) (*Manual, error) {
	resolve, err := wire.ParseResolve(opt.Resolve)
	if err != nil {
		return nil, err
	}
	opt.WholeAnswer = cmp.Or(opt.WholeAnswer, wholeAnswer)
	h := &Manual{
		opt: opt, turn: make(chan struct{}, 1), files: map[canon.Origin]robotsText{}, rules: map[canon.Origin]*robots.Rules{}, delays: map[canon.Host]time.Duration{}, sessions: map[canon.Host]*wire.Session{},
		agent: requests.UserAgent(crawl.Spec{Agent: manualToken, Contact: opt.Contact}),
		cfg:   &wire.Config{Resolve: resolve, AllowPrivate: opt.AllowPrivate, Contact: opt.Contact != ""},
		// Such an answer may come as slowly as it likes, within its time.
		client: wire.NewClient(wire.Options{
			WholeResponse: opt.WholeAnswer, RateWindow: opt.WholeAnswer, MinRate: 1, Signer: opt.Signer,
			Credentials: opt.Credentials, Proxy: opt.Proxy, Dial: opt.Dial,
		}),
	}
	if opt.Word != nil {
		h.client.OnWithheld(func(site string) {
			opt.Word("credentials for " + site + " are not sent over http to a public address: use https")
		})
	}
	h.cfg.Header = http.Header{"User-Agent": {h.agent}}
	return h, nil
}

// wholeAnswer is how long an answer may take, from the request to its last byte.
const wholeAnswer = 5 * time.Minute

// UserAgent returns the User-Agent of the requests.
func (h *Manual) UserAgent() string { return h.agent }

// manualToken is our product token in robots.txt files.
const manualToken = "curtsy"

// RoundTrip sends a GET, or a POST of a form, if the host's robots.txt allows it, and not before
// the host's delay.
func (h *Manual) RoundTrip(r *http.Request) (*http.Response, error) {
	form, err := formOf(r)
	if err != nil {
		return nil, err
	}
	u, err := canon.Parse(r.URL.String())
	if err != nil {
		return nil, err
	}
	ctx := r.Context()
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	defer h.leave()
	rules, err := h.rulesFor(ctx, u.Origin())
	if err != nil {
		return nil, err
	}
	if v := rules.Match(u.PathQuery()); !v.Allowed {
		if v.Line == 0 {
			return nil, fmt.Errorf("the robots.txt of %s cannot be fetched, so nothing may be requested there", r.URL.Host)
		}
		return nil, fmt.Errorf("the robots.txt of %s does not allow %s (line %d: %s)", r.URL.Host, u.Path(), v.Line, v.Rule)
	}
	var body []byte
	header := r.Header.Clone()
	header.Del("User-Agent")
	a, err := h.send(ctx, u, form, header, func(int, http.Header) wire.Wanted {
		return wire.Wanted{Raw: true, Stream: func(wire io.Reader) (err error) {
			body, err = io.ReadAll(io.LimitReader(wire, rup.MaxAnswer+1))
			return err
		}}
	})
	if err != nil {
		return nil, err
	}
	if why := answer.Wants(&a); why != "" && h.opt.Word != nil {
		h.opt.Word(string(u.Host()) + ": " + why)
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)), StatusCode: a.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.Header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// Robots returns the robots.txt of an origin, and its text as it was received. The text is empty if
// the origin has none. If the server cannot deliver it, nothing may be requested there, and that is
// an error.
func (h *Manual) Robots(ctx context.Context, o canon.Origin) (*robots.File, []byte, error) {
	if err := h.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer h.leave()
	if _, err := h.rulesFor(ctx, o); err != nil {
		return nil, nil, err
	}
	got := h.files[o]
	if got.state == robots.Unreachable {
		return nil, nil, fmt.Errorf("the robots.txt of %s cannot be fetched", o)
	}
	return got.file, got.body, nil
}

// enter waits until no other request is running. The caller calls leave after its own.
func (h *Manual) enter(ctx context.Context) error {
	select {
	case h.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *Manual) leave() { <-h.turn }

// formOf returns what a request posts; it is empty for a GET.
func formOf(r *http.Request) (string, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	switch {
	case r.Method == http.MethodGet || r.Method == "":
		return "", nil
	case r.Method == http.MethodPost && r.Body != nil && r.Header.Get("Content-Type") == rup.FormType:
		form, err := io.ReadAll(r.Body)
		if len(form) > 0 || err != nil {
			return string(form), err
		}
	}
	return "", fmt.Errorf("%s %s: only a GET request or a form can be sent", r.Method, r.URL.Host)
}

// begin makes the session of one request to a host, which waits for the delay of the host. The
// caller calls end after the request.
func (h *Manual) begin(ctx context.Context, host canon.Host) (hold *wire.Session, end func()) {
	l, ctx := wire.NewLease(ctx, boottime.Now, boottime.Now(), math.MaxInt64/2)
	hold = h.client.NewSession(ctx, ctx, h.cfg, host, l)
	hold.Delayed = h.delays[host]
	if before := h.sessions[host]; before != nil {
		hold.Continues(before)
	}
	h.sessions[host] = hold
	if wait := hold.Pause(); h.opt.Waiting != nil && wait > 0 {
		h.opt.Waiting(string(host), wait)
	}
	return hold, func() {
		hold.Release()
		l.End()
	}
}

// send waits for the delay of the host, sends a request and reads its answer.
func (h *Manual) send(ctx context.Context, u canon.URL, form string, extra http.Header, want wire.WantFunc) (wire.Answer, error) {
	hold, end := h.begin(ctx, u.Host())
	defer end()
	var a wire.Answer
	var err error
	if form != "" {
		a, err = hold.Post(u, form, want)
	} else {
		a, err = hold.Fetch(u, extra, want)
	}
	switch err := hold.Cause(err); {
	case errors.Is(err, wire.ErrWhole):
		return a, fmt.Errorf("%s did not send its whole response within %v", u.Host(), h.opt.WholeAnswer)
	case err != nil && a.Status != 0 && ctx.Err() == nil:
		return a, fmt.Errorf("its response was cut off: %w", err)
	default:
		return a, err
	}
}

// How long a server for mobile robots may take for an answer.
const (
	agentSilence = 30 * time.Second
	agentAnswer  = time.Minute
)

// AgentRun asks a server for mobile robots for the state of a run, and returns the status of its
// answer: 404 if it has no such run. u is the URL that stands for the server
// (crawl.AgentServerURL). The request passes the same gate and the same guard as all others. No
// robots.txt is read, because the server is no web site.
func (h *Manual) AgentRun(ctx context.Context, u canon.URL, id string) (status int, err error) {
	if err := h.enter(ctx); err != nil {
		return 0, err
	}
	defer h.leave()
	a, err := atp.ParseAddress(crawl.AgentAddress(u))
	if err != nil {
		return 0, err
	}
	hold, end := h.begin(ctx, u.Host())
	defer end()
	_, err = wire.Talk{Silence: agentSilence, Most: agentAnswer}.Run(hold, u, func(conn net.Conn) (int, error) {
		client := atp.Client{UserAgent: h.agent, Dial: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
		r := atp.Request{Method: atp.Message, URI: a.String(), Header: textproto.MIMEHeader{}}
		r.Header.Set(atp.AgentID, id)
		a.TLS = false // the connection has it
		res, err := client.Do(ctx, a, &r)
		if err != nil {
			return 0, err
		}
		status = res.Status
		return status, res.Body.Close()
	})
	return status, hold.Cause(err)
}

// rulesFor returns the rules of an origin. It reads its robots.txt once.
func (h *Manual) rulesFor(ctx context.Context, o canon.Origin) (*robots.Rules, error) {
	if rules := h.rules[o]; rules != nil {
		return rules, nil
	}
	// A redirect may lead to another host, and from there back to this origin. That request must
	// not wait for this one, so nothing is allowed here until then.
	h.rules[o] = robots.ForState(robots.Unreachable, nil).Rules(manualToken, sites.Origin(o))
	got, err := h.robotsOf(ctx, o)
	if err != nil {
		delete(h.rules, o)
		return nil, fmt.Errorf("robots.txt: %w", err)
	}
	h.files[o] = got
	rules := got.file.Rules(manualToken, sites.Origin(o))
	if d, asked := rules.CrawlDelay(); asked {
		h.delays[o.Host] = max(h.delays[o.Host], d, wire.PoliteDelay)
	}
	h.rules[o] = rules
	return rules, nil
}

// robotsOf reads a robots.txt and follows redirects, also to other hosts. Their own rules are read
// first and obeyed, except for their robots.txt itself (formats §7). The rules apply to the
// origin that was asked first.
func (h *Manual) robotsOf(ctx context.Context, o canon.Origin) (robotsText, error) {
	at, err := o.URL(sites.Path)
	if err != nil {
		return robotsText{}, err
	}
	t := requests.Trail{Next: at, Most: robots.MaxRedirects}
	var failed error
	t.May = func(u canon.URL) bool {
		if u.Host() == o.Host || u.PathQuery() == sites.Path {
			return true
		}
		var rules *robots.Rules
		if rules, failed = h.rulesFor(ctx, u.Origin()); failed != nil {
			return false
		}
		return rules.Match(u.PathQuery()).Allowed
	}
	t.Ask = func(u canon.URL, _ bool) (wire.Answer, error) {
		return h.send(ctx, u, "", nil, func(int, http.Header) wire.Wanted { return wire.Wanted{Limit: robots.MaxBytes + 2} })
	}
	for {
		t.At = t.Next
		switch a, end, err := t.Follow(t.At.Host()); {
		case err != nil || failed != nil:
			return robotsText{}, cmp.Or(err, failed)
		case end == requests.TrailBarred:
			return robotsText{file: robots.ForState(robots.Unreachable, nil)}, nil
		case a.Truncated && len(a.Body) <= robots.MaxBytes:
			return robotsText{}, wire.ErrWireLimit // the last line may be half a line
		case end == requests.TrailLost:
			return robotsText{file: robots.ForState(robots.Unavailable, nil), state: robots.Unavailable}, nil
		case end == requests.TrailArrived:
			got := robotsText{file: robots.ForStatus(a.Status, a.Body), state: robots.StateOf(a.Status)}
			if got.state == robots.Parsed {
				got.body = a.Body
			}
			return got, nil
		}
		t.Redirects++ // to another host
	}
}
