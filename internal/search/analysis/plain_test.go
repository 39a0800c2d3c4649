package analysis

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/search/segment"
)

// simpleTokens is the simple form of Tokens: each word is read by name.
func simpleTokens(z *Tokenizer, text []byte, emit func(Token) bool) {
	for i := 0; i < len(text); {
		next, ok := i+1, true
		switch class[text[i]] {
		case classSep:
		case classSign:
			for next < len(text) && class[text[next]] == classSign {
				next++
			}
			signs, word := text[i:next], next < len(text) && class[text[next]] != classSep
			if word && free(text, i) && isPrefix(signs) {
				next, ok = z.name(text, i, next, emit)
			} else if !word && free(text, i) && isOperator(signs) {
				ok = emit(Token{Word: signs, Start: i, End: next, Whole: true})
			}
		default:
			next, ok = z.name(text, i, i, emit)
		}
		if !ok {
			return
		}
		i = next
	}
}

// differ returns where the words of Tokens or of Terms differ from those of simpleTokens; "" if
// nowhere.
func differ(z *Tokenizer, text []byte) (wrong string) {
	type word struct {
		word       string
		start, end int
		whole      bool
	}
	var want []word
	simpleTokens(z, text, func(t Token) bool {
		want = append(want, word{string(t.Word), t.Start, t.End, t.Whole})
		return true
	})
	n := 0
	z.Tokens(text, func(t Token) bool {
		if got := (word{string(t.Word), t.Start, t.End, t.Whole}); n >= len(want) || want[n] != got {
			wrong = fmt.Sprintf("word %d is %+v, want %+v", n, got, want[min(n, len(want)):min(n+1, len(want))])
			return false
		}
		n++
		return true
	})
	if wrong != "" || n < len(want) {
		return fmt.Sprintf("%s; %d of %d words", wrong, n, len(want))
	}
	n = 0
	z.Terms(text, func(list []segment.Term, long []byte) bool {
		for _, t := range list {
			if n == len(want) {
				wrong = fmt.Sprintf("there is a term more: %+v", t)
				return false
			}
			var term segment.Term
			its := term.Set([]byte(want[n].word), nil)
			term.Whole = want[n].whole
			if len(its) > 0 {
				its, term.At = long[t.At:][:t.N], t.At
			}
			if t != term || len(its) > 0 && string(its) != want[n].word {
				wrong = fmt.Sprintf("term %d is %+v %q, want %+v for %q", n, t, its, term, want[n].word)
				return false
			}
			n++
		}
		return true
	})
	if wrong == "" && n < len(want) {
		wrong = fmt.Sprintf("only %d of %d terms", n, len(want))
	}
	return wrong
}

// Each character is read like in the simple form at each position of the eight bytes that are read
// at a time, and at the end of a text.
func TestCharacters(t *testing.T) {
	var z Tokenizer
	for c := range 256 {
		for n := range 20 {
			for _, before := range []string{"", "A", " ", "a.", "x-"} {
				for _, after := range []string{"", "b", "B", " b", ". long enough for more than eight", "_b", ".b"} {
					text := []byte(before + strings.Repeat("a", n) + string([]byte{byte(c)}) + after)
					if wrong := differ(&z, text); wrong != "" {
						t.Fatalf("%q: %s", text, wrong)
					}
				}
			}
		}
	}
}

// Terms ends when its caller has enough.
func TestTermsEnd(t *testing.T) {
	for _, word := range []string{"word ", "a.b "} {
		var z Tokenizer
		times := 0
		z.Terms([]byte(strings.Repeat(word, 5*termsAtOnce)), func(list []segment.Term, _ []byte) bool {
			times++
			return times < 2
		})
		if times != 2 {
			t.Errorf("%q: called %d times", word, times)
		}
	}
}

// Words of about MaxWord bytes are read like in the simple form.
func TestLongTokens(t *testing.T) {
	var z Tokenizer
	for n := MaxWord - 10; n < MaxWord+20; n++ {
		for _, word := range []string{strings.Repeat("a", n), strings.Repeat("B", n), "A" + strings.Repeat("b", n), strings.Repeat("A", n) + "b",
			strings.Repeat("a.", n), strings.Repeat("日", n/3), "c" + strings.Repeat("\u00FC", n/2)} {
			for _, after := range []string{"", " ", ".", ". end", " and more than eight bytes"} {
				if wrong := differ(&z, []byte(word+after)); wrong != "" {
					t.Fatalf("%s%s: %s", word, after, wrong)
				}
			}
		}
	}
}

// In the pages of manuals, with their tags, the words are those of the simple form.
func TestTokensOfManuals(t *testing.T) {
	var z Tokenizer
	n := 0
	for _, pattern := range []string{"/usr/share/doc/postgresql-doc-15/html/*.html", "/usr/share/doc/python3*/html/*/*.html",
		"/usr/share/doc/debian-handbook/html/*/*.html", "../../../docs/*.md", "*.go"} {
		files, _ := filepath.Glob(pattern)
		for i, name := range files {
			if i%10 > 0 && !strings.HasPrefix(pattern, ".") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if wrong := differ(&z, text); wrong != "" {
				t.Errorf("%s: %s", name, wrong)
			}
			n++
		}
	}
	t.Logf("%d pages", n)
}

func FuzzPlainWords(f *testing.F) {
	for _, s := range []string{"The quick brown-fox's getElementById 3.11 日本語 \xff", "C++ operator<<= a.b_c::d __x__ operator. operator=1", "a:b a::b a.b a-b a_b x+ x++ y# c.",
		"İstanbul ıIİi Häuser a\u00A0b", "HTMLParser X86B x86 Ab AB aB", strings.Repeat("a.b_", 50), "-.-@_x (x) [a]++ a,b;c \"d\" && e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var z Tokenizer
		if wrong := differ(&z, []byte(text)); wrong != "" {
			t.Fatalf("%q: %s", text, wrong)
		}
	})
}
