package wiretest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Liar returns a resolver that answers each name with the addresses that lie returns.
func Liar(t testing.TB, lie func(name string) []netip.Addr) *net.Resolver {
	serve := func(c net.Conn) {
		defer c.Close()
		for {
			var size [2]byte
			if _, err := io.ReadFull(c, size[:]); err != nil {
				return
			}
			query := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(c, query); err != nil {
				return
			}
			var m dnsmessage.Message
			if err := m.Unpack(query); err != nil {
				t.Error(err)
				return
			}
			m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
			q := m.Questions[0]
			for _, a := range lie(strings.TrimSuffix(q.Name.String(), ".")) {
				h := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}
				switch {
				case a.Is4() && q.Type == dnsmessage.TypeA:
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
				case a.Is6() && q.Type == dnsmessage.TypeAAAA:
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
				}
			}
			b, err := m.Pack()
			if err != nil {
				t.Error(err)
				return
			}
			c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
		}
	}
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go serve(there)
		return here, nil
	}}
}

// Addrs returns the addresses in a list with spaces between them.
func Addrs(list string) (out []netip.Addr) {
	for _, s := range strings.Fields(list) {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}
