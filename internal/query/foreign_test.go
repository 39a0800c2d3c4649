package query

import (
	"slices"
	"strings"
	"testing"
)

func TestNot(t *testing.T) {
	check(t, []reading{
		{"vacuum NOT full", all(word("vacuum")).no(word("full"))},
		{`vacuum NOT "in full" NOT fo* x`, all(word("vacuum"), word("x")).no(phrase("in full"), begins("fo"))},
		{"vacuum NOT site:example.org", all(word("vacuum")).filters(Filters{NotSites: []string{"example.org"}})},
		{"vacuum NOT (a OR title:b) c", all(word("vacuum"), word("c")).no(word("a"), titled(word("b")))},
		{"(vacuum NOT full) freeze", all(word("vacuum"), word("freeze")).no(word("full"))},
		{"vacuum AND NOT full", all(word("vacuum")).no(word("full"))},
		{"vacuum NOT NOT -full", all(word("vacuum")).no(word("full"))},
		{"NOT full vacuum", all(word("vacuum")).no(word("full"))},
		{"vacuum OR NOT full freeze", all(word("vacuum"), word("freeze")).no(word("full"))},
		{"a NOT ->>", all(word("a")).no(phrase("->>"))},
		{"vacuum not full", all(word("vacuum"), word("not"), word("full"))},
		{"vacuum NOT", all(word("vacuum"), word("not"))},
		{"NOT", all(word("not"))},
		{"NOT gate", all(word("not"), word("gate"))},
		{"NOT a NOT b", Query{}.no(word("a"), word("b"))},
		{"column NOT NULL", all(word("column"), word("not"), word("NULL"))},
		{"IF NOT valid", all(word("IF"), word("not"), word("valid"))},
		{"SHOULD NOT send", all(word("SHOULD"), word("not"), word("send"))},
		{"404 (NOT FOUND)", all(word("404"), word("not"), word("FOUND"))},
		{"a (NOT) b", all(word("a"), word("b"))},
		{"a NOT lang:german", all(word("a")).no(word("lang:german"))},
		{"title:NOT", all(titled(word("NOT")))},
	})
}

func TestOtherNames(t *testing.T) {
	check(t, []reading{
		{"intitle:asyn* InTitle:\"event loop\"", all(titled(begins("asyn")), titled(phrase("event loop")))},
		{`allintitle:event "a loop" -x lang:de`, all(titled(word("event")), titled(phrase("a loop"))).no(word("x")).filters(Filters{Langs: []string{"de"}})},
		{"allintitle: event loop*", all(titled(word("event")), titled(begins("loop")))},
		{"a allintitle:", all(word("a"), word("allintitle:"))},
		{"filetype:pdf -ext:.html", Query{}.filters(Filters{Types: []string{"pdf"}, NotTypes: []string{"html"}})},
		{`+vacuum +"in full" "a"+b +vac*`, all(phrase("vacuum"), phrase("in full"), phrase("a"), phrase("b"), begins("vac"))},
		{"C++ + +1 a+b +site:example.org", all(word("C++"), word("+"), word("+1"), word("a+b")).filters(sites("example.org"))},
		{"+OR +NOT", all(phrase("OR"), phrase("NOT"))},
	})
	own := Schema{"ext": fields["kind"], "sort": fields["kind"]}
	if got := own.Parse("ext:pdf sort:date"); len(got.Filters.Fields) != 2 || got.Sort != "" {
		t.Errorf("fields of these names are read as %+v", got)
	}
}

func TestSortInTheQuery(t *testing.T) {
	for typed, want := range map[string]string{
		"a sort:date": "date", "a SORT:-Date": "-date", "sort:version a": "version", "a sort:-Version": "-version",
		"a sort:version sort:kind": "kind", "a sort:version-desc": "-version", "a sort:kind:asc": "kind", "a sort:newest": "-date",
		`a sort:"-released"`: "-released", "a sort:breadcrumb": "", "a sort:price": "", "a sort:": "", "a -sort:date": "",
	} {
		q := fields.Parse(typed)
		if q.Sort != want {
			t.Errorf("%q is sorted by %q, want %q", typed, q.Sort, want)
		}
		if words := len(q.Groups) + len(q.Not); want != "" && words != 1 || want == "" && words != 2 {
			t.Errorf("%q has %d words", typed, words)
		}
		checkRoundTripIn(t, fields, typed)
	}
	if !Parse("sort:date").Empty() {
		t.Error("an order alone is a query")
	}
}

// TestNotes: what has no meaning is read without its signs, and the user is told what to type.
func TestNotes(t *testing.T) {
	for _, c := range []struct{ typed, read, note string }{
		{"vacum~1 full", "vacum full", "vacum~1 is read as vacum"},
		{"vacum~ -ful~0.8", "vacum -ful", "ful~0.8 is read as ful"},
		{"title:vacum~2", "title:vacum", "vacum~2 is read as vacum"},
		{"vacuum^2.5 full", "vacuum full", "cannot be weighted"},
		{`"a vacuum"~5 x`, `"a vacuum" x`, `"a vacuum"~5 is read as "a vacuum"; without quotes`},
		{`("a vacuum"^3)`, `"a vacuum"`, `"a vacuum"^3 is read as`},
		{"va*um", "va*um", "use va*"},
		{"*vacuum wom?n", "*vacuum wom?n", "use vacuum"},
		{"version:[14 TO 16] a", "a version:14..16", ""},
		{"a -version:[14 TO 16]", "a -version:14..16", ""},
		{"a version:[14 -b TO 16]", "a version:[14 to 16] -b", "use a number, as in version:16"},
		{"NOT version:[14 TO *] (released:[2020 TO 2021])", "-version:14.. released:2020..2021", ""},
		{"version:{14 TO 16} a", "a", "version:LOW..HIGH"},
		{"kind:[a TO b] x", "x", "kind:LOW..HIGH"},
		{"date:[2020 TO 2024] x", "x", "after:2023-05 before:2024"},
		{"a NEAR/3 b AROUND(2) c", "a b c", "AROUND(2) has no meaning"},
		{"lang:german a", "lang:german a", "lang:de"},
		{"version:soon", "version:soon", "version:14..16"},
		{"deprecated:perhaps", "deprecated:perhaps", "deprecated:true"},
		{"a -before:2024", "a -before:2024", "use after:"},
		{"a sort:price", "a sort:price", "sort:-date"},
		// These are names and formulas.
		{"HEAD~1 PROGRA~1 x^2 10^6 ~/x foo~bar a.txt~ ~Foo", "HEAD~1 PROGRA~1 x^2 10^6 ~/x foo~bar a.txt~ ~Foo", ""},
		{"count(*) a*b SELECT * 2*3 index.php?id=1 why? -*", "count(*) a*b SELECT * 2*3 index.php?id=1 why? -*", ""},
		{`"vacum~1" std::sort foo:bar 12:30`, `"vacum~1" std::sort foo:bar 12:30`, ""},
		{"near around NEAR far TO x", "near around NEAR far to x", ""},
	} {
		q := fields.Parse(c.typed)
		if got := q.String(); got != c.read {
			t.Errorf("%q is read as %q, want %q", c.typed, got, c.read)
		}
		if found := slices.ContainsFunc(q.Notes, func(n string) bool { return strings.Contains(n, c.note) }); c.note != "" && !found || c.note == "" && len(q.Notes) > 0 {
			t.Errorf("the notes for %q are %q, want %q", c.typed, q.Notes, c.note)
		}
		checkRoundTripIn(t, fields, c.typed)
	}
}

func TestNotesHaveLimits(t *testing.T) {
	for words, notes := range map[int]int{maxNotes: maxNotes, maxNotes + 1: maxNotes} {
		var typed string
		for i := range words {
			typed += string(rune('a'+i)) + strings.Repeat("word", 60) + "~1 "
		}
		q := Parse(typed)
		if len(q.Notes) != notes {
			t.Errorf("%d notes for %d words", len(q.Notes), words)
		}
		for _, n := range q.Notes {
			if len(n) > 400 {
				t.Errorf("a note has %d bytes", len(n))
			}
		}
	}
	if n := Parse("vacum~1 vacum~1").Notes; len(n) != 1 {
		t.Errorf("the same note is made twice: %q", n)
	}
}
