package search

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/pages"
)

func terms(lang, text string) []string {
	b, _ := newAnalyzer(8).appendTerms(nil, lang, []byte(text))
	return strings.Fields(string(b))
}

func TestTerms(t *testing.T) {
	for _, c := range []struct{ lang, text, want string }{
		{"en", "The running dogs' houses", "the run dog hous"},
		{"de", "Die Häuser der Straße", "die haus der strass"},
		{"ru", "большие собаки", "больш собак"},
		{"xx", "words as they are", "words as they are"},
		{"", "Ångström naïve ﬁne Ｆｕｌｌ", "angstrom naive fine full"},
		{"en", "pg_stat_activity", "pg stat activ"},
		{"en", "utf8 x86-64 3.11.7 0xFF", "utf8 x86 64 3 11 7 0xff"},
		{"", "getElementById", "getelementbyid get element by id"},
		{"", "ThreadPoolExecutor HTMLParser GitHub iPhone HTTP", "threadpoolexecutor thread pool executor htmlparser github iphone http"},
		{"ja", "日本語ABCデータ語", "日本 本語 abc デー ータ タ語"},
		{"", "a—b “c” d…", "a b c d"},
		{"", "café cafe\u0301", "cafe cafe"},
		{"ar", "الكِتَاب", "كتاب"},
		{"", strings.Repeat("a", maxWord) + " " + strings.Repeat("b", maxWord+1), strings.Repeat("a", maxWord)},
		{"", "\xff\xfe a\x00b", "a b"},
	} {
		if got := strings.Join(terms(c.lang, c.text), " "); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.lang, c.text, got, c.want)
		}
	}
}

func TestLanguage(t *testing.T) {
	for want, text := range map[string]string{
		"en": "The frontier decides which address is due and when, and hands out visits to those who ask for them politely.",
		"de": "Die Grenze entscheidet, welche Adresse wann an der Reihe ist, und verteilt höflich Besuche an alle, die danach fragen.",
		"fr": "La frontière décide quelle adresse est due et quand, et distribue poliment les visites à ceux qui les demandent.",
		"ru": "Граница решает, какой адрес и когда должен быть посещён, и вежливо раздаёт визиты тем, кто о них просит.",
		"":   "x = 1",
	} {
		if got := language("", []byte(text)); got != want {
			t.Errorf("language(%q) = %q, want %q", text, got, want)
		}
	}
	if got := language("pt", []byte("The text is English but the page knows better than we do what it is")); got != "pt" {
		t.Errorf("declared: %q", got)
	}
}

// Words remembered in a slot that two words share are still each their own.
func TestSharedSlots(t *testing.T) {
	small, large := newAnalyzer(0), newAnalyzer(12)
	text := []byte(strings.Repeat("running dogs were barking loudly at passing cars ", 3))
	a, _ := small.appendTerms(nil, "en", text)
	b, _ := large.appendTerms(nil, "en", text)
	if string(a) != string(b) {
		t.Errorf("%q\n%q", a, b)
	}
}

func TestParse(t *testing.T) {
	p := parse(`go -"old news" title:"new things" title:x* site:Example.ORG lang:de -y a-b -`)
	want := []clause{{text: "go"}, {text: "old news", phrase: true, not: true}, {text: "new things", phrase: true, title: true},
		{text: "x*", title: true, prefix: true}, {text: "y", not: true}, {text: "a-b"}, {text: "-"}}
	if !slices.Equal(p.clauses, want) || p.site != "example.org" || p.lang != "de" {
		t.Errorf("parse = %+v", p)
	}
	if n := len(parse(strings.Repeat("a ", 1000)).clauses); n != maxClauses {
		t.Errorf("%d clauses", n)
	}
}

// Whatever is typed, the answer is no error, and what is excluded stays out.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{`"a" AND (b OR c*) NOT d`, `title:^x {a b}:c`, `NEAR(a b, 3)`, `a" OR 1=1 --`, `-"`, `"""`, `*`, `a*b*`, "\x00",
		"\xff\xfe", `site: lang:`, "日本 日", strings.Repeat(`"a `, 50), "e\u0301 \u0301", "ﷺ1 ㈀"} {
		f.Add(q)
	}
	x := newFixture(f)
	x.add(page("https://a.example/1", "en", "Some title", "<p>a b c d running text about zebras 日本語"),
		page("https://a.example/2", "de", "Ein Titel", "<p>Häuser und Straßen, zebra"))
	f.Fuzz(func(t *testing.T, q string) {
		if _, err := x.Search(t.Context(), q, 3); err != nil {
			t.Fatalf("%q: %v", q, err)
		}
		a, err := x.Search(t.Context(), "-zebra -zebras "+q, 3)
		if err != nil {
			t.Fatalf("%q: %v", q, err)
		}
		if len(a.Hits) > 0 && !strings.Contains(strings.ToLower(q), "lang:") {
			t.Fatalf("%q: found what was excluded: %+v", q, a.Hits)
		}
	})
}

// Terms are words FTS5 keeps in one piece, as many as were counted, and any text's own words
// find it as a phrase.
func FuzzTerms(f *testing.F) {
	f.Add("en", "The quick brown-fox's getElementById 3.11 日本語 \xff")
	f.Add("ar", "ﷺ1 الكتاب")
	f.Add("ta", "தமிழ்")
	for lang := range stemmers {
		f.Add(lang, "İstanbul ıIİi Häuser nationaux большие собаки الكتاب தமிழ் ångström çalışıyor")
	}
	f.Fuzz(func(t *testing.T, lang, text string) {
		a := newAnalyzer(6)
		b, n := a.appendTerms(nil, lang, []byte(text))
		if !utf8.Valid(b) {
			t.Fatalf("%q: not UTF-8: %q", text, b)
		}
		split := strings.FieldsFunc(string(b), func(r rune) bool { return r < 0x80 && class[r] == classSep })
		if int64(len(split)) != n {
			t.Fatalf("%q: %d terms, FTS5 sees %d: %q", text, n, len(split), b)
		}
		last := 0
		a.tokens(lang, []byte(text), func(tok token) bool {
			if tok.start < 0 || tok.end > len(text) || tok.start >= tok.end || (!tok.part && tok.start < last && !utf8.ValidString(text)) {
				t.Fatalf("%q: token %+v", text, tok)
			}
			return true
		})
	})
}

// A snippet is short, valid, one line, and part of the text.
func FuzzSnippet(f *testing.F) {
	f.Add("some text with a needle in it", "needle", 3)
	f.Add(strings.Repeat("filler words ", 100)+"needle"+strings.Repeat(" more", 100), "needle more", 0)
	f.Add(strings.Repeat("日本語", 200), "本語", 1)
	f.Fuzz(func(t *testing.T, text, query string, n int) {
		a := newAnalyzer(6)
		p := pages.Page{}
		p.ContentType, p.Charset, p.Body = "text/plain", "utf-8", []byte(text)
		clauses := parse(query).clauses
		groups := make([][]variant, len(clauses))
		for i, c := range clauses {
			groups[i] = a.variants(c, []string{"en"})
		}
		s := snippet(a, &p, "en", clauses, groups)
		if !utf8.ValidString(s) || strings.Contains(s, "\n") || len(s) > 2*snippetBytes+20 {
			t.Fatalf("snippet of %d bytes: %q", len(s), s)
		}
		var x pages.Extractor
		whole := strings.ReplaceAll(string(x.Text("text/plain", "utf-8", []byte(text)).Body), "\n", " ")
		if core := strings.TrimSuffix(strings.TrimPrefix(s, "… "), " …"); !strings.Contains(whole, core) {
			t.Fatalf("%q is not in the text", core)
		}
	})
}
