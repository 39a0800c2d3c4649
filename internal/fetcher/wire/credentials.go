package wire

import (
	"crypto/tls"
	"sync"

	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/pkg/canon"
)

// CredentialUse says whether credentials were sent to the site of a request.
type CredentialUse uint8

const (
	NoCredentials   CredentialUse = iota // there are none
	CredentialsSent                      // they were sent
	// they were not sent, because somebody on the internet could have read them
	CredentialsWithheld
)

// credentialStore has the sites with credentials, ready for use.
type credentialStore struct {
	set *credentials.Set
	tls map[*credentials.Site]*tls.Config // of the sites that have their own

	mu       sync.Mutex // guards withheld and wanted
	withheld map[string]bool
	// Origins that asked for a certificate and got none. They do not ask again when a session is
	// resumed. There are at most maxWanted; if one is forgotten, an explanation is shorter.
	wanted map[canon.Origin]bool
	report func(site string)
}

const maxWanted = 1024

// wants records whether an origin asked for a certificate in a handshake, and reports whether it
// wants one.
func (d *credentialStore) wants(o canon.Origin, asked, resumed bool) bool {
	if !asked && !resumed {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if asked && len(d.wanted) < maxWanted {
		if d.wanted == nil {
			d.wanted = make(map[canon.Origin]bool)
		}
		d.wanted[o] = true
	}
	return asked || d.wanted[o]
}

// init prepares the sites. base is the TLS configuration of connections to other sites.
func (d *credentialStore) init(set *credentials.Set, base *tls.Config) {
	d.set = set
	for _, site := range set.All() {
		if site.HasTLS() {
			if d.tls == nil {
				d.tls = make(map[*credentials.Site]*tls.Config)
			}
			d.tls[site] = site.TLS(base)
		}
	}
}

// OnWithheld makes the client call report once for each site to which it did not send credentials,
// because somebody on the internet could have read them. It must be called before any request is
// sent.
func (c *Client) OnWithheld(report func(site string)) { c.credentialStore.report = report }

// HasCredentials reports whether there are credentials for an origin.
func (c *Client) HasCredentials(o canon.Origin) bool { return c.credentialStore.set.For(o) != nil }

// Shows reports whether requests to an origin can carry credentials or a client certificate.
func (c *Client) Shows(o canon.Origin) bool {
	site := c.credentialStore.set.For(o)
	return site != nil && (site.HasHeader() || site.HasCertificate())
}

// meet looks up the credentials for the request that is being made. It reports whether its head
// will have some. What counts is the origin of the request itself, wherever a redirect came from.
func (h *Session) meet(u canon.URL) bool {
	h.behind, h.head, h.credentials = nil, nil, NoCredentials
	if h.c.credentialStore.set == nil {
		return false
	}
	h.behind = h.c.credentialStore.set.For(u.Origin())
	return h.behind != nil && h.behind.HasHeader()
}

// show adds the site's header fields to the head of the running request, now that its connection is
// known.
func (h *Session) show(c *conn) {
	switch {
	case h.behind == nil:
	case !c.safe:
		h.credentials = CredentialsWithheld
		h.c.credentialStore.reportWithheld(h.behind.Name())
	default:
		h.credentials = CredentialsSent
		if h.head != nil {
			h.behind.AddTo(h.head)
		}
	}
}

func (d *credentialStore) reportWithheld(site string) {
	if d.report == nil {
		return
	}
	d.mu.Lock()
	first := !d.withheld[site]
	if d.withheld == nil {
		d.withheld = make(map[string]bool)
	}
	d.withheld[site] = true
	d.mu.Unlock()
	if first {
		d.report(site)
	}
}

// tlsFor returns the TLS configuration of connections to an origin.
func (c *Client) tlsFor(o canon.Origin) *tls.Config {
	if c.credentialStore.tls != nil {
		if own := c.credentialStore.tls[c.credentialStore.set.For(o)]; own != nil {
			return own
		}
	}
	return c.tls
}
