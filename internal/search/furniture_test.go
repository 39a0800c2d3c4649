package search

import (
	"strings"
	"testing"
)

// A snippet has no navigation or other page furniture next to the words, and no permalink signs of
// headings; if only the furniture has the words, it is shown.
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

// A page that begins with the name of its site is described by its main text. If all parts are
// short, the longest one is shown.
func TestSnippetWithoutMarks(t *testing.T) {
	const nav = `<nav><a href="/">Home</a> <a href="/x">Imprint</a> <a href="/y">Careers</a></nav>`
	long := strings.Repeat("The tapir swims across the river. ", 20)
	f := newFixture(t)
	f.add(
		page("https://a.example/", "en", "A", "<div>Zoo News</div>"+nav+"<div><p>"+long+"</p></div><footer>Copyright of the zoo</footer>"),
		page("https://b.example/", "en", "B", "<div>Zoo News</div>"+nav+"<div><p>The tapir sleeps all day.</p></div><footer>Copyright of the zoo</footer>"),
		page("https://c.example/", "en", "C", "<main><p>"+long[:200]+"</p></main>"+nav+"<div>"+strings.Repeat("Comments follow. ", 30)+"</div>"),
		page("https://d.example/", "en", "D", nav),
	)
	for host, want := range map[string]string{"a": "The tapir swims", "b": "The tapir sleeps all day.", "c": "The tapir swims", "d": "Home"} {
		if got := f.snippetOf("site:" + host + ".example"); !strings.HasPrefix(strings.TrimPrefix(got, "… "), want) || host != "d" && strings.Contains(got, "Imprint") || host == "a" && len(got) < snippetBytes/2 {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

// Permalink signs at the end of a line are removed, and the marks stay at their words.
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
