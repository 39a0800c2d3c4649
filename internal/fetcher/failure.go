package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// failure says what a request that came to nothing means for its URL.
type failure struct {
	reason crawl.Reason
	detail string // for people
	// unsent: we did not ask, or cut the request off ourselves: the URL goes back as if nothing had been.
	unsent bool
	// silent: the host does not answer: two in a row end the visit.
	silent bool
	// timeout: counts as a sign that the host is overloaded.
	timeout bool
	// final: trying again would end the same.
	final bool
	// barred: it is we who may not ask, which says nothing of the site.
	barred bool
}

// failureOf classifies the error of a fetch.
func (h *hold) failureOf(err error) failure {
	if errors.Is(err, errForgotten) {
		return failure{reason: crawl.ReasonForgotten, detail: detail(err), final: true, barred: true}
	}
	if h.conn != nil && h.used {
		if fault := h.conn.fault.Load(); fault != nil {
			err = *fault // net/http's words for it vary
		}
	}
	var (
		address *addressError
		dns     *net.DNSError
		tlsErr  *tlsError
		connect *connectTimeout
		op      *net.OpError
		broken  *violation
	)
	text := detail(err)
	switch {
	case errors.As(err, &address):
		return failure{reason: crawl.ReasonAddress, detail: address.hint, final: true, barred: true}
	case errors.Is(err, errSlow):
		return failure{reason: crawl.ReasonTooSlow, detail: text, timeout: true}
	case errors.Is(err, errFirstByte), errors.Is(err, errWhole):
		return failure{reason: crawl.ReasonTimeout, detail: text, silent: true, timeout: true}
	case h.ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, errLease), errors.Is(err, errUnarmed),
		errors.Is(err, ErrBusy), errors.As(err, &broken):
		return failure{detail: text, unsent: true}
	case errors.Is(err, errEncoding):
		return failure{reason: crawl.ReasonEncoding, detail: text, final: true}
	case errors.As(err, &connect):
		return failure{reason: crawl.ReasonTimeout, detail: text, silent: true, timeout: true}
	case errors.As(err, &dns):
		return failure{reason: crawl.ReasonDNS, detail: dns.Err, silent: true}
	case errors.As(err, &tlsErr):
		return failure{reason: crawl.ReasonTLS, detail: text, silent: true}
	case errors.As(err, &op) && op.Op == "dial":
		return failure{reason: crawl.ReasonConnect, detail: strings.TrimPrefix(detail(op.Err), "connect: "), silent: true, timeout: true}
	case strings.Contains(text, "server response headers exceeded"):
		return failure{reason: crawl.ReasonHeaders, detail: "the head of the answer is larger than anyone's should be", final: true}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return failure{reason: crawl.ReasonNetwork, detail: "the connection ended in the middle of the answer"}
	case isProtocol(err, text) && !(h.conn != nil && h.used && h.conn.ended.Load()): // a head cut short looks malformed, too
		// On a connection used before it may have been the tail of an answer longer than its Content-Length.
		return failure{reason: crawl.ReasonProtocol, detail: text, final: !h.reused}
	}
	return failure{reason: crawl.ReasonNetwork, detail: text}
}

// isProtocol recognises an answer that is not HTTP. net/http has no type for all of them.
func isProtocol(err error, text string) bool {
	var p textproto.ProtocolError
	if errors.As(err, &p) {
		return true
	}
	for _, words := range [...]string{"malformed", "invalid", "unsupported transfer encoding", "too many transfer encodings",
		"Content-Length", "too many 1xx", "unexpected"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// detail is an error's text, short enough for an outcome.
func detail(err error) string {
	s := err.Error()
	if len(s) > 200 {
		s = s[:200]
	}
	return strings.ToValidUTF8(s, "?")
}

// String is for Robots.Reason.
func (f failure) String() string {
	if f.detail == "" {
		return string(f.reason)
	}
	return fmt.Sprintf("%s: %s", f.reason, f.detail)
}
