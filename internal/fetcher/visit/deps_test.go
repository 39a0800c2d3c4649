package visit

import "testing"

func TestDefaults(t *testing.T) {
	if o := NewDeps(nil, nil, Options{}).opt; o.MaxSitemap != 50<<20 || o.MaxBody != 10<<20 {
		t.Errorf("%d bytes of a sitemap and %d of a page are read, want 50 MiB and 10 MiB", o.MaxSitemap, o.MaxBody)
	}
}
