package wire

import (
	"net/netip"
	"strings"
	"testing"
)

func TestReachOf(t *testing.T) {
	for _, tt := range []struct {
		addrs string
		want  Reach
	}{
		{"8.8.8.8 1.1.1.1 93.184.216.34 172.32.0.1 172.15.255.255 100.128.0.1 100.63.255.255 192.0.1.1 198.20.0.1 223.255.255.255 9.255.255.255 11.0.0.0 169.253.255.255 169.255.0.0 191.255.255.255", Public},
		{"2600:1901::1 2a00:1450:4001:80e::200e 2001:4860:4860::8888 2001:200::1 64:ff9b::808:808 2002:808:808::1", Public},
		{"127.0.0.1 127.255.255.254 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 100.127.255.255", private},
		{"0.1.2.3 192.0.0.1 192.0.2.5 198.51.100.7 203.0.113.9 198.18.0.1 198.19.255.255 240.0.0.1 255.255.255.254 192.88.99.1", private},
		{"::1 fc00::1 fd12:3456::1 2001:db8::1 3fff::1 100::1 2001::1 2001:10::1 5f00::1", private},
		{"::ffff:10.0.0.1 ::ffff:127.0.0.1 64:ff9b::a00:1 64:ff9b::7f00:1 2002:a00:1::1 64:ff9b:1::808:808 ::10.0.0.1 ::8.8.8.8 4000::1 ::ffff:0:10.0.0.1", private},
		{"169.254.0.1 169.254.169.254 169.254.255.255 fe80::1 febf::1 fe80::1%eth0 fec0::1 fd00:ec2::254 fd20:ce::254 100.100.100.200 192.0.0.192 168.63.129.16", forbidden},
		{"224.0.0.1 239.255.255.255 ff02::1 ff0e::1 0.0.0.0 :: 255.255.255.255", forbidden},
		{"::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::1 ::ffff:0.0.0.0 ::ffff:224.0.0.1 ::169.254.169.254 ::ffff:0:169.254.169.254 64:ff9b:1::a9fe:a9fe", forbidden},
	} {
		for _, s := range strings.Fields(tt.addrs) {
			if got := ReachOf(netip.MustParseAddr(s)); got != tt.want {
				t.Errorf("%s: %d, want %d", s, got, tt.want)
			}
		}
	}
	if ReachOf(netip.Addr{}) != forbidden {
		t.Error("no address at all is not forbidden")
	}
}

func TestGuard(t *testing.T) {
	pub, priv, never := netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("169.254.169.254")
	for _, tt := range []struct {
		addr           netip.Addr
		allow, contact bool
		ok             bool
		hint           string
	}{
		{pub, false, true, true, ""}, {pub, true, true, true, ""},
		{pub, true, false, false, "--contact"}, {pub, false, false, false, "--contact"},
		{priv, true, false, true, ""}, {priv, true, true, true, ""},
		{priv, false, true, false, "--allow-private"}, {priv, false, false, false, "--allow-private"},
		{never, true, true, false, "never"}, {never, false, false, false, "never"},
	} {
		isPrivate, err := guard(tt.addr, ReachOf(tt.addr), tt.allow, tt.contact)
		if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), tt.hint) {
			t.Errorf("guard(%v, %v, %v): %v", tt.addr, tt.allow, tt.contact, err)
		}
		if err == nil && isPrivate != (tt.addr == priv) {
			t.Errorf("guard(%v) says private is %v", tt.addr, isPrivate)
		}
	}
}

func TestResolve(t *testing.T) {
	m, err := ParseResolve([]string{"a.example=10.0.0.1", "B.Example.=10.0.0.2:8080", "*.example=[::1]:81", "*.deep.example=10.0.0.3", "c.example=::2", "d.example=[::3]"})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"a.example:80": "10.0.0.1:80", "b.example:443": "10.0.0.2:8080", "x.example:80": "[::1]:81",
		"x.deep.example:80": "10.0.0.3:80", "deep.example:80": "10.0.0.3:80", "c.example:80": "[::2]:80", "d.example:443": "[::3]:443",
		"example:80": "[::1]:81", "other.test:80": "other.test:80", "xa.example:80": "[::1]:81",
	} {
		if got := m.target(in); got != want {
			t.Errorf("target(%s) = %s, want %s", in, got, want)
		}
	}
	all, err := ParseResolve([]string{"*=127.0.0.1:1"})
	if err != nil || all.target("any.thing:80") != "127.0.0.1:1" {
		t.Errorf("*: %v", err)
	}
	for _, bad := range []string{"", "a", "a=", "=10.0.0.1", "a=b", "a=10.0.0.1:x", "*x.example=10.0.0.1", "*.=10.0.0.1", "a=10.0.0.1:99999"} {
		if _, err := ParseResolve([]string{bad}); err == nil {
			t.Errorf("parseResolve(%q) took it", bad)
		}
	}
}
