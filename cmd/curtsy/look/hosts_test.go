package look

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

func TestSitemapsNote(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		list []crawl.SitemapInfo
		want string
	}{
		{nil, ""},
		{[]crawl.SitemapInfo{{Status: 404, Reason: "HTTP 404"}, {Queued: true}}, ""},
		{[]crawl.SitemapInfo{{Form: "index", Entries: 2, ReadAt: &now}, {Form: "urlset", Entries: 30, ReadAt: &now}, {Form: "feed", Entries: 4, ReadAt: &now}},
			"sitemaps read: 3, naming 34 pages"},
	} {
		if got := hostNote(crawl.HostInfo{Sitemaps: tt.list}); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.list, got, tt.want)
		}
	}
}
