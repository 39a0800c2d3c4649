package page

import (
	"net/http"
	"slices"
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
)

func TestHeaderLinks(t *testing.T) {
	const at = "http://h.example/a/b"
	for _, tt := range []struct {
		header    http.Header
		links     []canon.URL
		canonical canon.URL
	}{
		{http.Header{"Refresh": {"0; url=/t", "5", "0;url='u'"}}, []canon.URL{"http://h.example/t", "http://h.example/a/u"}, ""},
		{http.Header{"Link": {`</n>; rel="next", </s.css>; rel=stylesheet, <p>; rel=prev; type="text/html"`, `</n>; rel=alternate; type="application/rss+xml"`}},
			[]canon.URL{"http://h.example/n", "http://h.example/a/p"}, ""},
		{http.Header{"Link": {`</c>; rel=canonical`, `</x>; rel="next nofollow"`, `</y>; rel=next; anchor="/z"`}}, []canon.URL{"http://h.example/c"}, "http://h.example/c"},
		{http.Header{"Link": {`</c>; rel=canonical`, `</d>; rel=canonical`}}, []canon.URL{"http://h.example/c", "http://h.example/d"}, ""},
		{http.Header{"Link": {`<>; rel=next`, `<#x>; rel=next`, `<mailto:a@b>; rel=next`, `next`}}, nil, ""},
	} {
		if got := headerLinks(tt.header, at); !slices.Equal(got, tt.links) {
			t.Errorf("%v: %v, want %v", tt.header, got, tt.links)
		}
		if got := headerCanonical(tt.header, at); got != tt.canonical {
			t.Errorf("%v: canonical %q, want %q", tt.header, got, tt.canonical)
		}
	}
}
