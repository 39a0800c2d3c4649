package pages

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// notInRecord are the fields of a page that its record does not keep, with where they are.
var notInRecord = map[string]string{
	"Body":      "bodies, or parts",
	"Claims":    "claims",
	"Aliases":   "aliases",
	"Scope":     "read when the page arrives: whether its links were filtered by an older scope",
	"Head":      "read when the page arrives: its title and language are kept",
	"Signposts": "read when the page arrives: they become claims",
	"Renewed":   "a report about the stored copy",
	"Tagged":    "of a report about the stored copy",
	"Purposes":  "of a report about the stored copy",
	"Late":      "of a page that is not stored",
	"SkippedBy": "of a page that is not stored",
	"Capture":   "the archive",
	"Origin":    "of a data.txt, which the catalogue keeps",
	"Fresh":     "of a data.txt",
	"Asked":     "of a data.txt",
	"Part":      "of a part of a document: in the key of the part",
	"Parts":     "of the page of a document in parts, while parts are missing",
}

// notContent are the fields of a record that may change without an entry in the change feed:
// followers need not read the page again.
var notContent = map[string]string{
	"URL":                  "another page",
	"ID":                   "the same for one URL",
	"Seq":                  "the number in the change feed itself",
	"Visit":                "when it was fetched",
	"FetchedAt":            "when it was fetched",
	"Since":                "when it changed",
	"Changed":              "when it changed",
	"Status":               "of the last fetch",
	"ETag":                 "of the last fetch",
	"LastModified":         "of the last fetch",
	"Vary":                 "of the last fetch",
	"Rendering":            "how the content came about",
	"Packed":               "how the body is stored",
	"Depth":                "how the page was found",
	"FoundOn":              "how the page was found",
	"MetaDirectives":       "part of Directives",
	"MetaUnavailableAfter": "part of UnavailableAfter",
	"MetaMaxSnippet":       "part of MaxSnippet",
	"Deleted":              "compared before: a removed page has an entry",
	"AliasOf":              "changes with aliasVisit, in apply",
	"Encoding":             "how the body is packed, unless it is in parts",
}

// Every field of a page is in its record or has a reason why not, and counts as content or has a
// reason why not. Whoever adds a field decides both here.
func TestEveryFieldOfAPageIsDecided(t *testing.T) {
	base := func() Page {
		p := Page{Page: crawl.Page{URL: "https://example.org/"}, ID: 1, Since: day, Changed: day}
		p.aliasVisit = crawl.VisitID{Epoch: 1}
		return p
	}
	seen := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Page]()) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		seen[f.Name] = true
		p := base()
		v := reflect.ValueOf(&p).Elem().FieldByIndex(f.Index)
		setValue(t, f.Name, v)
		set := v.Interface()
		read, err := parseRecord(p.URL, appendRecord(nil, &p))
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		kept := reflect.DeepEqual(reflect.ValueOf(read).FieldByIndex(f.Index).Interface(), set)
		if _, not := notInRecord[f.Name]; kept == not {
			t.Errorf("%s is kept in the record: %v. Mend appendRecord and parseRecord, or notInRecord", f.Name, kept)
		}
		was := base()
		same := was.sameContent(&p)
		_, not := notContent[f.Name]
		if _, outside := notInRecord[f.Name]; !outside && same != not {
			t.Errorf("%s is a change of the content: %v. Mend sameContent or notContent", f.Name, !same)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(notInRecord)), slices.Collect(maps.Keys(notContent))) {
		if !seen[name] {
			t.Errorf("there is no field %s: remove its line", name)
		}
	}
}

// setValue sets a field of a page to a value that it can have and that its zero value differs from.
func setValue(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	later := day.Add(time.Hour)
	values := map[string]any{"Kind": crawl.KindMeta, "Encoding": crawl.EncodingS2}
	value, ok := values[name]
	if !ok {
		switch v.Interface().(type) {
		case time.Time:
			value = later
		case time.Duration:
			value = time.Second
		case canon.URL:
			value = canon.URL("https://example.org/other")
		case canon.Origin:
			value = canon.URL("https://example.org/").Origin()
		case string, crawl.Reason:
			value = "x"
		case bool:
			value = true
		case int, int64, uint64, crawl.DirectiveBits, crawl.Rendering, usage.Purposes:
			value = 1
		case [32]byte:
			value = [32]byte{1}
		case []byte:
			value = []byte("x")
		case []canon.URL:
			value = []canon.URL{"https://example.net/"}
		case crawl.VisitID:
			value = crawl.VisitID{Epoch: 1, N: 2}
		case usage.Statements:
			value = usage.Statements{{}}
		case *crawl.Capture:
			value = &crawl.Capture{}
		case *crawl.Ruled:
			value = &crawl.Ruled{Rules: 1, Content: 2, Title: "x", Description: "y", Fields: crawl.Fields{
				{Name: "a", Type: crawl.FieldKeyword, Many: true, Values: []string{"1", "2"}}, {Name: "b", Type: crawl.FieldNumber, Values: []string{"16"}}}}
		case *crawl.Head:
			value = &crawl.Head{}
		default:
			t.Fatalf("%s: this test has no value of %s", name, v.Type())
		}
	}
	v.Set(reflect.ValueOf(value).Convert(v.Type()))
}

// No field of a row about a page is forgotten by Info.
func TestInfoIsWhole(t *testing.T) {
	p := Page{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Page]()) {
		if !f.Anonymous && f.IsExported() && f.Name != "Deleted" {
			setValue(t, f.Name, reflect.ValueOf(&p).Elem().FieldByIndex(f.Index))
		}
	}
	info := reflect.ValueOf(p.Info())
	for _, f := range reflect.VisibleFields(info.Type()) {
		if info.FieldByIndex(f.Index).IsZero() {
			t.Errorf("%s is empty", f.Name)
		}
	}
}
