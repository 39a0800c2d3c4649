package searchrules

import (
	"fmt"
	"strings"
	"testing"
)

// expand is what a query of words is expanded to, as "typed words: terms; …".
func expand(s *Synonyms, typed string, langs []string) string {
	words := strings.Fields(typed)
	for i, w := range words {
		if strings.HasPrefix(w, `"`) {
			words[i] = ""
		}
	}
	var all []string
	for _, e := range s.Expand(words, langs) {
		all = append(all, strings.Join(words[e.From:e.To], " ")+": "+strings.Join(e.Terms, ", "))
	}
	return strings.Join(all, "; ")
}

func TestExpand(t *testing.T) {
	s, err := ParseSynonyms("synonyms.txt", `# cars
car, automobile, motor  vehicle

http daemon, httpd => apache, web server
C++ => cpp
read-only, immutable
a\,b => x\\y
car => Fahrzeug
`)
	if err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]string{
		"car":                     "car: automobile, motor vehicle, Fahrzeug",
		"Automobiles":             "Automobiles: car, motor vehicle",
		"the motor vehicle tax":   "motor vehicle: car, automobile",
		"motor":                   "",
		`motor " vehicle`:         "",
		"restart the http daemon": "http daemon: apache, web server",
		"HTTPD":                   "HTTPD: apache, web server",
		"apache":                  "", // one-way
		"web server":              "",
		"c++":                     "c++: cpp",
		"c":                       "",
		"read-only tables":        "read-only: immutable",
		"read only tables":        "read only: immutable",
		"immutable":               "immutable: read-only",
		"a,b":                     `a,b: x\y`,
		"http daemon car":         "http daemon: apache, web server; car: automobile, motor vehicle, Fahrzeug",
		"":                        "",
	} {
		if got := expand(s, typed, nil); got != want {
			t.Errorf("%q is expanded to %q, want %q", typed, got, want)
		}
	}
	if got := expand(nil, "car", nil); got != "" {
		t.Errorf("without synonyms: %q", got)
	}
}

// TestLanguages: synonyms of a language are used for queries in it, and compared by its stems.
func TestLanguages(t *testing.T) {
	s := mustParse(t, "synonyms:\n  all: [ 'kiwi, actinidia' ]\n  de: [ 'Haus, Gebäude' ]\n  fr: [ 'maison, haus' ]\n").Synonyms()
	for _, c := range []struct {
		typed string
		langs []string
		want  string
	}{
		{"haus", []string{"de"}, "haus: Gebäude"},
		{"Häuser", []string{"de"}, "Häuser: Gebäude"},
		{"haus", []string{"en"}, ""},
		{"haus", nil, "haus: Gebäude; haus: maison"},
		{"kiwis haus", []string{"en"}, "kiwis: actinidia"},
	} {
		if got := expand(s, c.typed, c.langs); got != c.want {
			t.Errorf("%q in %v: %q, want %q", c.typed, c.langs, got, c.want)
		}
	}
}

func TestMaxExpansions(t *testing.T) {
	var b strings.Builder
	for i := range MaxExpansions + 1 {
		fmt.Fprintf(&b, "a => b%d\n", i)
	}
	fmt.Fprintf(&b, "a z => c\n")
	s, err := ParseSynonyms("s", b.String())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	all := s.Expand([]string{"a", "z"}, nil)
	for _, e := range all {
		n += len(e.Terms)
	}
	if n != MaxExpansions || all[0].Terms[0] != "c" {
		t.Errorf("%d terms, want %d, that of the longest phrase first: %v", n, MaxExpansions, all)
	}
}

func TestSynonymMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":              "s.txt:1:1: there are no synonyms in the file",
		"# a\n\n":       "s.txt:1:1: there are no synonyms in the file",
		"a, b\nc\nd =>": "s.txt:2:1: \"c\" has no synonym; write for example \"car, automobile\" or \"httpd => apache\"\ns.txt:3:1: there is nothing at the end",
		"a, \xff":       "s.txt:1:1: the line is not valid UTF-8",
	} {
		if _, err := ParseSynonyms("s.txt", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := ParseSynonyms("s.txt", "\uFEFFcar, automobile\r\n"); err != nil {
		t.Errorf("a file of Windows: %v", err)
	}
}

// Every file is either refused with places, or expands queries within the limit.
func FuzzSynonyms(f *testing.F) {
	f.Add("car, automobile\nhttp daemon => apache\na\\,b,c", "http daemon car")
	f.Fuzz(func(t *testing.T, text, typed string) {
		s, err := ParseSynonyms("s", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s:") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		words := strings.Fields(typed)
		n := 0
		for _, e := range s.Expand(words, nil) {
			if n += len(e.Terms); e.From >= e.To || e.To > len(words) {
				t.Fatalf("%q, %q: %+v", text, typed, e)
			}
		}
		if n > MaxExpansions {
			t.Fatalf("%q, %q: %d terms", text, typed, n)
		}
	})
}
