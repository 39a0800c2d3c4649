package canon

import "testing"

func TestSURT(t *testing.T) {
	for raw, want := range map[string]string{
		"https://example.org/":                             "org,example)/",
		"http://www.Example.org/A/B/":                      "org,example)/a/b",
		"https://www2.data.example.co.uk/x?b=2&a=1&a=0":    "uk,co,example,data)/x?a=0&a=1&b=2",
		"https://www.org/":                                 "org)/",
		"https://wwwx.example.org/":                        "org,example,wwwx)/",
		"https://example.org:8443/?q=X":                    "org,example:8443)/?q=x",
		"https://example.org./x":                           "org,example)/x",
		"http://192.0.2.7/x":                               "192.0.2.7)/x",
		"http://[2001:db8::1]:81/x":                        "[2001:db8::1]:81)/x",
		"http://localhost/?":                               "localhost)/",
		"https://example.org/%E2%82%AC?%5B%5D=,&=;ls -la)": "org,example)/%e2%82%ac?=;ls%20-la)&%5b%5d=,",
	} {
		u, err := Parse(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if got := u.SURT(); got != want {
			t.Errorf("%s: %s, want %s", u, got, want)
		}
	}
}

// FuzzSURT: a string that is not a URL does not cause a panic.
func FuzzSURT(f *testing.F) {
	f.Add("https://www.example.org/?a&b")
	f.Fuzz(func(t *testing.T, s string) {
		URL(s).SURT()
		if u, err := Parse(s); err == nil && u.SURT() == "" {
			t.Errorf("%s has no key", u)
		}
	})
}
