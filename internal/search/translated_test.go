package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

func TestPlaceOf(t *testing.T) {
	for _, c := range [][3]string{
		{"https://a.example/de/mod/core.html", "de", "https://a.example/*/mod/core.html"},
		{"https://a.example/guide-de/x.html", "de", "https://a.example/guide-*/x.html"},
		{"https://a.example/x.html.de", "de", "https://a.example/x.html.*"},
		{"https://a.example/x.de.html", "de", "https://a.example/x.*.html"},
		{"https://a.example/pt-BR/x", "pt", "https://a.example/*/x"},
		{"https://a.example/x?lang=de&y=1", "de", "https://a.example/x?lang=*&y=1"},
		{"https://a.example/x?lang=de", "de", "https://a.example/x?lang=*"},
		{"https://a.example/DE/x", "de", "https://a.example/*/x"},
		{"https://de.example/de/", "de", "https://de.example/*/"},
		{"https://a.example/made/in.html", "de", ""},
		{"https://a.example/de.html", "de", ""}, // the page is called so
		{"https://a.example/de/x", "en", ""},
		{"https://a.example/de/x", "", ""},
		{"https://a.example", "de", ""},
	} {
		if got, ok := placeOf(c[0], c[1]); got != c[2] || ok != (c[2] != "") {
			t.Errorf("placeOf(%s, %s) = %q, %v; want %q", c[0], c[1], got, ok, c[2])
		}
	}
}

// Translations of a page are one hit: in the language that the reader prefers, otherwise the best,
// or the English one if nothing says which is wanted. A page that is not translated yet is a copy.
func TestTranslationsAreOneHit(t *testing.T) {
	f := newFixture(t)
	for lang, text := range map[string]string{"en": "The module rewrites addresses of requests with rules", "de": "Das Modul schreibt Adressen von Anfragen mit Regeln um", "fr": "Le module réécrit les adresses des requêtes avec des règles"} {
		for i, name := range []string{"mod_rewrite", "mod_other"} {
			f.add(page(fmt.Sprintf("https://a.example/%s/%s.html", lang, name), lang, name, "<p>"+text+fmt.Sprint(" ", name, " ", i)))
		}
	}
	f.add(page("https://a.example/da/mod_rewrite.html", "en", "mod_rewrite", "<p>The module rewrites addresses of requests with rules mod_rewrite 0, not translated"),
		page("https://b.example/en/mod_rewrite.html", "en", "mod_rewrite", "<p>another site that has mod_rewrite"))
	for _, c := range []struct {
		query     string
		languages []string
		first     string
		others    string
	}{
		{"mod_rewrite", nil, "/en/", "de fr"},
		{"mod_rewrite", []string{"de", "en"}, "/de/", "en fr"},
		{"mod_rewrite", []string{"ja", "fr"}, "/fr/", "de en"},
		{"Regeln Anfragen mod_rewrite", nil, "/de/", "en fr"},
	} {
		a := ask(t, crawl.SearchRequest{Query: c.query + " site:a.example", Languages: c.languages}, f.Index)
		if len(a.Hits) == 0 || a.Hits[0].URL != "https://a.example"+c.first+"mod_rewrite.html" {
			t.Errorf("%s %v: %s", c.query, c.languages, brief(a))
			continue
		}
		var others []string
		for _, o := range a.Hits[0].Translations {
			others = append(others, o.Lang)
		}
		if s := strings.Join(others, " "); s != c.others {
			t.Errorf("%s %v: also in %s, want %s", c.query, c.languages, s, c.others)
		}
		for _, h := range a.Hits[1:] {
			if strings.Contains(h.URL, "a.example") && strings.Contains(h.URL, "mod_rewrite") {
				t.Errorf("%s: %s is another hit", c.query, h.URL)
			}
		}
	}
	if a := ask(t, crawl.SearchRequest{Query: "mod_rewrite lang:fr"}, f.Index); len(a.Hits) == 0 || a.Hits[0].Lang != "fr" || a.Hits[0].Translations != nil {
		t.Errorf("within a language: %s", brief(a))
	}
}
