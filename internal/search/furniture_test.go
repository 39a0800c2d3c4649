package search

import (
	"strings"
	"testing"
)

// A snippet has no page furniture beside the words, and no signs that link to a heading; where only
// the furniture has the words, it is shown.
func TestSnippetWithoutFurniture(t *testing.T) {
	f := newFixture(t)
	f.add(
		page("https://a.example/guide", "en", "Guide", `<nav><a href="/">Home</a> <a href="/x">Imprint</a> <a href="/y">Careers</a></nav>
<div class="cookie-notice">We use cookies to make the zebra happy.</div>
<main><h1>Stripes<a class="headerlink" href="#s">¶</a></h1><p>The okapi has stripes.</p><h2>Food <a href="#f">#</a></h2><p>An okapi eats leaves; C#
is no leaf.</p></main><footer>Copyright of the zoo</footer>`),
		page("https://b.example/long", "en", "Long", "<nav><a href=/>Home</a> <a href=/x>Imprint</a></nav><main><p>A short quagga stands here, and it looks around for grass and for water all day long.</p></main><footer>"+strings.Repeat("Links and links. ", 12)+"</footer>"),
	)
	for query, want := range map[string]string{
		"okapi":          "Stripes The [okapi] has stripes. Food An [okapi] eats leaves; C# is no leaf.",
		"leaf":           "Stripes The okapi has stripes. Food An okapi eats leaves; C# is no [leaf].",
		"quagga":         "A short [quagga] stands here, and it looks around for grass and for water all day long.",
		"site:b.example": "A short quagga stands here, and it looks around for grass and for water all day long.",
		"careers":        "Careers",
	} {
		if got := f.snippetOf(query); !strings.Contains(got, want) && !strings.Contains(strings.NewReplacer("[", "", "]", "").Replace(got), want) || strings.Contains(got, "¶") || want != "Careers" && (strings.Contains(got, "Imprint") || strings.Contains(got, "Copyright") || strings.Contains(got, "Links")) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// What stands at the end of a line goes, and marks stay where their words are.
func TestRenderLeavesPermalinksOut(t *testing.T) {
	text := []byte("One¶\ntwo §\nC#\nthree ¶ four\nfive 🔗")
	at := strings.Index(string(text), "three")
	five := strings.Index(string(text), "five")
	got, marks := render(text, 0, len(text), []mark{{0, 0, 3}, {0, at, at + 5}, {0, five, five + 4}})
	if got != "One two C# three ¶ four five" {
		t.Errorf("%q", got)
	}
	var words []string
	for _, m := range marks {
		words = append(words, got[m[0]:m[1]])
	}
	if strings.Join(words, " ") != "One three five" {
		t.Errorf("marked are %q", words)
	}
}
