package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Set are the credentials of a process, by site. It does not change and may be used concurrently. A
// nil Set has none.
type Set struct {
	exact map[canon.Origin]*Site
	under map[canon.Origin]*Site // of all hosts below Origin.Host
	login *Login                 // to the proxy; nil: none
}

// Site is what the file says of one site: an origin, or the same origin of all hosts below a
// domain.
type Site struct {
	name   string // as it stands in the file
	header http.Header
	roots  *x509.CertPool   // nil: those of the system
	cert   *tls.Certificate // nil: none
}

// For returns what is shown to an origin, or nil. An entry for the origin itself comes before one
// for a domain it is below, and that before one for a domain further up.
func (s *Set) For(o canon.Origin) *Site {
	if s == nil {
		return nil
	}
	if site := s.exact[o]; site != nil || len(s.under) == 0 || o.Host.IsIP() {
		return site
	}
	for rest := string(o.Host); ; {
		_, above, ok := strings.Cut(rest, ".")
		if !ok {
			return nil
		}
		if site := s.under[canon.Origin{Scheme: o.Scheme, Host: canon.Host(above), Port: o.Port}]; site != nil {
			return site
		}
		rest = above
	}
}

// All are the sites, in the order of their names.
func (s *Set) All() []*Site {
	if s == nil {
		return nil
	}
	all := slices.AppendSeq(slices.Collect(maps.Values(s.exact)), maps.Values(s.under))
	slices.SortFunc(all, func(a, b *Site) int { return strings.Compare(a.name, b.name) })
	return all
}

// Login is what the proxy is shown, or nil.
func (s *Set) Login() *Login {
	if s == nil {
		return nil
	}
	return s.login
}

// String says how many sites there are, and nothing else.
func (s *Set) String() string { return fmt.Sprintf("credentials for %d sites", len(s.All())) }

// GoString is String, for %#v.
func (s *Set) GoString() string { return s.String() }

// LogValue is String, for slog.
func (s *Set) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Name is how the file names the site: https://docs.example.org or https://*.example.org.
func (s *Site) Name() string { return s.name }

// String is Name.
func (s *Site) String() string { return s.name }

// GoString is Name, for %#v.
func (s *Site) GoString() string { return s.name }

// LogValue is Name, for slog.
func (s *Site) LogValue() slog.Value { return slog.StringValue(s.name) }

// HasHeader reports whether requests carry header fields.
func (s *Site) HasHeader() bool { return len(s.header) > 0 }

// AddTo puts the site's header fields into the head of a request.
func (s *Site) AddTo(h http.Header) { maps.Copy(h, s.header) }

// Carries reports whether a header field, in any spelling, is one of the site's.
func (s *Site) Carries(field string) bool {
	_, ok := s.header[http.CanonicalHeaderKey(field)]
	return ok
}

// HeaderBytes is how much the site's header fields add to the head of a request.
func (s *Site) HeaderBytes() (n int) {
	for name, values := range s.header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

// HasTLS reports whether connections to the site are secured in a way of their own.
func (s *Site) HasTLS() bool { return s.roots != nil || s.cert != nil }

// HasCertificate reports whether the site is shown a certificate.
func (s *Site) HasCertificate() bool { return s.cert != nil }

// TLS is what connections to the site are secured with, made of what those to other sites are. Its
// sessions are resumed at no other site.
func (s *Site) TLS(base *tls.Config) *tls.Config {
	c := base.Clone()
	c.ClientSessionCache = tls.NewLRUClientSessionCache(64)
	if s.roots != nil {
		c.RootCAs = s.roots
	}
	if cert := s.cert; cert != nil {
		// Shown whatever authorities the server lists: its own refusal says more than our silence.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	return c
}

// Login is what a proxy is shown.
type Login struct {
	user, password string
	roots          *x509.CertPool
}

// User is the name, or empty when none is shown.
func (l *Login) User() string {
	if l == nil {
		return ""
	}
	return l.user
}

// Password is the password. It must go nowhere but to the proxy.
func (l *Login) Password() string {
	if l == nil {
		return ""
	}
	return l.password
}

// Roots are the authorities of an https proxy's certificate; nil: those of the system.
func (l *Login) Roots() *x509.CertPool {
	if l == nil {
		return nil
	}
	return l.roots
}

// String hides what it is.
func (l *Login) String() string { return "a login" }

// GoString is String, for %#v.
func (l *Login) GoString() string { return l.String() }

// LogValue is String, for slog.
func (l *Login) LogValue() slog.Value { return slog.StringValue(l.String()) }
