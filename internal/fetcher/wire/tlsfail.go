package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
)

// tlsError is a failed handshake, including invalid certificates.
type tlsError struct {
	err    error
	origin string // to which the connection was, for the advice
}

func (e *tlsError) Error() string { return e.err.Error() }
func (e *tlsError) Unwrap() error { return e.err }

// remoteAlert begins the text of an alert that the other side sent before it closed the connection.
const remoteAlert = "remote error: tls: "

// isAlert reports whether the other side ended a connection with an alert of TLS.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// why says for people what went wrong, and what to do about it.
func (e *tlsError) why() string {
	var (
		unknown  x509.UnknownAuthorityError
		name     x509.HostnameError
		invalid  x509.CertificateInvalidError
		notTLS   tls.RecordHeaderError
		text     = e.err.Error()
		_, alert = cutAfter(text, remoteAlert)
	)
	switch {
	case errors.As(e.err, &name):
		if names := certNames(name.Certificate); names != "" {
			return "its certificate is for other names: " + names
		}
		return "its certificate has no name"
	case errors.As(e.err, &unknown):
		return fmt.Sprintf("its certificate is from an unknown authority; if you trust it, add the authority's file as ca: below %s in the file for --credentials", e.origin)
	case errors.As(e.err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired or is not valid yet: " + strings.TrimPrefix(invalid.Error(), "x509: certificate has expired or is not yet valid: ")
	case errors.As(e.err, &invalid):
		return "its certificate is not valid: " + strings.TrimPrefix(invalid.Error(), "x509: ")
	case errors.As(e.err, &notTLS):
		return "the server does not use TLS"
	case strings.Contains(alert, "certificate") || alert == "access denied" || alert == "unknown certificate authority":
		return fmt.Sprintf("it requires a client certificate, or another one (%s): add cert: and key: below %s in the file for --credentials", alert, e.origin)
	case alert == "handshake failure":
		// Some servers also send it if they miss a certificate, and all if they accept none of our
		// ciphers.
		return fmt.Sprintf("it refuses the handshake; if it requires a client certificate, add cert: and key: below %s in the file for --credentials", e.origin)
	case alert == "unrecognized name":
		return "it has no certificate for this name"
	}
	return detail(e.err)
}

// cutAfter returns what follows a text in another one.
func cutAfter(s, sep string) (before, after string) {
	before, after, _ = strings.Cut(s, sep)
	return before, after
}

// certNames returns the names in a certificate, as many as can be read at a glance.
func certNames(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	names := c.DNSNames
	for _, ip := range c.IPAddresses {
		names = append(names[:len(names):len(names)], ip.String())
	}
	more := ""
	if len(names) > 3 {
		names, more = names[:3], " and others"
	}
	return strings.Join(names, ", ") + more
}
