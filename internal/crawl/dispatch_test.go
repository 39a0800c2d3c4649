package crawl

import (
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
)

// The URL of a server leads back to its address, whatever port a URL leaves out.
func TestAgentServerURL(t *testing.T) {
	for target, want := range map[string]struct{ url, address string }{
		"atp://www.fict.org:544":    {"http://www.fict.org:544/", "atp://www.fict.org:544"},
		"atp://www.fict.org":        {"http://www.fict.org:434/", "atp://www.fict.org:434"},
		"atps://www.fict.org":       {"https://www.fict.org:435/", "atps://www.fict.org:435"},
		"atp://www.fict.org:80":     {"http://www.fict.org/", "atp://www.fict.org:80"},
		"atps://www.fict.org:443":   {"https://www.fict.org/", "atps://www.fict.org:443"},
		"atp://127.0.0.1:10434":     {"http://127.0.0.1:10434/", "atp://127.0.0.1:10434"},
		"atp://[2001:db8::1]":       {"http://[2001:db8::1]:434/", "atp://[2001:db8::1]:434"},
		"atp://[2001:db8::1]:10434": {"http://[2001:db8::1]:10434/", "atp://[2001:db8::1]:10434"},
		"http://www.fict.org":       {},
		"none":                      {},
		"atp://":                    {},
		"atp://www.fict.org:99999":  {},
	} {
		u, ok := AgentServerURL(target)
		if ok != (want.url != "") || ok && string(u) != want.url {
			t.Errorf("%s: %q, %v, want %q", target, u, ok, want.url)
		}
		if ok && AgentAddress(u) != want.address {
			t.Errorf("%s: %q, want %q", target, AgentAddress(u), want.address)
		}
	}
	if a := AgentAddress(canon.URL("http://a.example/")); a != "atp://a.example:80" {
		t.Errorf("%q", a)
	}
}

// Robots are sent if the spec says so, and if the distance of what they bring does not matter.
func TestSendsRobots(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want bool
	}{
		{Spec{SendRobots: true, MaxDepth: -1}, true},
		{Spec{MaxDepth: -1}, false},
		{Spec{SendRobots: true, MaxDepth: 3}, false},
		{Spec{SendRobots: true, MaxDepth: -1, PlanOnly: true}, false},
	} {
		if got := c.spec.SendsRobots(); got != c.want {
			t.Errorf("%+v: %v", c.spec, got)
		}
	}
}

// A server outside of the site's registered domain is used only if the operator lists it, for all
// ports or for one.
func TestMayUseServer(t *testing.T) {
	s := Spec{RobotServers: []string{"Listed.example", "port.example.net:7000", "192.0.2.1"}}
	for target, want := range map[string]bool{
		"atp://www.site.example":       true,
		"atps://robots.site.example:1": true,
		"atp://site.example:9":         true,
		"atp://other.example":          false,
		"atp://listed.example:1":       true,
		"atp://x.listed.example:1":     false,
		"atp://port.example.net:7000":  true,
		"atps://port.example.net:7000": true,
		"atp://port.example.net:7001":  false,
		"atp://192.0.2.1:5":            true,
		"atp://192.0.2.2:5":            false,
	} {
		u, ok := AgentServerURL(target)
		if !ok {
			t.Fatal(target)
		}
		if got := s.MayUseServer("www.site.example", u); got != want {
			t.Errorf("%s: %v, want %v", target, got, want)
		}
	}
}
