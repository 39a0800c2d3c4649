package crawl

import (
	"slices"
	"testing"
)

func TestTypes(t *testing.T) {
	for _, c := range []struct {
		words []string
		set   Types
		names []string
	}{
		{[]string{"html"}, TypeHTML, []string{"html"}},
		{[]string{"Office, pdf"}, TypePDF | TypeOffice, []string{"pdf", "office"}},
		{TypeNames(), TypeHTML | TypeText | TypeMarkdown | TypeData | TypeFeed | TypePDF | TypeOffice, TypeNames()},
	} {
		set, err := ParseTypes(c.words)
		if err != nil || set != c.set || !slices.Equal(set.Names(), c.names) {
			t.Errorf("%q are %v (%q), %v", c.words, set, set.Names(), err)
		}
	}
	for _, bad := range [][]string{nil, {"png"}, {"html", ""}, {"html,,pdf"}} {
		if set, err := ParseTypes(bad); err == nil {
			t.Errorf("%q are %v", bad, set)
		}
	}
	if got := (&Spec{}).TypeSet(); got != TypeHTML|TypeText {
		t.Errorf("a spec without types has %q", got.Names())
	}
	if got := (&Spec{Types: []string{"pdf", "hologram"}}).TypeSet(); got != TypePDF {
		t.Errorf("a spec with a type of a later version has %q", got.Names())
	}
	if TypeOf("image/png") != 0 || TypeOf("text/html") != TypeHTML {
		t.Error("TypeOf")
	}
}
