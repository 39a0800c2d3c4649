package simnet

import (
	"net/netip"
)

// Refuse makes connections to an address fail, as if nobody listened there, until it is called with
// false. Existing connections stay.
func (n *Net) Refuse(address string, refused bool) {
	n.fault(address, func(f *fault) { f.refused = refused })
}

// Cut separates an address from all others: bytes written in either direction wait, and neither
// side gets an error. New connections wait until their context ends. If cut is false, the address
// is connected again, and everything that waits arrives.
func (n *Net) Cut(address string, cut bool) {
	n.fault(address, func(f *fault) { f.cut = cut })
	if !cut {
		n.each(address, func(c *Conn) { c.in.wake(); c.out.wake() })
	}
}

// Slow limits the bytes per second of each connection of an address, in each direction. 0 removes
// the limit. The limit applies to all bytes that are written from now on.
func (n *Net) Slow(address string, bytesPerSecond int) {
	n.fault(address, func(f *fault) { f.rate = bytesPerSecond })
}

// Reset resets all open connections of an address. Later ones are not affected.
func (n *Net) Reset(address string) { n.each(address, (*Conn).Reset) }

// Conns is the number of open connections of an address.
func (n *Net) Conns(address string) (count int) {
	n.each(address, func(*Conn) { count++ })
	return count
}

func (n *Net) fault(address string, change func(*fault)) {
	at := netip.MustParseAddrPort(address)
	n.mu.Lock()
	defer n.mu.Unlock()
	f := n.faults[at]
	if f == nil {
		f = new(fault)
		n.faults[at] = f
	}
	change(f)
}

// each calls do with the accepting end of each connection of an address.
func (n *Net) each(address string, do func(*Conn)) {
	at := netip.MustParseAddrPort(address)
	n.mu.Lock()
	var all []*Conn
	for c := range n.conns {
		if c.at == at {
			all = append(all, c)
		}
	}
	n.mu.Unlock()
	for _, c := range all {
		do(c)
	}
}

func (n *Net) isCut(at netip.AddrPort) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := n.faults[at]
	return f != nil && f.cut
}

func (n *Net) rate(at netip.AddrPort) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if f := n.faults[at]; f != nil {
		return f.rate
	}
	return 0
}
