package feed

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A name that neither a page nor a site rule has is an error that names a similar one.
func TestCheckFields(t *testing.T) {
	spec := crawl.Spec{Sites: "sites:\n  a.example:\n    fields:\n      chapter: {css: h1}\n      kind: {meta: kind}\n"}
	for typed, want := range map[string]string{
		"": "", "url,title,text,fields": "", "url,chapter": "",
		"url,chaptre": "did you mean chapter?", "titel": "did you mean title?", "zzzzzzzzz": "kind",
		"version": "version is sent with every page", "id": "id is sent with every page",
	} {
		var names []string
		if typed != "" {
			names = strings.Split(typed, ",")
		}
		err := CheckFields(names, spec)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", typed, err)
		}
	}
	if err := CheckFields([]string{"chapter"}, crawl.Spec{}); err == nil {
		t.Error("a crawl without site rules has a field chapter")
	}
}

// What is passed on of a row are the fields that are named, those of the site rules below "fields".
func TestSelection(t *testing.T) {
	row := crawl.PageRow{}
	row.URL, row.Title = "https://a.example/", "A"
	row.Fields = crawl.Fields{{Name: "chapter", Type: crawl.FieldText, Values: []string{"One"}}, {Name: "kind", Type: crawl.FieldKeyword, Values: []string{"manual"}}}
	for typed, want := range map[string]string{
		"url":             `{"id":"1","version":2,"url":"https://a.example/"}`,
		"title,kind":      `{"id":"1","version":2,"title":"A","fields":{"kind":"manual"}}`,
		"kind":            `{"id":"1","version":2,"fields":{"kind":"manual"}}`,
		"fields,kind,url": `{"id":"1","version":2,"fields":{"chapter":"One","kind":"manual"},"url":"https://a.example/"}`,
	} {
		c := newSelection(strings.Split(typed, ",")).change("1", 2, &row)
		if got, err := c.Line(); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", typed, got, err, want)
		}
	}
	c := newSelection(nil).change("1", 2, &row)
	if got, err := c.Line(); err != nil || !strings.Contains(string(got), `"sha256"`) || !strings.Contains(string(got), `"chapter":"One"`) {
		t.Errorf("%s, %v", got, err)
	}
	if len(row.Fields) != 2 {
		t.Error("the row was changed")
	}
}
