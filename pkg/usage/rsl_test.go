package usage_test

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/usage"
)

// rsl wraps content elements.
func rsl(contents string) string {
	return "<?xml version=\"1.0\"?>\n<rsl xmlns=\"https://rslstandard.org/rsl\">\n" + contents + "\n</rsl>"
}

func rslOf(t *testing.T, body, url string) usage.Preferences {
	t.Helper()
	doc, err := usage.ParseRSL([]byte(body))
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var s usage.Set
	s.RSL(doc, usage.Position{From: "rsl", Line: 1}, url)
	return s.Preferences()
}

// Formats §8.19: what a licence means for each purpose.
func TestUsage_8_19_Licences(t *testing.T) {
	for _, c := range []struct {
		name, licences string
		want           pref
	}{
		{"permits", `<license><permits type="usage">search ai-input</permits></license>`, pref{a, a, d, u}},
		{"permits all", `<license><permits type="usage">all</permits></license>`, pref{a, a, a, u}},
		{"permits ai-all", `<license><permits type="usage">ai-all</permits></license>`, pref{d, a, a, u}},
		{"permits ai-index", `<license><permits>AI-Index</permits></license>`, pref{d, a, d, u}},
		{"permits an unknown use", `<license><permits type="usage">editorial</permits></license>`, pref{d, d, d, u}},
		{"prohibits", `<license><prohibits type="usage">ai-train</prohibits></license>`, pref{u, u, d, u}},
		{"both", `<license><permits type="usage">all</permits><prohibits type="usage">ai-train,ai-input</prohibits></license>`, pref{a, d, d, u}},
		{"free", `<license><permits type="usage">search</permits><payment type="free"/></license>`, pref{a, d, d, u}},
		{"attribution", `<license><permits type="usage">all</permits><payment type="attribution"/></license>`, pref{a, a, a, u}},
		{"payment without type", `<license><permits type="usage">all</permits><payment/></license>`, pref{a, a, a, u}},
		{"paid", `<license><permits type="usage">ai-train</permits><payment type="subscription"><amount currency="USD">1</amount></payment></license>`,
			pref{d, d, d, u}},
		{"paid for anything", `<license><payment type="crawl"/></license>`, pref{d, d, d, u}},
		{"contribution", `<license><permits type="usage">all</permits><payment type="contribution"/></license>`, pref{d, d, d, u}},
		{"two offers", `<license><permits type="usage">search</permits></license>` +
			`<license><permits type="usage">ai-train</permits><payment type="training"/></license>`, pref{a, d, d, u}},
		{"one of two is free", `<license><permits type="usage">all</permits><payment type="use"/></license>` +
			`<license><permits type="usage">search</permits></license>`, pref{a, d, d, u}},
		{"one prohibits what the other permits", `<license><permits type="usage">all</permits></license>` +
			`<license><prohibits type="usage">ai-train</prohibits></license>`, pref{a, a, d, u}},
		{"for some users", `<license><permits type="usage">search</permits><permits type="user">non-commercial</permits></license>`, pref{u, d, d, u}},
		{"for some countries", `<license><prohibits type="usage">ai-train</prohibits><prohibits type="geo">EU</prohibits></license>`, pref{u, u, d, u}},
		{"an empty licence", `<license/>`, pref{}},
		{"no licence", ``, pref{}},
	} {
		if got := rslOf(t, rsl(`<content url="/">`+c.licences+`</content>`), "https://d.example/x"); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := rslOf(t, rsl(`<content url="/" server="https://s.example/api"><license><permits type="usage">all</permits></license></content>`), "/"); got != (pref{d, d, d, u}) {
		t.Errorf("a server: %v", got)
	}
}

// Formats §8.19: the narrower scope decides; of equal scopes, the strictest.
func TestUsage_8_19_Scope(t *testing.T) {
	permit := func(attrs, uses string) string {
		return `<content ` + attrs + `><license><permits type="usage">` + uses + `</permits></license></content>` + "\n"
	}
	body := rsl(permit(`url="/"`, "all") + permit(`url="/images/*.png$"`, "search") + permit(`url="https://D.example:443/news/"`, "ai-input") +
		permit(`url="https://other.example/news/x"`, "all") + permit(`url="blog"`, "search") + permit(`url="/b%6cog"`, "all"))
	for url, want := range map[string]pref{
		"https://d.example/x":              {a, a, a, u},
		"/images/a.png":                    {a, d, d, u},
		"/images/a.png?x":                  {a, a, a, u},
		"https://d.example/news/x":         {d, a, d, u},
		"https://d.example/blog/1":         {a, d, d, u}, // equally long: the strictest
		"http://d.example/news/x":          {a, a, a, u},
		"https://www.d.example:8443/news/": {a, a, a, u},
	} {
		if got := rslOf(t, body, url); got != want {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
	if got := rslOf(t, rsl(permit(``, "search")), "/any"); got != (pref{a, d, d, u}) {
		t.Errorf("a content element without address is about everything: %v", got)
	}
	var s usage.Set
	doc, _ := usage.ParseRSL([]byte(body))
	s.RSL(doc, usage.Position{From: "rsl", Line: 1}, "/images/a.png")
	if src := s.Sources(); len(src) != 3 || src[0].From != "rsl" || src[0].Line != 4 {
		t.Errorf("%+v", src)
	}
}

// Formats §8.19: an invalid document has no effect and is reported; the namespace identifies a
// document.
func TestUsage_8_19_Documents(t *testing.T) {
	const inside = `<content url="/"><license><prohibits type="usage">ai-train</prohibits></license></content>`
	for name, body := range map[string]string{
		"empty":     "",
		"HTML":      "<!doctype html><title>Not found</title><p>Not & found",
		"no name":   "<rsl>" + inside + "</rsl>",
		"other":     `<rsl xmlns="https://example.org/rsl">` + inside + "</rsl>",
		"cut":       rsl(inside)[:len(rsl(inside))-4],
		"entity":    rsl(inside + "&bomb;"),
		"charset":   `<?xml version="1.0" encoding="x-none"?><rsl xmlns="https://rslstandard.org/rsl"/>`,
		"over 1MiB": rsl(inside + strings.Repeat(" ", usage.MaxRSL)),
		"many":      rsl(strings.Repeat("<content/>", 10_001)),
	} {
		if doc, err := usage.ParseRSL([]byte(body)); err == nil || doc != nil {
			t.Errorf("%s: read", name)
		}
	}
	for name, body := range map[string]string{
		"prefix": `<r:rsl xmlns:r="https://rslstandard.org/rsl"><r:content url="/"><r:license><r:prohibits type="usage">ai-train</r:prohibits></r:license></r:content></r:rsl>`,
		"RSS": `<rss xmlns:r="https://rslstandard.org/rsl"><channel><item><r:content url="/"><r:license><r:prohibits type="usage">` +
			`ai-train</r:prohibits></r:license></r:content></item></channel></rss>`,
		"10,000":  rsl(inside + strings.Repeat("<content url=\"/y\"/>", 9_999)),
		"mark":    "\uFEFF" + rsl(inside),
		"1 MiB":   rsl(inside + strings.Repeat(" ", usage.MaxRSL-len(rsl(inside)))),
		"latin-1": `<?xml version="1.0" encoding="ISO-8859-1"?><rsl xmlns="https://rslstandard.org/rsl"><!-- caf` + "\xe9 -->" + inside + "</rsl>",
		"Windows": `<?xml version="1.0" encoding='windows-1252'?><rsl xmlns="https://rslstandard.org/rsl">` + "\x80" + inside + "</rsl>",
		"ASCII":   `<?xml version="1.0" encoding="US-ASCII"?><rsl xmlns="https://rslstandard.org/rsl">` + inside + "</rsl>",
		// a word may consist of several pieces
		"comment": rsl(strings.Replace(inside, "ai-train", "ai<!-- no -->-<?no no?>tr<![CDATA[ain]]>", 1)),
		"element": rsl(strings.Replace(inside, "ai-train", "ai-<b xmlns=''/>train", 1)),
	} {
		if got := rslOf(t, body, "/x"); got != (pref{u, u, d, u}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	// elements in places where they are not allowed
	if got := rslOf(t, rsl(`<content url="/"><license><prohibits>search<content url="/x"><license><prohibits>ai-train<license><permits>all`+
		`</permits></license></prohibits></license></content></prohibits></license></content>`), "/x"); got != (pref{a, a, d, u}) {
		t.Errorf("nested: %v", got)
	}
	if got := rslOf(t, rsl(`<license><permits>all</permits></license><content url="/"><permits>all</permits><payment type="crawl"/></content><permits>all</permits>`), "/"); got != (pref{}) {
		t.Errorf("stray elements: %v", got)
	}
}
