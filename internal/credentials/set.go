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

// Set has the credentials of a process, by site. It does not change after it was made, and may be
// used concurrently. A nil Set has none.
type Set struct {
	exact map[canon.Origin]*Site
	under map[canon.Origin]*Site // of all hosts below Origin.Host
	login *Login                 // for the proxy; nil: none
}

// Site has the credentials of one origin, or of all origins below a domain that share scheme and
// port.
type Site struct {
	name   string // as written in the file
	header http.Header
	roots  *x509.CertPool   // nil: those of the system
	cert   *tls.Certificate // nil: none
}

// For returns the credentials for an origin, or nil. An entry for the origin itself has priority
// over an entry for a domain above it. Of several such domains, the closest has priority.
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

// All returns the sites in the order of their names.
func (s *Set) All() []*Site {
	if s == nil {
		return nil
	}
	all := slices.AppendSeq(slices.Collect(maps.Values(s.exact)), maps.Values(s.under))
	slices.SortFunc(all, func(a, b *Site) int { return strings.Compare(a.name, b.name) })
	return all
}

// Login returns the login for the proxy, or nil.
func (s *Set) Login() *Login {
	if s == nil {
		return nil
	}
	return s.login
}

// String is only the number of sites.
func (s *Set) String() string { return fmt.Sprintf("credentials for %d sites", len(s.All())) }

// GoString is String, for %#v.
func (s *Set) GoString() string { return s.String() }

// LogValue is String, for slog.
func (s *Set) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Name is the site as the file names it: https://docs.example.org or https://*.example.org.
func (s *Site) Name() string { return s.name }

// String is Name.
func (s *Site) String() string { return s.name }

// GoString is Name, for %#v.
func (s *Site) GoString() string { return s.name }

// LogValue is Name, for slog.
func (s *Site) LogValue() slog.Value { return slog.StringValue(s.name) }

// HasHeader reports whether requests carry header fields.
func (s *Site) HasHeader() bool { return len(s.header) > 0 }

// AddTo adds the site's header fields to the head of a request.
func (s *Site) AddTo(h http.Header) { maps.Copy(h, s.header) }

// Carries reports whether a header field, in any case, is one of the site's.
func (s *Site) Carries(field string) bool {
	_, ok := s.header[http.CanonicalHeaderKey(field)]
	return ok
}

// HeaderBytes is how many bytes the site's header fields add to the head of a request.
func (s *Site) HeaderBytes() (n int) {
	for name, values := range s.header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

// HasTLS reports whether connections to the site have TLS settings of their own.
func (s *Site) HasTLS() bool { return s.roots != nil || s.cert != nil }

// HasCertificate reports whether the site gets a client certificate.
func (s *Site) HasCertificate() bool { return s.cert != nil }

// TLS returns the TLS settings for connections to the site, based on those for other sites. Its
// sessions are not resumed at other sites.
func (s *Site) TLS(base *tls.Config) *tls.Config {
	c := base.Clone()
	c.ClientSessionCache = tls.NewLRUClientSessionCache(64)
	if s.roots != nil {
		c.RootCAs = s.roots
	}
	if cert := s.cert; cert != nil {
		// The certificate is sent regardless of the authorities that the server lists, because a
		// refusal by the server is more informative than a missing certificate.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	return c
}

// Login is the login for a proxy.
type Login struct {
	user, password string
	roots          *x509.CertPool
}

// User is the user name, or empty if there is none.
func (l *Login) User() string {
	if l == nil {
		return ""
	}
	return l.user
}

// Password is the password. It must be sent to nobody but the proxy.
func (l *Login) Password() string {
	if l == nil {
		return ""
	}
	return l.password
}

// Roots are the authorities for the certificate of an https proxy. nil means those of the system.
func (l *Login) Roots() *x509.CertPool {
	if l == nil {
		return nil
	}
	return l.roots
}

// String hides the login.
func (l *Login) String() string { return "a login" }

// GoString is String, for %#v.
func (l *Login) GoString() string { return l.String() }

// LogValue is String, for slog.
func (l *Login) LogValue() slog.Value { return slog.StringValue(l.String()) }
