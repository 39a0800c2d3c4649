package catalog

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The report of what could not be read goes with the text of a page, and does not change what is
// read of it.
func TestUnread(t *testing.T) {
	const linked, header, why = `[{"@type":"Dataset","name":"a"}]`, `{"linkset":[{"anchor":"/p","type":[{"href":"https://schema.org/Dataset"}],"cite-as":[{"href":"https://doi.org/10.5072/x"}]}]}`,
		"script 2: it could not be read: é"
	page := Document{Page: true}
	for _, head := range []string{"", header} {
		plain := PageText([]byte(linked), []byte(head))
		if got := WithUnread(plain, ""); string(got) != string(plain) || Unread(got, page) != "" {
			t.Errorf("without a report: %q", got)
		}
		text := WithUnread(plain, why)
		if got := Unread(text, page); got != why {
			t.Errorf("%q: %q", text, got)
		}
		want, err := ReadPage(plain, page1)
		got, err2 := ReadPage(text, page1)
		if err != nil || err2 != nil || len(got) != len(want) || len(got) == 0 {
			t.Errorf("%v, %v, want %v, %v", got, err2, want, err)
		}
	}
	if got := Unread(WithUnread(PageText(nil, nil), why), page); got != why {
		t.Errorf("nothing but a report: %q", got)
	}
	long := strings.Repeat("é", maxUnread)
	for _, got := range []string{Unread(WithUnread(nil, long), page), Unread(UnreadPart(long), Document{})} {
		if len(got) != maxUnread || !utf8.ValidString(got) {
			t.Errorf("%d bytes of a long report", len(got))
		}
	}
	for text, want := range map[string]string{
		`{"dataset":[{"a":1}]}`:         "",
		`{"dataset":[{"a":1},]}`:        "", // forgiven
		`{"dataset":[{"a" 1},{"b":1}]}`: `JSON: one entry of 2 could not be read: "1" where a colon should be at byte 17`,
		"<html>":                        `JSON: it could not be read: "<" where JSON should begin at byte 0`,
		string(UnreadPart(why)):         why,
	} {
		if got := Unread([]byte(text), Document{}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	const turtle = "<http://a.example/d> a <http://www.w3.org/ns/dcat#Dataset> .\n"
	for text, want := range map[string]string{
		turtle: "", turtle + "<http://a.example/e> a nonsense here .\n": "RDF: parts of it could not be read (1): no term at byte 92",
	} {
		if got := Unread([]byte(text), Document{Type: "text/turtle"}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if claims, err := ReadJSON(UnreadPart(why), page1); err == nil {
		t.Errorf("a report is read as %v", claims)
	}
}
