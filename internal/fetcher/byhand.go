package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/robots"
)

// ByHandOptions says who asks, and what may be reached.
type ByHandOptions struct {
	Contact      string   // goes into the User-Agent; without one only private addresses are reached
	AllowPrivate bool     // reach loopback and private addresses as well
	Resolve      []string // HOST=ADDR, as in a crawl's Spec
	// Waiting is told when robots.txt or manners ask to wait with a request; nil tells nobody.
	Waiting func(host string, wait time.Duration)
}

// ByHand is an http.RoundTripper for the few requests that a person types at a prompt, outside of any crawl. It asks as we do: addresses
// pass the guard, each origin's robots.txt is read first and obeyed, and requests to a host are spaced. It may be used concurrently, and
// then sends one request at a time: the next one waits until the body of the answer before is closed.
type ByHand struct {
	opt       ByHandOptions
	resolve   resolveMap
	transport *http.Transport
	private   sync.Map // by host, as it is dialled: whether its last address was; set by the goroutine that dials

	turn  chan struct{} // has an element from a request to the end of its answer; who put it there may use what follows
	rules map[robots.Origin]*robots.Rules
	last  map[string]time.Time // by host: the end of its last answer
}

// NewByHand checks the options.
func NewByHand(opt ByHandOptions) (*ByHand, error) {
	resolve, err := parseResolve(opt.Resolve)
	if err != nil {
		return nil, err
	}
	h := &ByHand{opt: opt, resolve: resolve, turn: make(chan struct{}, 1), rules: map[robots.Origin]*robots.Rules{}, last: map[string]time.Time{}}
	h.transport = &http.Transport{
		Proxy:                  nil, // a proxy would hide the address from the guard
		DialContext:            h.dial,
		DisableKeepAlives:      true, // a request on a connection that turns out closed would be sent twice
		DisableCompression:     true,
		ResponseHeaderTimeout:  30 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	return h, nil
}

// UserAgent is what requests are signed with.
func (h *ByHand) UserAgent() string {
	return userAgent(crawl.Spec{Agent: handToken, Contact: h.opt.Contact})
}

// handToken is our product token, by which robots.txt knows us.
const handToken = "curtsy"

func (h *ByHand) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{
		Timeout:       10 * time.Second,
		FallbackDelay: -1,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return &addressError{hint: fmt.Sprintf("%q is no address", address)}
			}
			isPrivate, err := guard(ap.Addr(), reachOf(ap.Addr()), h.opt.AllowPrivate, h.opt.Contact != "")
			h.private.Store(hostOf(addr), isPrivate)
			return err
		},
	}
	return d.DialContext(ctx, network, h.resolve.target(addr))
}

// RoundTrip sends a request if the host's robots.txt allows it, and no sooner than it may.
func (h *ByHand) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case h.turn <- struct{}{}:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	res, err := h.ask(r)
	if err != nil {
		<-h.turn
		return nil, err
	}
	res.Body = &handBody{res.Body, sync.OnceFunc(func() {
		h.answered(r.URL)
		<-h.turn
	})}
	return res, nil
}

// ask sends a request that its host's rules allow.
func (h *ByHand) ask(r *http.Request) (*http.Response, error) {
	rules, err := h.rulesFor(r.Context(), r.URL)
	if err != nil {
		return nil, err
	}
	path := (&url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}).String()
	if v := rules.Match(path); !v.Allowed {
		if v.Line == 0 {
			return nil, fmt.Errorf("the robots.txt of %s cannot be had, so nothing may be asked there", r.URL.Host)
		}
		return nil, fmt.Errorf("the robots.txt of %s does not allow %s (line %d: %s)", r.URL.Host, r.URL.Path, v.Line, v.Rule)
	}
	return h.send(r, rules)
}

// hostOf is the host of an address to be dialled.
func hostOf(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	return strings.ToLower(host)
}

// answered notes that an answer of a URL's host has ended.
func (h *ByHand) answered(u *url.URL) { h.last[strings.ToLower(u.Hostname())] = time.Now() }

// send waits until the host has rested, and sends. The caller says when the answer has ended.
func (h *ByHand) send(r *http.Request, rules *robots.Rules) (*http.Response, error) {
	host := strings.ToLower(r.URL.Hostname())
	delay, asked := rules.CrawlDelay()
	if isPrivate, _ := h.private.Load(host); !asked && isPrivate == true {
		delay = 0
	} else {
		delay = max(delay, politeDelay)
	}
	if last, before := h.last[host]; before {
		if wait := time.Until(last.Add(delay)); wait > 0 {
			if h.opt.Waiting != nil {
				h.opt.Waiting(host, wait)
			}
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
	}
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", h.UserAgent())
	res, err := h.transport.RoundTrip(r)
	if err != nil {
		h.answered(r.URL)
	}
	return res, err
}

// handBody calls closed when it is closed.
type handBody struct {
	io.ReadCloser
	closed func()
}

func (b *handBody) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}

// rulesFor reads an origin's robots.txt, once.
func (h *ByHand) rulesFor(ctx context.Context, u *url.URL) (*robots.Rules, error) {
	origin, err := robots.ParseOrigin(u.String())
	if err != nil {
		return nil, err
	}
	if rules := h.rules[origin]; rules != nil {
		return rules, nil
	}
	file, err := h.robotsOf(ctx, origin.RobotsURL())
	if err != nil {
		return nil, err
	}
	rules := file.Rules(handToken, origin)
	h.rules[origin] = rules
	return rules, nil
}

// robotsOf follows redirects as robots.txt alone may; the rules found hold for the origin asked first.
func (h *ByHand) robotsOf(ctx context.Context, at string) (*robots.File, error) {
	seen := []string{at}
	for {
		status, location, body, err := h.getRobots(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("robots.txt: %w", err)
		}
		if status < 300 || status > 399 || status == http.StatusNotModified {
			return robots.ForStatus(status, body), nil
		}
		base, err := url.Parse(at)
		if err != nil {
			return nil, err
		}
		next, err := base.Parse(location)
		if location == "" || err != nil || next.Scheme != "http" && next.Scheme != "https" || len(seen) > robots.MaxRedirects ||
			slices.Contains(seen, next.String()) {
			return robots.ForState(robots.Unavailable, nil), nil
		}
		at = next.String()
		seen = append(seen, at)
	}
}

func (h *ByHand) getRobots(ctx context.Context, at string) (status int, location string, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return 0, "", nil, err
	}
	res, err := h.send(r, new(robots.File).Rules(handToken, robots.Origin{}))
	if err != nil {
		return 0, "", nil, err
	}
	defer func() {
		res.Body.Close()
		h.answered(r.URL)
	}()
	if body, err = io.ReadAll(io.LimitReader(res.Body, robots.MaxBytes+2)); err != nil {
		return 0, "", nil, errors.Join(errors.New("cut short"), err)
	}
	return res.StatusCode, res.Header.Get("Location"), body, nil
}
