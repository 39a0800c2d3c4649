package query

import (
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// filter is one filter of a query with a valid value in canonical spelling.
type filter struct {
	name, value string
	not         bool
	day         time.Time // of before and after
	field       FieldFilter
}

// isFilter reports whether a name in lower case is that of a filter.
func isFilter(name string) bool {
	switch name {
	case "site", "inurl", "lang", "type", "before", "after":
		return true
	}
	return false
}

// newFilter makes a filter. It returns false if the value is invalid.
func (s Schema) newFilter(name, value string, not bool) (f filter, ok bool) {
	f = filter{name: name, not: not}
	switch name {
	case "site":
		f.value, ok = site(value)
	case "inurl":
		f.value = strings.ToLower(value)
		ok = f.value != ""
	case "lang":
		f.value, ok = language(value)
	case "type":
		f.value, ok = mediaType(value)
	case "before", "after":
		f.day, ok = day(value)
		ok = ok && !not
	default:
		f.field, ok = s.filter(name, value, not)
		f.name = f.field.Name
	}
	return f, ok
}

// list is the list for a filter's value; nil for before, after and fields.
func (f *Filters) list(name string, not bool) *[]string {
	var wanted, excluded *[]string
	switch name {
	case "site":
		wanted, excluded = &f.Sites, &f.NotSites
	case "inurl":
		wanted, excluded = &f.InURL, &f.NotInURL
	case "lang":
		wanted, excluded = &f.Langs, &f.NotLangs
	case "type":
		wanted, excluded = &f.Types, &f.NotTypes
	}
	if not {
		return excluded
	}
	return wanted
}

// add adds a filter. Of several days the strictest is kept.
func (f *Filters) add(n filter) {
	switch {
	case n.field.Name != "":
		f.addField(n.field)
	case n.name == "before":
		if f.Before.IsZero() || n.day.Before(f.Before) {
			f.Before = n.day
		}
	case n.name == "after":
		if n.day.After(f.After) {
			f.After = n.day
		}
	default:
		if list := f.list(n.name, n.not); !slices.Contains(*list, n.value) {
			*list = append(slices.Clip(*list), n.value)
		}
	}
}

// each calls do with each filter in canonical spelling.
func (f Filters) each(do func(name, value string)) {
	each := func(name, value string, not bool) {
		if strings.ContainsAny(value, " ()") {
			value = `"` + value + `"`
		}
		if not {
			name = "-" + name
		}
		do(name, value)
	}
	for _, name := range []string{"site", "inurl", "lang", "type"} {
		for _, not := range []bool{false, true} {
			for _, value := range *f.list(name, not) {
				each(name, value, not)
			}
		}
	}
	for _, field := range f.Fields {
		each(field.Name, field.Text, field.Not)
	}
	if !f.After.IsZero() {
		do("after", f.After.Format(time.DateOnly))
	}
	if !f.Before.IsZero() {
		do("before", f.Before.Format(time.DateOnly))
	}
}

func (f Filters) count() (n int) {
	f.each(func(string, string) { n++ })
	return n
}

// site reads a host, a host with a path, or a pasted address.
func site(value string) (string, bool) {
	scheme, _, ok := strings.Cut(value, "://")
	switch {
	case ok && !strings.ContainsAny(scheme, "./?#[@:"):
		if s := strings.ToLower(scheme); s != "http" && s != "https" {
			return "", false
		}
	default:
		value = "https://" + strings.TrimPrefix(strings.TrimPrefix(value, "*"), ".")
	}
	u, err := canon.Parse(value)
	if err != nil {
		return "", false
	}
	path := u.PathQuery()
	// site:example.org/docs/*
	if open := strings.TrimRight(path, "*"); strings.HasSuffix(open, "/") {
		path = open
	}
	if path == "/" {
		path = ""
	}
	return string(u.Host()) + path, true
}

// language reads a language code without its region, because pages have none.
func language(value string) (string, bool) {
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(value), "_", "-"), "-")
	if len(code) < 2 || len(code) > 3 {
		return "", false
	}
	for _, c := range code {
		if c < 'a' || c > 'z' {
			return "", false
		}
	}
	return code, true
}

// mediaType reads a type and subtype, or one of them, in the characters of RFC 6838 §4.2.
func mediaType(value string) (string, bool) {
	value = strings.TrimLeft(strings.ToLower(value), ".")
	top, sub, slash := strings.Cut(value, "/")
	if top == "" || slash && sub == "" {
		return "", false
	}
	for _, c := range top + sub {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$&-^_.+", c) {
			return "", false
		}
	}
	return value, true
}

// day reads a day, or the first of a month or year. Years have four digits, the first not 0.
func day(value string) (time.Time, bool) {
	for _, layout := range []string{"2006-1-2", "2006-1", "2006"} {
		if t, err := time.Parse(layout, value); err == nil && t.Year() >= 1000 {
			return t, true
		}
	}
	return time.Time{}, false
}
