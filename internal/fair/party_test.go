package fair

import (
	"net/netip"
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
)

func TestParty(t *testing.T) {
	for host, want := range map[canon.Host]string{
		"www.example.co.uk": "example.co.uk",
		"a.me.github.io":    "me.github.io",
		"localhost":         "localhost",
		"192.0.2.7":         "192.0.2.7",
		"[2001:db8::1]":     "2001:db8::/64",
		"":                  "",
	} {
		if got := DomainOf(host).String(); got != want {
			t.Errorf("the party of host %q is %q, not %q", host, got, want)
		}
	}
	for addr, want := range map[string]string{
		"192.0.2.7":            "192.0.2.7",
		"::ffff:192.0.2.7":     "192.0.2.7",
		"64:ff9b::c000:207":    "192.0.2.7",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"fe80::1%eth0":         "fe80::/64",
	} {
		if got := BlockOf(netip.MustParseAddr(addr)).String(); got != want {
			t.Errorf("the party of address %s is %q, not %q", addr, got, want)
		}
	}
	if !BlockOf(netip.Addr{}).IsZero() || !DomainOf("").IsZero() || Registered("example.org") != DomainOf("a.example.org") {
		t.Error("nobody is a party, or one domain is two")
	}
}
