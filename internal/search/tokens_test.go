package search

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/query"
)

// words returns the words of a text; names that are made of several words precede them in brackets.
func words(text string) string {
	var z tokenizer
	var all []string
	z.tokens([]byte(text), func(t token) bool {
		if t.whole {
			all = append(all, "["+string(t.word)+"]")
		} else {
			all = append(all, string(t.word))
		}
		return true
	})
	return strings.Join(all, " ")
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"The running dogs' houses":      "the running dogs houses",
		"Ångström naïve ﬁne Ｆｕｌｌ":       "ångström naïve fine full",
		"pg_stat_activity":              "[pg_stat_activity] pg stat activity",
		"os.path.join(a, b)":            "[os.path.join] os path join a b",
		"std::unordered_map<int>":       "[std::unordered_map] std [unordered_map] unordered map int",
		"C++ and C# and C.":             "[c++] c and [c#] c and c",
		"written in C++.":               "written in [c++] c",
		"operator<< (x)":                "[operator<<] operator x",
		"gcc -Wall --with-x":            "gcc [-wall] wall [--with] with x",
		"the .htaccess file":            "the [.htaccess] htaccess file",
		"def __init__(self)":            "def [__init__] init self",
		"data ->> 'x' and a @> b":       "data [->>] x and a [@>] b",
		"a == b << c":                   "a [==] b [<<] c",
		"-- ---- ==== ** ...":           "[**]",
		"array_agg()":                   "[array_agg] array agg",
		"utf8 x86-64 3.11.7 0xFF":       "utf8 x86 64 [3.11.7] 3 11 7 0xff",
		"getElementById":                "[getelementbyid] get element by id",
		"HTMLParser GitHub iPhone HTTP": "htmlparser github iphone http",
		"日本語ABCデータ語":                    "日本 本語 abc デー ータ タ語",
		"a—b “c” d…":                    "a b c d",
		"end.Start":                     "[end.start] end start",
		"a-b a_ _b":                     "a b a [_b] b",
		"\xff\xfe a\x00b":               "a b",
		strings.Repeat("a", maxWord) + " " + strings.Repeat("b", maxWord+1): strings.Repeat("a", maxWord),
	} {
		if got := words(text); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
	parts := strings.Repeat("a_", maxParts) + "b"
	if got, want := words(parts), "["+strings.Repeat("a_", maxParts-1)+"a] "+strings.Repeat("a ", maxParts)+"b"; got != want {
		t.Errorf("a name of many parts:\n got %s\nwant %s", got, want)
	}
}

// Words of the same meaning have a key in common.
func TestKeys(t *testing.T) {
	k := newKeyer()
	for _, c := range []struct {
		lang, a, b string
		same       bool
	}{
		{"en", "running", "runs", true}, {"en", "index", "indices", false}, {"de", "häuser", "haus", true},
		{"de", "spülmaschine", "spuelmaschinen", true}, {"de", "straße", "strasse", true}, {"ru", "собаки", "собака", true},
		{"fr", "chevaux", "cheval", true}, {"en", "x86", "x86", false},
	} {
		a, b := string(k.stem(nil, c.lang, c.a)), string(k.stem(nil, c.lang, c.b))
		if (a == b && a != "") != c.same {
			t.Errorf("%s: %s has %q, %s has %q", c.lang, c.a, a, c.b, b)
		}
	}
	if a, b := string(k.accents(nil, "élèves")), string(k.accents(nil, "eleves")); a != b {
		t.Errorf("%q, %q", a, b)
	}
	// If two words share a slot of the cache, each still gets its own stem.
	small := &keyer{env: k.env, slots: make([]keySlot, 1)}
	for _, w := range []string{"running", "dogs", "running", "barked", "dogs"} {
		if a, b := string(small.stem(nil, "en", w)), string(k.stem(nil, "en", w)); a != b {
			t.Errorf("%s: %q, %q", w, a, b)
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

// The words are parts of the text, in order, and are UTF-8 without line breaks; names of several
// words contain those words.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"The quick brown-fox's getElementById 3.11 日本語 \xff", "ﷺ1 الكتاب", "C++ operator<<= a.b_c::d __x__", "தமிழ்",
		"İstanbul ıIİi Häuser", strings.Repeat("a.b_", 50), "-.-@_x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var z tokenizer
		last, end := 0, 0
		z.tokens([]byte(text), func(tok token) bool {
			if tok.start < 0 || tok.end > len(text) || tok.start >= tok.end || len(tok.word) == 0 {
				t.Fatalf("%q: %+v", text, tok)
			}
			if utf8.ValidString(text) && (!utf8.Valid(tok.word) || strings.Contains(string(tok.word), "\n")) {
				t.Fatalf("%q: word %q", text, tok.word)
			}
			if hashOf(tok.word) != tok.hash {
				t.Fatalf("%q: hash of %q", text, tok.word)
			}
			if !tok.whole && (tok.start < last || tok.end < end) {
				t.Fatalf("%q: %+v after %d", text, tok, last)
			}
			if !tok.whole {
				last, end = tok.start, tok.end
			}
			return true
		})
	})
}

// Whatever is typed, there is an answer without an error, excluded pages are not in it, and marks
// are within snippets.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{`"a" AND (b OR c*) NOT d`, `title:^x {a b}:c`, `NEAR(a b, 3)`, `a" OR 1=1 --`, `-"`, `"""`, `*`, `a*b*`, "\x00",
		"\xff\xfe", `site: lang:`, "日本 日", strings.Repeat(`"a `, 50), "e\u0301 \u0301", "ﷺ1 ㈀", "run-text", "zbera", "site:a.example", "before:2030 x",
		"<b>zebra</b>"} {
		f.Add(q)
	}
	x := newFixture(f)
	x.add(page("https://a.example/1", "en", "Some title", "<p>a b c d running text about zebras 日本語"),
		page("https://a.example/2", "de", "Ein Titel", "<p>Häuser und Straßen, zebra"))
	f.Fuzz(func(t *testing.T, q string) {
		for _, h := range ask(t, crawl.SearchRequest{Query: q}, x.Index).Hits {
			last := 0
			for _, m := range h.Marks {
				if m[0] < last || m[1] <= m[0] || m[1] > len(*h.Snippet) || !utf8.ValidString((*h.Snippet)[m[0]:m[1]]) {
					t.Fatalf("%q: marks %v in %q", q, h.Marks, *h.Snippet)
				}
				last = m[1]
			}
		}
		p := query.Parse(q)
		p.Not = append(p.Not, query.Atom{Text: "zebra"}, query.Atom{Text: "zebras"})
		if len(p.Not) > query.MaxTerms {
			return
		}
		plan := planOf(p)
		terms, err := local{x.Index}.Terms(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		plan.Settle(terms)
		if r, err := x.Rank(t.Context(), plan, 3, true); err != nil || len(r.Hits) > 0 {
			t.Fatalf("%q: found what was excluded: %+v, %v", q, r.Hits, err)
		}
	})
}

// A snippet is short, valid UTF-8, one line, and part of the text.
func FuzzSnippet(f *testing.F) {
	f.Add("some text with a needle in it", "needle")
	f.Add(strings.Repeat("filler words ", 100)+"needle"+strings.Repeat(" more", 100), "needle more")
	f.Add(strings.Repeat("日本語", 200), "本語")
	f.Fuzz(func(t *testing.T, text, typed string) {
		plan := planOf(query.Parse(typed))
		plan.eachSlot(func(s *Slot) { s.Forms = []Form{{s.Word, 1, 1}} })
		p := pages.Page{}
		p.ContentType, p.Charset, p.Body = "text/plain", "utf-8", []byte(text)
		var r snipper
		s, _ := r.snippet(&p, plan)
		if !utf8.ValidString(s) || strings.Contains(s, "\n") || len(s) > 2*snippetBytes+20 {
			t.Fatalf("snippet of %d bytes: %q", len(s), s)
		}
		var x pagetext.Extractor
		whole := strings.ReplaceAll(string(x.Text("text/plain", "utf-8", []byte(text)).Body), "\n", " ")
		if core := strings.TrimSuffix(strings.TrimPrefix(s, "… "), " …"); !strings.Contains(whole, core) {
			t.Fatalf("%q is not in the text", core)
		}
	})
}

func TestDistance(t *testing.T) {
	var d distance
	for _, c := range []struct {
		a, b string
		want int
	}{{"kitten", "kitten", 0}, {"kitten", "kiten", 1}, {"kitten", "ktiten", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"häuser", "hauser", 1}, {"", "ab", 2}} {
		if got := d.between([]rune(c.a), []rune(c.b), 3); got != c.want {
			t.Errorf("%s, %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
	if got := d.between([]rune("abcdefgh"), []rune("zyxwvuts"), 2); got <= 2 {
		t.Errorf("far apart: %d", got)
	}
}

// The comparison of letters only rejects words whose distance is too large.
func TestMayBeNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var d distance
	letter := func() rune { return []rune("abcdefghijklmnopqrstuvwxyzäéßжш漢")[rng.IntN(32)] }
	far := 0
	for range 20_000 {
		a := make([]rune, 4+rng.IntN(9))
		for i := range a {
			a[i] = letter()
		}
		b := slices.Clone(a)
		for range rng.IntN(4) {
			switch i := rng.IntN(len(b) - 1); rng.IntN(4) {
			case 0:
				b[i] = letter()
			case 1:
				b = slices.Delete(b, i, i+1)
			case 2:
				b = slices.Insert(b, i, letter())
			default:
				b[i], b[i+1] = b[i+1], b[i]
			}
			if len(b) < 2 {
				break
			}
		}
		for most := 1; most <= 2; most++ {
			near := mayBeNear(lettersOf(a), lettersOf(b), most)
			if !near && d.between(a, b, most) <= most {
				t.Fatalf("%q and %q differ by %d at most, but are not near", string(a), string(b), most)
			}
			if !near {
				far++
			}
		}
	}
	if far == 0 {
		t.Error("all words are near each other")
	}
}

func TestPathWords(t *testing.T) {
	for u, want := range map[string][2]string{
		"https://h.example/docs/sql-createindex.html":   {"sql-createindex", "/docs/"},
		"https://h.example/docs/":                       {"docs", "/"},
		"https://h.example/":                            {"", ""},
		"https://h.example/a%20b/c.tar.gz?q=1":          {"c.tar", "/a b/"},
		"https://h.example/v1.2/release.notes.is.a.doc": {"release.notes.is.a", "/v1.2/"},
	} {
		if file, dir := pathWords(u); file != want[0] || dir != want[1] {
			t.Errorf("%s: %q, %q; want %q", u, file, dir, want)
		}
	}
}

// A snippet of a page with max-snippet has no more characters than that, its ellipses included, in
// every script; its marks are within it, and its words are complete.
func FuzzMaxSnippet(f *testing.F) {
	f.Add("some text with a needle in it and more text behind", "needle", uint8(20))
	f.Add(strings.Repeat("filler words ", 100)+"needle"+strings.Repeat(" more", 100), "needle more", uint8(60))
	f.Add(strings.Repeat("日本語", 200), "本語", uint8(9))
	f.Add("e\u0301te\u0301 ete\u0301", "ete", uint8(3))
	f.Add("a … b", "b", uint8(1))
	f.Fuzz(func(t *testing.T, text, typed string, limit uint8) {
		plan := planOf(query.Parse(typed))
		plan.eachSlot(func(s *Slot) { s.Forms = []Form{{s.Word, 1, 1}} })
		p := pages.Page{}
		p.ContentType, p.Charset, p.Body, p.MaxSnippet = "text/plain", "utf-8", []byte(text), int(limit)
		var r snipper
		s, marks := r.snippet(&p, plan)
		if n := utf8.RuneCountInString(s); !utf8.ValidString(s) || limit > 0 && n > int(limit) {
			t.Fatalf("%d characters, at most %d: %q", n, limit, s)
		}
		last := 0
		for _, m := range marks {
			if m[0] < last || m[1] <= m[0] || m[1] > len(s) || !utf8.ValidString(s[m[0]:m[1]]) {
				t.Fatalf("marks %v in %q", marks, s)
			}
			last = m[1]
		}
	})
}
