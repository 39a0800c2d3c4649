package query

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

func word(s string) Atom   { return Atom{Text: s} }
func phrase(s string) Atom { return Atom{Text: s, Phrase: true} }
func begins(s string) Atom { return Atom{Text: s, Prefix: true} }
func titled(a Atom) Atom   { a.Title = true; return a }

// all wants each of some atoms.
func all(atoms ...Atom) (q Query) {
	for _, a := range atoms {
		q.Groups = append(q.Groups, Group{Any: []Atom{a}})
	}
	return q
}

// any wants one of some atoms as well.
func (q Query) any(atoms ...Atom) Query {
	q.Groups = append(q.Groups, Group{Any: atoms})
	return q
}

func (q Query) no(atoms ...Atom) Query          { q.Not = append(q.Not, atoms...); return q }
func (q Query) filters(f Filters) Query         { q.Filters = f; return q }
func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

func sites(s ...string) Filters { return Filters{Sites: s} }

func check(t *testing.T, cases []reading) {
	t.Helper()
	for _, c := range cases {
		got := Parse(c.typed)
		if got.Notes = nil; !reflect.DeepEqual(got, c.want) {
			t.Errorf("Parse(%q) =\n %+v, want\n %+v", c.typed, got, c.want)
		}
		checkRoundTrip(t, c.typed)
	}
}

type reading struct {
	typed string
	want  Query
}

func TestWords(t *testing.T) {
	check(t, []reading{
		{"", Query{}},
		{" \t\n", Query{}},
		{"vacuum freeze", all(word("vacuum"), word("freeze"))},
		{"  vacuum\u3000freeze\n", all(word("vacuum"), word("freeze"))},
		{"C++ C# operator<< os.path.join std::unordered_map .htaccess", all(word("C++"), word("C#"),
			word("operator<<"), word("os.path.join"), word("std::unordered_map"), word(".htaccess"))},
		{"->> @> <@ || && ! * &", all(word("->>"), word("@>"), word("<@"), word("||"), word("&&"), word("!"), word("*"), word("&"))},
		{"don't foo/bar a@b.example", all(word("don't"), word("foo/bar"), word("a@b.example"))},
		{"12:30 foo:bar std:: :", all(word("12:30"), word("foo:bar"), word("std::"), word(":"))},
		{"Straße 東京", all(word("Straße"), word("東京"))},
	})
}

func TestPhrases(t *testing.T) {
	check(t, []reading{
		{`"event loop"`, all(phrase("event loop"))},
		{`"  event   loop "`, all(phrase("event loop"))},
		{`„event loop“ “event loop” «event loop» »event loop« ＂event loop＂`, all(phrase("event loop"), phrase("event loop"),
			phrase("event loop"), phrase("event loop"), phrase("event loop"))},
		{`"event loop`, all(phrase("event loop"))},
		{`""`, Query{}},
		{`"`, Query{}},
		{`a"b c"d`, all(word("a"), phrase("b c"), word("d"))},
		{`24" monitor stand`, all(word(`24`), word("monitor"), word("stand"))},
		{`"a" 24" monitor`, all(phrase("a"), word(`24`), word("monitor"))},
		{`"a -b OR site:c (d"`, all(phrase("a -b OR site:c (d"))},
	})
}

func TestExcluding(t *testing.T) {
	check(t, []reading{
		{"vacuum -full", all(word("vacuum")).no(word("full"))},
		{"-full vacuum", all(word("vacuum")).no(word("full"))},
		{`vacuum -"in full"`, all(word("vacuum")).no(phrase("in full"))},
		{"vacuum −full –slow －all ‐x", all(word("vacuum")).no(word("full"), word("slow"), word("all"), word("x"))},
		{"a - b", all(word("a"), word("-"), word("b"))},
		{"git --flag", all(word("git"), word("--flag"))},
		{"a-b", all(word("a-b"))},
		{"--", all(word("--"))},
		{"-", all(word("-"))},
		{"-> ->x -= -*", all(word("->"), word("->x"), word("-="), word("-*"))},
		{"a -.htaccess -@types -$x -#c -_x -/etc", all(word("a")).no(word(".htaccess"), word("@types"), word("$x"),
			word("#c"), word("_x"), word("/etc"))},
		{"a -fo* -title:b", all(word("a")).no(begins("fo"), titled(word("b")))},
		{"-Wall", all(phrase("-Wall"))},
		{"−Wall", all(phrase("-Wall"))},
		{"-Wa*", all(phrase("-Wa*"))},
		{"gcc -Wall", all(word("gcc")).no(word("Wall"))},
		{`gcc "-Wall"`, all(word("gcc"), phrase("-Wall"))},
		{"-Wall -Wextra", Query{}.no(word("Wall"), word("Wextra"))},
		{`-"all"`, Query{}.no(phrase("all"))},
		{"-title:all", Query{}.no(titled(word("all")))},
		{"-Wall site:example.org", Query{}.no(word("Wall")).filters(sites("example.org"))},
		{`a -`, all(word("a"), word("-"))},
		{`a -""`, all(word("a"))},
		{`"a"-b`, all(phrase("a"), word("b"))},
	})
}

func TestAlternatives(t *testing.T) {
	check(t, []reading{
		{"a OR b", Query{}.any(word("a"), word("b"))},
		{"a | b", Query{}.any(word("a"), word("b"))},
		{"a b OR c d", all(word("a")).any(word("b"), word("c")).any(word("d"))},
		{`"a"OR"b"|"c"`, Query{}.any(phrase("a"), phrase("b"), phrase("c"))},
		{"a OR OR | b", Query{}.any(word("a"), word("b"))},
		{"a AND b", all(word("a"), word("b"))},
		{"a AND OR b", Query{}.any(word("a"), word("b"))},
		{"a or b and c", all(word("a"), word("or"), word("b"), word("and"), word("c"))},
		{"OR", all(word("or"))},
		{"OR AND", all(word("or"))},
		{"|", Query{}},
		{"OR gate", all(word("or"), word("gate"))},
		{"AND gate", all(word("and"), word("gate"))},
		{"| gate |", all(word("gate"))},
		{"Portland OR", all(word("Portland"), word("or"))},
		{"OR a OR b OR", all(word("or")).any(word("a"), word("b")).any(word("or"))},
		{"a|b grep||x", all(word("a|b"), word("grep||x"))},
		{"a OR -b c", all(word("a"), word("c")).no(word("b"))},
		{"a -b OR c", all(word("a"), word("c")).no(word("b"))},
		{"site:a.example OR site:b.example", Query{}.filters(sites("a.example", "b.example"))},
		{"a OR title:b OR c*  OR cd*", Query{}.any(word("a"), titled(word("b")), word("c*"), begins("cd"))},
		{`"OR" a -OR`, all(phrase("OR"), word("a")).no(word("OR"))},
	})
}

func TestParentheses(t *testing.T) {
	check(t, []reading{
		{"array_agg() foo(bar) f(a, b)", all(word("array_agg()"), word("foo(bar)"), word("f(a,"), word("b"))},
		{"(a OR b) c", Query{}.any(word("a"), word("b")).any(word("c"))},
		{"c (a OR b)", all(word("c")).any(word("a"), word("b"))},
		{"(a b) OR (c d)", all(word("a")).any(word("b"), word("c")).any(word("d"))},
		{"((a) (foo(bar)))", all(word("a"), word("foo(bar)"))},
		{`("a b") )c( ()`, all(phrase("a b"), word("c("))},
		{"a -(b OR c) d", all(word("a"), word("d")).no(word("b"), word("c"))},
		{"a -(b (c) d) e", all(word("a"), word("e")).no(word("b"), word("c"), word("d"))},
		{"a -(b -c ->> fo*)", all(word("a")).no(word("b"), word("c"), phrase("->>"), begins("fo"))},
		{"a (-b)", all(word("a")).no(word("b"))},
		{"-(a)", all(phrase("-a"))},
		{"-(site:example.org) a", all(word("a")).filters(Filters{NotSites: []string{"example.org"}})},
		{"(site:example.org)", Query{}.filters(sites("example.org"))},
	})
}

func TestPrefixesAndTitles(t *testing.T) {
	check(t, []reading{
		{"vacu*", all(begins("vacu"))},
		{"vacu**", all(begins("vacu"))},
		{"v* * a*b std::v*", all(word("v*"), word("*"), word("a*b"), begins("std::v"))},
		{"東京*", all(begins("東京"))},
		{"(foo*)", all(begins("foo"))},
		{"title:asyncio", all(titled(word("asyncio")))},
		{"TITLE:Asyn*", all(titled(begins("Asyn")))},
		{`title:"event loop"`, all(titled(phrase("event loop")))},
		{"title:v* title: x", all(titled(word("v*")), word("title:"), word("x"))},
		{`title:""`, all(word("title:"))},
		{"title:OR title:-x", all(titled(word("OR")), titled(word("-x")))},
		{`foo:"b c"`, all(word("foo:"), phrase("b c"))},
	})
}

func TestSites(t *testing.T) {
	check(t, []reading{
		{"site:example.org", Query{}.filters(sites("example.org"))},
		{"a SITE:Example.ORG.", all(word("a")).filters(sites("example.org"))},
		{`site:"example.org"`, Query{}.filters(sites("example.org"))},
		{"site:.example.org site:*.example.org", Query{}.filters(sites("example.org"))},
		{"site:https://Example.org/Path?q=1#f", Query{}.filters(sites("example.org/Path?q=1"))},
		{"site:https://example.org", Query{}.filters(sites("example.org"))},
		{"site:example.org/ site:example.org/docs/ site:b.example/docs/*", Query{}.filters(sites("example.org", "example.org/docs/", "b.example/docs/"))},
		{"site:en.example/wiki/C_(x)", Query{}.filters(sites("en.example/wiki/C_(x)"))},
		{"site:example.org:8080/x", Query{}.filters(sites("example.org/x"))},
		{"site:münchen.example/straße", Query{}.filters(sites("xn--mnchen-3ya.example/stra%C3%9Fe"))},
		{"site:127.0.0.1 site:[::1]", Query{}.filters(sites("127.0.0.1", "[::1]"))},
		{"-site:example.org a", all(word("a")).filters(Filters{NotSites: []string{"example.org"}})},
		{"site:exa,mple site: b ", all(word("site:exa,mple"), word("site:"), word("b"))},
		{"site:ftp://example.org", all(word("site:ftp://example.org"))},
		{"a -site:exa,mple", all(word("a")).no(word("site:exa,mple"))},
	})
}

func TestOtherFilters(t *testing.T) {
	check(t, []reading{
		{"inurl:Wiki -inurl:talk", Query{}.filters(Filters{InURL: []string{"wiki"}, NotInURL: []string{"talk"}})},
		{`inurl:"a b" inurl:(x)`, Query{}.filters(Filters{InURL: []string{"a b", "(x)"}})},
		{"lang:de LANG:en-GB -lang:pt_BR", Query{}.filters(Filters{Langs: []string{"de", "en"}, NotLangs: []string{"pt"}})},
		{"lang:german lang:d lang:d1", all(word("lang:german"), word("lang:d"), word("lang:d1"))},
		{"type:PDF type:.html -type:text/plain type:application/ld+json", Query{}.filters(Filters{Types: []string{"pdf", "html", "application/ld+json"},
			NotTypes: []string{"text/plain"}})},
		{"type:text/ type:/pdf type:a/b/c type:tëxt", all(word("type:text/"), word("type:/pdf"), word("type:a/b/c"), word("type:tëxt"))},
		{"before:2024-05-01", Query{}.filters(Filters{Before: date(2024, 5, 1)})},
		{"after:2024 before:2024-05", Query{}.filters(Filters{After: date(2024, 1, 1), Before: date(2024, 5, 1)})},
		{"after:2024-5-1 after:2023 before:2026 before:2025", Query{}.filters(Filters{After: date(2024, 5, 1), Before: date(2025, 1, 1)})},
		{"before:tomorrow after:2024-13 before:0000 after:24", all(word("before:tomorrow"), word("after:2024-13"), word("before:0000"), word("after:24"))},
		{`before:"a day" x`, all(word("before:"), phrase("a day"), word("x"))},
		{"a -before:2024", all(word("a")).no(word("before:2024"))},
		{"lang:de lang:de", Query{}.filters(Filters{Langs: []string{"de"}})},
	})
}

func TestBadBytes(t *testing.T) {
	check(t, []reading{
		{"a\x00b\x1b[31mc\u0085d", all(word("a"), word("b"), word("[31mc"), word("d"))},
		{"a\xffb \xe2\x82", all(word("a"), word("b"))},
		{"\u202eabc\u200b so\u00adft \ufeff", all(word("abc"), word("soft"))},
		{"می\u200cخواهم", all(word("می\u200cخواهم"))},
	})
}

func TestLimits(t *testing.T) {
	words := func(n int) string { return strings.TrimSuffix(strings.Repeat("ab ", n), " ") }
	for _, c := range []struct {
		name, typed string
		terms       int
		cut         bool
	}{
		{"terms", words(32), 32, false},
		{"a term more", words(33), 32, true},
		{"filters count", words(31) + " site:a.example -b", 32, true},
		{"alternatives count", words(31) + " OR a OR b", 32, true},
		{"a last OR", words(31) + " OR", 32, false},
		{"no room for a last OR", words(32) + " OR", 32, true},
		{"bytes", strings.Repeat("x", 2048), 1, false},
		{"a byte more", strings.Repeat("x", 2049), 1, true},
		{"blanks do not count", strings.Repeat(" ", 5000) + "x" + strings.Repeat(" ", 5000), 1, false},
		{"no half word", strings.Repeat("x", 2000) + " " + strings.Repeat("y", 100), 1, true},
		{"the word ends there", strings.Repeat("x", 2000) + " " + strings.Repeat("y", 47) + " z", 2, true},
		{"an OR before the cut", strings.Repeat("x", 2000) + " OR " + strings.Repeat("y", 100), 1, true},
		{"no half letter", strings.Repeat("ü", 1025), 1, true},
		{"a phrase", `"` + strings.Repeat("x", 2046) + `"`, 1, false},
		{"an open phrase", `"` + strings.Repeat("x", 2047), 1, true},
		{"a path longer than any URL is a word", "site:a.example/" + strings.Repeat("ü", 1000), 1, false},
		{"hosts that grow", growing(16), 8, true}, // to 237 bytes each
		{"hosts that grow no further", growing(8), 8, false},
	} {
		q := Parse(c.typed)
		if q.terms() != c.terms || q.Cut != c.cut {
			t.Errorf("%s: %d terms, cut %v; want %d, %v", c.name, q.terms(), q.Cut, c.terms, c.cut)
		}
		checkRoundTrip(t, c.typed)
	}
	if q := Parse(strings.Repeat("x", 2000) + " " + strings.Repeat("y", 100)); q.Groups[0].Any[0].Text != strings.Repeat("x", 2000) {
		t.Error("what stands before the cut is not whole")
	}
}

// growing is n filters for hosts whose names take more bytes than were typed.
func growing(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("site:" + strings.Repeat("ü.", 28) + string(rune('a'+i)) + ".example ")
	}
	return b.String()
}

func TestWith(t *testing.T) {
	for _, c := range []struct{ typed, name, value, with, without string }{
		{"a", "site", "docs.example.org", "a site:docs.example.org", "a"},
		{"a site:example.org", "site", "Docs.Example.org", "a site:docs.example.org", "a site:example.org"},
		{"a site:x.example site:y.example", "site", "y.example", "a site:y.example", "a site:x.example"},
		{"a -site:x.example", "-site", "y.example", "a -site:x.example -site:y.example", "a -site:x.example"},
		{"a", "LANG", "de", "a lang:de", "a"},
		{"a lang:en lang:de", "lang", "", "a lang:en lang:de", "a"},
		{"a type:pdf", "type", "text/html", "a type:text/html", "a type:pdf"},
		{"a inurl:b", "inurl", "c", "a inurl:b inurl:c", "a inurl:b"},
		{"a after:2020", "year", "2024", "a after:2024-01-01 before:2025-01-01", "a"},
		{"a after:2020 before:2021", "after", "2019", "a after:2019-01-01 before:2021-01-01", "a before:2021-01-01"},
		{"a after:2020 before:2021", "before", "2022", "a after:2020-01-01 before:2022-01-01", "a after:2020-01-01"},
		{"a", "before", "never", "a", "a"},
		{"a", "year", "soon", "a", "a"},
		{"a", "title", "b", "a", "a"},
		{"a", "inurl", "x\"y  z\x00", `a inurl:"x y z"`, "a"},
		{"-a site:x.example", "site", "x.example", "-a site:x.example", `"-a"`},
		{strings.TrimSpace(strings.Repeat("a ", 32)), "lang", "de", strings.TrimSpace(strings.Repeat("a ", 32)), strings.TrimSpace(strings.Repeat("a ", 32))},
	} {
		q := Parse(c.typed)
		before := q.String()
		if got := q.With(c.name, c.value).String(); got != c.with {
			t.Errorf("%q with %s %q: %q, want %q", c.typed, c.name, c.value, got, c.with)
		}
		if got := q.Without(c.name, c.value).String(); got != c.without {
			t.Errorf("%q without %s %q: %q, want %q", c.typed, c.name, c.value, got, c.without)
		}
		if q.String() != before {
			t.Errorf("%q itself became %q", before, q)
		}
	}
}

// Also adds a value beside those that are there.
func TestAlso(t *testing.T) {
	for _, c := range []struct{ typed, name, value, want string }{
		{"a site:x.example", "site", "y.example", "a site:x.example site:y.example"},
		{"a site:x.example", "site", "x.example", "a site:x.example"},
		{"a version:15", "version", "16..", "a version:15 version:16.."},
		{"a before:2023", "before", "2024", "a before:2023-01-01"},
		{"a lang:de", "lang", "?", "a lang:de"},
	} {
		q := Schema{"version": crawl.FieldNumber}.Parse(c.typed)
		if got := q.Also(c.name, c.value).String(); got != c.want {
			t.Errorf("%q also %s %q: %q, want %q", c.typed, c.name, c.value, got, c.want)
		}
	}
}

func TestSortBy(t *testing.T) {
	s := Schema{"version": crawl.FieldNumber, "text": crawl.FieldText}
	for _, by := range []string{"", "date", "-date", "version", "-Version"} {
		if _, err := s.Sort(by); err != nil {
			t.Errorf("%q: %v", by, err)
		}
	}
	for _, by := range []string{"text", "-", "--date", "dates"} {
		if _, err := s.Sort(by); !errors.Is(err, ErrSort) || !strings.Contains(err.Error(), "use date, version") {
			t.Errorf("%q: %v", by, err)
		}
	}
}

func TestEmpty(t *testing.T) {
	for typed, want := range map[string]bool{"": true, "-a -b": true, "| ()": true, "a": false, "lang:de": false, "->>": false} {
		if got := Parse(typed).Empty(); got != want {
			t.Errorf("Empty of %q is %v", typed, got)
		}
	}
}

// TestHelp: what the help shows is read as it says, and fits a terminal.
func TestHelp(t *testing.T) {
	for _, line := range strings.Split(Help, "\n") {
		if len(line) > 100 {
			t.Errorf("too long: %s", line)
		}
	}
	for _, example := range []string{`"two words"`, `gcc "-Wall"`, `-word  -"two words"`, "one OR two  one | two", "a b OR c", "word*", "title:word",
		"site:example.org", "site:example.org/docs/", "inurl:text", "lang:de  type:pdf", "type:text/html", "after:2023-05", "before:2024", "version:16",
		"NOT word", "+word", "sort:-date"} {
		if !strings.Contains(Help, example) {
			t.Errorf("the help does not say %s", example)
		}
	}
}
