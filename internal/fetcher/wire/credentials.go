package wire

import (
	"crypto/tls"
	"sync"

	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/pkg/canon"
)

// CredentialUse says what became of the credentials for the site of a request.
type CredentialUse uint8

const (
	NoCredentials   CredentialUse = iota // there are none
	CredentialsSent                      // they were sent
	// they were not: somebody on the internet could have read along
	CredentialsWithheld
)

// credentialStore are the sites with credentials, made ready for use.
type credentialStore struct {
	set *credentials.Set
	tls map[*credentials.Site]*tls.Config // of those that have a way of their own

	mu       sync.Mutex // guards withheld and wanted
	withheld map[string]bool
	// Origins that asked for a certificate and were shown none. They do not ask again when a
	// session is resumed. At most maxWanted: what is forgotten costs a word in an explanation.
	wanted map[canon.Origin]bool
	report func(site string)
}

const maxWanted = 1024

// wants notes whether an origin asked for a certificate in a handshake, and reports whether it
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

// init makes sites ready; base is what connections to other sites are secured with.
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

// OnWithheld makes the client tell once of each site whose credentials it did not send, since
// somebody on the internet could have read along. It is called before any request is sent.
func (c *Client) OnWithheld(report func(site string)) { c.credentialStore.report = report }

// HasCredentials reports whether there are credentials for an origin.
func (c *Client) HasCredentials(o canon.Origin) bool { return c.credentialStore.set.For(o) != nil }

// Shows reports whether requests to an origin can carry credentials or a certificate of ours.
func (c *Client) Shows(o canon.Origin) bool {
	site := c.credentialStore.set.For(o)
	return site != nil && (site.HasHeader() || site.HasCertificate())
}

// meet looks for credentials for the request that is being made. It reports whether its head is to
// carry some. A request is matched by its own origin, wherever it was led from.
func (h *Session) meet(u canon.URL) bool {
	h.behind, h.head, h.credentials = nil, nil, NoCredentials
	if h.c.credentialStore.set == nil {
		return false
	}
	h.behind = h.c.credentialStore.set.For(u.Origin())
	return h.behind != nil && h.behind.HasHeader()
}

// show puts the site's header fields into the head of the request under way, now that it is known
// over which connection that goes.
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

// tlsFor is what a connection to an origin is secured with.
func (c *Client) tlsFor(o canon.Origin) *tls.Config {
	if c.credentialStore.tls != nil {
		if own := c.credentialStore.tls[c.credentialStore.set.For(o)]; own != nil {
			return own
		}
	}
	return c.tls
}
