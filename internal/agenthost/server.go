package agenthost

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/pkg/canon"
)

// patience is how long the site's server may take to begin an answer, and for each piece of it.
const patience = 30 * time.Second

// Limits of the head of an answer: what is read of it, and what a robot gets of it.
const (
	maxAnswerHead = 64 << 10
	maxHead       = 16 << 10
)

// siteServer is the site's own web server on this machine. Nothing is sent to another machine: the
// address is a loopback address, and redirects are not followed. It may be used concurrently.
type siteServer struct {
	address   string // scheme, host and port
	host      string // the site's, for the Host field
	forwarded bool   // whether the site's URLs have https and the server has http
	transport *http.Transport
}

// newSiteServer checks the address of a server. dial connects to a loopback address; nil means TCP.
func newSiteServer(raw string, base canon.URL, dial func(ctx context.Context, network, address string) (net.Conn, error)) (*siteServer, error) {
	const use = "use for example http://127.0.0.1:8080"
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("server %s: %w; %s", raw, err, use)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("server %s is not an http or https URL; %s", raw, use)
	case u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("server %s: remove everything but the address; %s", raw, use)
	case len(loopback(u.Hostname())) == 0:
		return nil, fmt.Errorf("server %s is not on this machine; %s", raw, use)
	}
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	secure := strings.HasPrefix(string(base), "https:")
	site, err := url.Parse(string(base))
	if err != nil {
		return nil, err
	}
	return &siteServer{
		address: u.Scheme + "://" + u.Host, host: site.Host, forwarded: secure && u.Scheme == "http",
		transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return dialLoopback(ctx, dial, network, address)
			},
			// The certificate is that of the site.
			TLSClientConfig:    &tls.Config{ServerName: site.Hostname()},
			DisableCompression: true, MaxResponseHeaderBytes: maxAnswerHead, MaxIdleConnsPerHost: 4, IdleConnTimeout: patience,
		},
	}, nil
}

// loopback returns the loopback addresses of a host name. No name but localhost has one, whatever
// DNS says.
func loopback(host string) []netip.Addr {
	if strings.EqualFold(host, "localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	if a, err := netip.ParseAddr(host); err == nil && a.IsLoopback() && a.Zone() == "" {
		return []netip.Addr{a}
	}
	return nil
}

// dialLoopback connects to a loopback address, and to no other.
func dialLoopback(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error), network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	err = fmt.Errorf("%s is not on this machine", address)
	for _, a := range loopback(host) {
		var c net.Conn
		if c, err = dial(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			return c, nil
		}
	}
	return nil, err
}

func (s *siteServer) close() { s.transport.CloseIdleConnections() }

// get requests a path, which is in canonical spelling, for a robot. Until the answer begins, and
// for each Read of its body, the server has patience. The body must be closed.
func (s *siteServer) get(ctx context.Context, token, path string) (*http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(patience, cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address+path, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	r.Host = s.host
	r.Header.Set("User-Agent", token+" (mobile robot; agenthost)")
	r.Header.Set("Accept", "*/*")
	r.Header.Set("Accept-Encoding", "identity")
	if s.forwarded {
		// Many servers answer a request without it with a redirect to https.
		r.Header.Set("X-Forwarded-Proto", "https")
	}
	res, err := s.transport.RoundTrip(r)
	timer.Stop()
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &patientBody{res.Body, timer, cancel}
	return res, nil
}

// patientBody ends an answer of which a piece takes too long.
type patientBody struct {
	io.ReadCloser
	timer  *time.Timer
	cancel context.CancelFunc
}

// Read fills p, unless the body ends before.
func (b *patientBody) Read(p []byte) (int, error) {
	b.timer.Reset(patience)
	defer b.timer.Stop()
	return fill(b.ReadCloser, p)
}

// Close ends the request.
func (b *patientBody) Close() error {
	b.timer.Stop()
	defer b.cancel()
	return b.ReadCloser.Close()
}

// fill reads until p is full. Unlike io.ReadFull it returns io.EOF for every proper end, so that an
// end that came too early (io.ErrUnexpectedEOF) is an error.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}

// document requests a document. The error says what the server answered, and is a mobile.Code for
// the robot.
func (s *siteServer) document(ctx context.Context, token, path string, most int64) (res *http.Response, head []byte, err error) {
	res, err = s.get(ctx, token, path)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, fmt.Errorf("the server does not answer: %w: %w", err, mobile.Unreadable)
	}
	encoding := res.Header.Get("Content-Encoding")
	switch {
	case res.StatusCode/100 == 3:
		err = fmt.Errorf("the server answers with a redirect to %q, which is not followed: %w", res.Header.Get("Location"), mobile.NotFound)
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500:
		err = fmt.Errorf("the server answers %s: %w", res.Status, mobile.Unreadable)
	case res.StatusCode != http.StatusOK:
		err = fmt.Errorf("the server answers %s: %w", res.Status, mobile.NotFound)
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		err = fmt.Errorf("the server answers with Content-Encoding %q, which was not asked for: %w", encoding, mobile.Unreadable)
	case res.ContentLength > most:
		err = mobile.TooLarge
	default:
		head, err = headOf(res)
	}
	if err != nil {
		return nil, nil, errors.Join(err, res.Body.Close())
	}
	return res, head, nil
}

// shown are the fields of an answer that a robot gets: what describes the document, and what the
// site states about its use. Others may be for the machine in front of this server, or for one
// visitor.
var shown = []string{
	"Content-Type", "Content-Language", "Last-Modified", "Etag", "Vary", "Link",
	"Robots-Tag", "X-Robots-Tag", "Content-Usage", "Content-Signal", "Tdm-Reservation", "Tdm-Policy",
}

// headOf returns the lines for a robot. A head that is too long is an error, because it would be
// without some of its directives.
func headOf(res *http.Response) ([]byte, error) {
	head := fmt.Appendf(nil, "Status: %d\n", res.StatusCode)
	for _, name := range shown {
		for _, value := range res.Header[name] {
			head = append(append(append(append(head, name...), ": "...), strings.Map(printable, value)...), '\n')
		}
		if name == "Content-Type" && res.ContentLength >= 0 {
			head = fmt.Appendf(head, "Content-Length: %d\n", res.ContentLength)
		}
	}
	if len(head) > maxHead {
		return nil, fmt.Errorf("the server answers with a head of %d octets, of which robots get at most %d: %w", len(head), maxHead, mobile.Unreadable)
	}
	return head, nil
}

// printable keeps a value in its line.
func printable(c rune) rune {
	if c < ' ' && c != '\t' || c == 0x7f {
		return ' '
	}
	return c
}
