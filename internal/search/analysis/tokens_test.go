package analysis

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// words returns the words of a text; names that are made of several words precede them in brackets.
func words(text string) string {
	var z Tokenizer
	var all []string
	z.Tokens([]byte(text), func(t Token) bool {
		if t.Whole {
			all = append(all, "["+string(t.Word)+"]")
		} else {
			all = append(all, string(t.Word))
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
		strings.Repeat("a", MaxWord) + " " + strings.Repeat("b", MaxWord+1): strings.Repeat("a", MaxWord),
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
	k := NewKeyer()
	for _, c := range []struct {
		lang, a, b string
		same       bool
	}{
		{"en", "running", "runs", true}, {"en", "index", "indices", false}, {"de", "häuser", "haus", true},
		{"de", "spülmaschine", "spuelmaschinen", true}, {"de", "straße", "strasse", true}, {"ru", "собаки", "собака", true},
		{"fr", "chevaux", "cheval", true}, {"en", "x86", "x86", false},
	} {
		a, b := string(k.Stem(nil, c.lang, c.a)), string(k.Stem(nil, c.lang, c.b))
		if (a == b && a != "") != c.same {
			t.Errorf("%s: %s has %q, %s has %q", c.lang, c.a, a, c.b, b)
		}
	}
	if a, b := string(k.Accents(nil, "élèves")), string(k.Accents(nil, "eleves")); a != b {
		t.Errorf("%q, %q", a, b)
	}
	// If two words share a slot of the cache, each still gets its own stem.
	small := &Keyer{env: k.env, slots: make([]keySlot, 1)}
	for _, w := range []string{"running", "dogs", "running", "barked", "dogs"} {
		if a, b := string(small.Stem(nil, "en", w)), string(k.Stem(nil, "en", w)); a != b {
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
		if got := Language("", []byte(text)); got != want {
			t.Errorf("Language(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Language("pt", []byte("The text is English but the page knows better than we do what it is")); got != "pt" {
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
		var z Tokenizer
		last, end := 0, 0
		z.Tokens([]byte(text), func(tok Token) bool {
			if tok.Start < 0 || tok.End > len(text) || tok.Start >= tok.End || len(tok.Word) == 0 {
				t.Fatalf("%q: %+v", text, tok)
			}
			if utf8.ValidString(text) && (!utf8.Valid(tok.Word) || strings.Contains(string(tok.Word), "\n")) {
				t.Fatalf("%q: word %q", text, tok.Word)
			}
			if !tok.Whole && (tok.Start < last || tok.End < end) {
				t.Fatalf("%q: %+v after %d", text, tok, last)
			}
			if !tok.Whole {
				last, end = tok.Start, tok.End
			}
			return true
		})
	})
}
