package search

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/webtext"
)

const (
	maxFields      = 12 // fields of a hit that are shown
	maxFieldValues = 5  // values of a field that are shown
	maxSorts       = 12 // orders to choose from
)

// fieldName is the name of a field for people.
func fieldName(name string) string {
	return webtext.Short(webtext.Clean(strings.ReplaceAll(name, "_", " ")), maxCrumb)
}

// ShownField is a field of a page for people: its name in words, and its values in one line. Both
// are text and not markup.
type ShownField struct{ Name, Value string }

// ShownFields are the fields of a page for people, the first 12 of them with their first 5 values.
// A date without a time is written without one. It may be called concurrently.
func ShownFields(all crawl.Fields) (shown []ShownField) {
	for _, f := range all[:min(len(all), maxFields)] {
		var values []string
		for _, v := range f.Values[:min(len(f.Values), maxFieldValues)] {
			if t, err := time.Parse(time.RFC3339, v); err == nil && strings.HasSuffix(v, "T00:00:00Z") {
				v = t.Format(time.DateOnly)
			}
			values = append(values, webtext.Short(strings.TrimSpace(webtext.Clean(v)), maxCrumb))
		}
		if len(f.Values) > maxFieldValues {
			values = append(values, "…")
		}
		shown = append(shown, ShownField{fieldName(f.Name), strings.Join(values, ", ")})
	}
	return shown
}

// sorts lists the orders of the answer by fields of its crawl.
func (v *view) sorts() {
	add := func(text, sort string) {
		p := v.Params.at(1)
		p.Sort = sort
		v.Sorts = append(v.Sorts, choice{Text: text, URL: p.link("/search"), On: sort == v.Params.Sort})
	}
	add("best first", "")
	if _, own := v.fields["date"]; !own {
		add("newest first", "-date")
	}
	for _, name := range slices.Sorted(maps.Keys(v.fields)) {
		if len(v.Sorts) >= maxSorts {
			break
		}
		switch v.fields[name] {
		case crawl.FieldNumber:
			add(fieldName(name)+", highest first", "-"+name)
			add(fieldName(name)+", lowest first", name)
		case crawl.FieldDate:
			add(fieldName(name)+", newest first", "-"+name)
			add(fieldName(name)+", oldest first", name)
		case crawl.FieldKeyword:
			add(fieldName(name), name)
		}
	}
}
