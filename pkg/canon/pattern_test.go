package canon

import "testing"

func TestHostPattern(t *testing.T) {
	for text, hosts := range map[string]map[Host]bool{
		"Example.org":     {"example.org": true, "www.example.org": false, "xexample.org": false, "org": false},
		" *.example.org ": {"example.org": true, "www.example.org": true, "a.b.example.org": true, "xexample.org": false, "example.org.net": false},
		"*.bücher.test":   {"xn--bcher-kva.test": true, "a.xn--bcher-kva.test": true},
		"10.0.0.1":        {"10.0.0.1": true, "1.10.0.0.1": false},
		"[::1]":           {"[::1]": true},
	} {
		p, err := ParseHostPattern(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for h, want := range hosts {
			if p.Matches(h) != want {
				t.Errorf("%s matches %s: %v", p, h, !want)
			}
		}
		if again, err := ParseHostPattern(p.String()); again != p || err != nil {
			t.Errorf("%s is read back as %s, %v", p, again, err)
		}
	}
	for _, bad := range []string{"", "*", "*.", "*x.example", "a.*.example", "*.10.0.0.1", "*.[::1]", "a b", "example.org/x", "*.*.x"} {
		if p, err := ParseHostPattern(bad); err == nil {
			t.Errorf("%q is %s", bad, p)
		}
	}
	for text, open := range map[string]bool{
		"*.org": true, "*.co.uk": true, "*.github.io": true, "*.xn--p1ai": true, "*.example.org": false, "*.me.github.io": false,
		"org": false, "github.io": false, "*.localhost": false, "*.test": false, "10.0.0.1": false,
	} {
		if p, err := ParseHostPattern(text); err != nil || p.IsOpen() != open {
			t.Errorf("%s is open to anybody: %v, %v", text, !open, err)
		}
	}
	if none := (HostPattern{}); none.Matches("") || none.IsOpen() {
		t.Error("the zero pattern matches a host")
	}
}
