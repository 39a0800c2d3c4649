package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire/response"
)

// Failure says what a failed request means for its URL.
type Failure struct {
	Reason crawl.Reason
	Detail string // for people
	// We did not send the request, or cut it off ourselves. The URL is returned as if nothing had
	// happened.
	Unsent bool
	// The host does not answer. Two such failures in a row end the visit.
	Silent bool
	// It counts as a sign that the host is overloaded.
	Timeout bool
	// Another attempt would end in the same way.
	Final bool
	// We must not send the request. That means nothing for the site.
	Barred bool
	// The proxy could not be used. A request to the next site would fail, too.
	Proxy bool
}

// Cause returns why the connection of the last request was given up, if it was, and otherwise err.
// The errors of a closed socket do not say it.
func (h *Session) Cause(err error) error {
	if err != nil && h.conn != nil && h.used {
		if fault := h.conn.fault.Load(); fault != nil {
			return *fault
		}
	}
	return err
}

// FailureOf returns what the error of a request means for its URL.
func (h *Session) FailureOf(err error) Failure {
	err = h.Cause(err)
	var (
		address *addressError
		dns     *net.DNSError
		tlsErr  *tlsError
		connect *connectTimeout
		op      *net.OpError
		broken  *violation
		full    *LimiterTimeout
		through *proxyError
		refused *notConnected
	)
	text := detail(err)
	switch {
	case errors.As(err, &address):
		return Failure{Reason: crawl.ReasonAddress, Detail: address.hint, Final: true, Barred: true}
	case errors.As(err, &through):
		return Failure{Detail: clip(through.Error()), Unsent: true, Proxy: true}
	case errors.As(err, &refused):
		return Failure{Reason: crawl.ReasonConnect, Detail: clip(refused.Error()), Silent: true, Timeout: !refused.barred}
	case errors.Is(err, errSlow):
		return Failure{Reason: crawl.ReasonTooSlow, Detail: text, Timeout: true}
	case errors.Is(err, errFirstByte), errors.Is(err, errSilent), errors.Is(err, ErrWhole):
		return Failure{Reason: crawl.ReasonTimeout, Detail: text, Silent: true, Timeout: true}
	case h.ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, errLease), errors.Is(err, errClosed), errors.Is(err, errUnarmed),
		errors.Is(err, ErrBusy), errors.As(err, &broken), errors.As(err, &full):
		return Failure{Detail: text, Unsent: true}
	case errors.Is(err, errEncoding):
		return Failure{Reason: crawl.ReasonEncoding, Detail: text, Final: true}
	case errors.As(err, &connect):
		return Failure{Reason: crawl.ReasonTimeout, Detail: text, Silent: true, Timeout: true}
	case errors.As(err, &dns):
		return Failure{Reason: crawl.ReasonDNS, Detail: h.c.dnsHint(dns.Err), Silent: true}
	case errors.As(err, &tlsErr):
		return Failure{Reason: crawl.ReasonTLS, Detail: clip(tlsErr.why()), Silent: true}
	case errors.As(err, &op) && op.Op == "dial":
		return Failure{Reason: crawl.ReasonConnect, Detail: strings.TrimPrefix(detail(op.Err), "connect: "), Silent: true, Timeout: true}
	case errors.Is(err, response.ErrTooLarge):
		return Failure{Reason: crawl.ReasonHeaders, Detail: "the response header is too large", Final: true}
	case h.conn != nil && h.used && !h.reused && h.conn.certWanted && h.conn.got.Load() == 0:
		// The server closed the connection to a request without a certificate. Its alert may have
		// been lost.
		why := &tlsError{errors.New(remoteAlert + "certificate required"), h.conn.origin()}
		return Failure{Reason: crawl.ReasonTLS, Detail: clip(why.why()), Silent: true}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return Failure{Reason: crawl.ReasonNetwork, Detail: "the connection ended in the middle of the response"}
	case (errors.Is(err, response.ErrMalformed) || errors.Is(err, response.ErrLength)) && !(h.conn != nil && h.used && h.conn.ended.Load()):
		// A head that was cut off looks malformed, too. On a connection that was used before, it
		// may be the rest of an answer that was longer than its Content-Length.
		return Failure{Reason: crawl.ReasonProtocol, Detail: text, Final: !h.reused}
	}
	return Failure{Reason: crawl.ReasonNetwork, Detail: text}
}

// dnsHint adds which option helps if only the proxy can look names up.
func (c *Client) dnsHint(why string) string {
	if c.opt.Proxy != nil {
		why += "; this machine resolves names; with --proxy-resolves the proxy does it"
	}
	return why
}

// detail returns an error's text, short enough for an outcome.
func detail(err error) string { return clip(err.Error()) }

// clip returns text short enough for an outcome.
func clip(s string) string {
	if len(s) > 200 {
		s = s[:200]
	}
	return strings.ToValidUTF8(s, "?")
}

// String returns the reason and its detail, as in Robots.Reason.
func (f Failure) String() string {
	if f.Detail == "" {
		return string(f.Reason)
	}
	return fmt.Sprintf("%s: %s", f.Reason, f.Detail)
}
