package sitemap

import (
	"fmt"
	"strings"
	"testing"
)

// An undeclared entity stays as text, and so does an "&" that begins none: the entry and those
// after it are read.
func TestUnknownEntities(t *testing.T) {
	for _, tt := range []struct{ written, want string }{
		{"http://a.example/?a=1&amp;b=2", "http://a.example/?a=1&b=2"},
		{"http://a.example/?a=1&test;", "http://a.example/?a=1&test;"},
		{"http://a.example/?a=1&test;b", "http://a.example/?a=1&test;b"},
		{"http://a.example/?a=1&test=2", "http://a.example/?a=1&test=2"},
		{"http://a.example/?a=1&=2", "http://a.example/?a=1&=2"},
		{"http://a.example/?a&", "http://a.example/?a&"},
		{"http://a.example/?a&;", "http://a.example/?a&;"},
		{"http://a.example/?&#xzz;", "http://a.example/?&#xzz;"},
		{"http://a.example/?&#;", "http://a.example/?&#;"},
		{"http://a.example/?&#0;x", "http://a.example/?&#0;x"},
		{"http://a.example/?&#1;x", "http://a.example/?&#1;x"},
		{"http://a.example/?&#99999999;x", "http://a.example/?&#99999999;x"},
		{"http://a.example/?&#x0;x", "http://a.example/?&#x0;x"},
		{"http://a.example/?&#xFFFE;&#xD800;x", "http://a.example/?&#xFFFE;&#xD800;x"},
		{"http://a.example/\x01x", "http://a.example/ x"},
		{"http://a.example/\xffx", "http://a.example/\uFFFDx"},
		{"http://a.example/\xc3", "http://a.example/\uFFFD"},
		{"http://a.example/\xef\xbf\xbex", "http://a.example/\uFFFDx"},
		{"http://a.example/\xf0\x9f\x98\x80\xc3\xbc&amp;", "http://a.example/😀ü&"},
		{"http://a.example/?&#9;&#x263A;x", "http://a.example/?\t☺x"},
		{"http://a.example/?&eacute;", "http://a.example/?é"},
		{"http://a.example/?&тест;", "http://a.example/?&тест;"},
		{"<![CDATA[http://a.example/?a&test;]]>", "http://a.example/?a&test;"},
	} {
		var got []string
		sum, err := Read(strings.NewReader("<urlset><url><loc>"+tt.written+"</loc></url><url><loc>http://a.example/last</loc></url></urlset>"), Options{}, func(e Entry) error {
			got = append(got, e.Loc)
			return nil
		})
		if want := []string{tt.want, "http://a.example/last"}; err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, %+v, %v; want %q", tt.written, got, sum, err, want)
		}
	}
}
