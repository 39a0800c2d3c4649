package crawl

import (
	"slices"
	"strings"
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

func TestMediaTypes(t *testing.T) {
	if got := strings.Join((TypeHTML | TypeText).MediaTypes(), " "); got != "application/xhtml+xml text/html text/plain" {
		t.Errorf("MediaTypes = %s", got)
	}
	var all Types = 1<<len(typeNames) - 1
	for _, m := range all.MediaTypes() {
		if TypeOf(m)&all == 0 {
			t.Errorf("%s is of no type", m)
		}
	}
	if len(all.MediaTypes()) != len(mediaTypes) {
		t.Errorf("%d of %d media types are of a type", len(all.MediaTypes()), len(mediaTypes))
	}
}
