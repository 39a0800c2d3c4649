package wire

import (
	"crypto/tls"
	"sync"

	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Door says what became of the credentials for the site of a request.
type Door uint8

const (
	NoDoor       Door = iota // there are none
	DoorShown                // they were sent
	DoorWithheld             // they were not: somebody on the internet could have read along
)

// doors are the sites with credentials, made ready for use.
type doors struct {
	set *credentials.Set
	tls map[*credentials.Site]*tls.Config // of those that have a way of their own

	mu       sync.Mutex // guards withheld and wanted
	withheld map[string]bool
	// Origins that asked for a certificate and were shown none. They do not ask again when a
	// session is resumed. At most maxWanted: what is forgotten costs a word in an explanation.
	wanted map[canon.Origin]bool
	tell   func(site string)
}

const maxWanted = 1024

// wants notes whether an origin asked for a certificate in a handshake, and reports whether it
// wants one.
func (d *doors) wants(o canon.Origin, asked, resumed bool) bool {
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
func (d *doors) init(set *credentials.Set, base *tls.Config) {
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
func (c *Client) OnWithheld(tell func(site string)) { c.doors.tell = tell }

// HasDoor reports whether there are credentials for an origin.
func (c *Client) HasDoor(o canon.Origin) bool { return c.doors.set.For(o) != nil }

// Shows reports whether requests to an origin can carry credentials or a certificate of ours.
func (c *Client) Shows(o canon.Origin) bool {
	site := c.doors.set.For(o)
	return site != nil && (site.HasHeader() || site.HasCertificate())
}

// meet looks for credentials for the request that is being made. It reports whether its head is to
// carry some. A request is matched by its own origin, wherever it was led from.
func (h *Hold) meet(u canon.URL) bool {
	h.behind, h.head, h.door = nil, nil, NoDoor
	if h.c.doors.set == nil {
		return false
	}
	h.behind = h.c.doors.set.For(u.Origin())
	return h.behind != nil && h.behind.HasHeader()
}

// show puts the site's header fields into the head of the request under way, now that it is known
// over which connection that goes.
func (h *Hold) show(c *conn) {
	switch {
	case h.behind == nil:
	case !c.safe:
		h.door = DoorWithheld
		h.c.doors.tellWithheld(h.behind.Name())
	default:
		h.door = DoorShown
		if h.head != nil {
			h.behind.AddTo(h.head)
		}
	}
}

func (d *doors) tellWithheld(site string) {
	if d.tell == nil {
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
		d.tell(site)
	}
}

// tlsFor is what a connection to an origin is secured with.
func (c *Client) tlsFor(o canon.Origin) *tls.Config {
	if c.doors.tls != nil {
		if own := c.doors.tls[c.doors.set.For(o)]; own != nil {
			return own
		}
	}
	return c.tls
}
