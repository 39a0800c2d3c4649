package robots

import "testing"

func TestFirst(t *testing.T) {
	f := Parse([]byte("User-agent: *\nDisallow: /shop\nAllow: /shop/open\nDisallow: /*?s=\nHost: www.m.example\nCrawl-delay: 2.5\n"))
	o, err := ParseOrigin("https://WWW.m.example/x")
	if err != nil {
		t.Fatal(err)
	}
	r := f.Rules("anybot", o)
	for p, want := range map[string]bool{"/": true, "/shop": false, "/shop/open/1": true, "/f?s=1": false, "/f?t=1": true} {
		if v := r.Match(p); v.Allowed != want {
			t.Errorf("%s: %+v", p, v)
		}
	}
	d, ok := r.CrawlDelay()
	t.Log(d, ok, o, f.Diagnostics, f.Claim(o))
	o.Host = "x.example"
	t.Log(f.Claim(o), f.Rules("a", o).Match("/"))
}
