package query

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Schema are the fields of a crawl's site rules by which a query can filter, with their types. The
// names of other filters are never fields.
type Schema map[string]crawl.FieldType

// FieldFilter is a condition for one field. A page passes the filters of one name that are not
// negated if it passes one of them, and all that are negated.
type FieldFilter struct {
	Name string          `json:"name"`
	Type crawl.FieldType `json:"type"`
	Not  bool            `json:"not,omitempty"`
	// Text is the value in its canonical spelling: for a number or date a value or range as in
	// >=15 or 14..16, for other types the result of Fold.
	Text string `json:"text"`
	// From and To bound, inclusively, the FieldNumber of the page's value.
	From float64 `json:"from,omitempty"`
	To   float64 `json:"to,omitempty"`
}

// Parse reads a query that may have filters by fields.
func (s Schema) Parse(q string) Query {
	parsed := s.parse(q, MaxBytes)
	if text := parsed.String(); len(text) > MaxBytes {
		// The canonical spelling of hosts, paths and dates may be longer. When this spelling is
		// cut, only a closing quote, or quotes and the rest of an escape, are added.
		notes := parsed.Notes
		parsed = s.parse(text, MaxBytes-8)
		parsed.Notes = notes
	}
	return parsed
}

// find returns the field of a name, which may be typed in upper or lower case.
func (s Schema) find(name string) (field string, t crawl.FieldType, ok bool) {
	if isFilter(name) || name == "title" || name == "year" {
		return "", 0, false
	}
	if t, ok = s[name]; ok {
		return name, t, true
	}
	for field, t = range s {
		if strings.EqualFold(field, name) {
			return field, t, true
		}
	}
	return "", 0, false
}

// has reports whether there is a filter of that name.
func (s Schema) has(name string) bool {
	_, _, ok := s.find(name)
	return ok || isFilter(name)
}

// filter makes a filter by a field. It returns false if the value is invalid for its type.
func (s Schema) filter(name, value string, not bool) (f FieldFilter, ok bool) {
	field, t, ok := s.find(name)
	if !ok {
		return f, false
	}
	f = FieldFilter{Name: field, Type: t, Not: not}
	switch t {
	case crawl.FieldNumber:
		f.Text, f.From, f.To, ok = bounds(value, number)
	case crawl.FieldDate:
		f.Text, f.From, f.To, ok = bounds(value, period)
	case crawl.FieldBoolean:
		f.Text, ok = boolean(value)
	default:
		f.Text = Fold(value)
		ok = f.Text != ""
	}
	return f, ok
}

// Fold returns the form in which values of fields are compared: in lower case, without quotes, with
// single blanks.
func Fold(value string) string {
	value, _ = tidy(strings.Map(func(r rune) rune {
		if isQuote(r) {
			return ' '
		}
		return r
	}, value), math.MaxInt)
	return strings.Join(strings.Fields(strings.ToLower(value)), " ")
}

// FieldNumber is the number by which a value of a field, in its canonical form, is compared: of a
// date the milliseconds since 1970. It is false for types without an order of numbers, and for
// values that are not canonical.
func FieldNumber(t crawl.FieldType, value string) (float64, bool) {
	switch t {
	case crawl.FieldNumber:
		n, err := strconv.ParseFloat(value, 64)
		return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
	case crawl.FieldDate:
		d, err := time.Parse(time.RFC3339, value)
		return float64(d.UnixMilli()), err == nil
	}
	return 0, false
}

// value reads one number or date: its canonical spelling, and the first and last FieldNumber that
// it stands for.
type valueReader func(s string) (text string, first, last float64, ok bool)

// bounds reads a value or range: 16, >15, >=15, <15, <=15, 14..16, 14.., ..16.
func bounds(s string, read valueReader) (text string, from, to float64, ok bool) {
	from, to = -math.MaxFloat64, math.MaxFloat64
	if low, high, isRange := strings.Cut(s, ".."); isRange {
		if low == "" && high == "" {
			return "", 0, 0, false
		}
		if low != "" {
			if low, from, _, ok = read(low); !ok {
				return "", 0, 0, false
			}
		}
		if high != "" {
			if high, _, to, ok = read(high); !ok {
				return "", 0, 0, false
			}
		}
		return low + ".." + high, from, to, from <= to
	}
	sign := s[:len(s)-len(strings.TrimLeft(s, "<>="))]
	value, first, last, ok := read(s[len(sign):])
	switch sign {
	case "", "=":
		sign, from, to = "", first, last
	case ">":
		from = math.Nextafter(last, math.MaxFloat64)
	case ">=":
		from = first
	case "<":
		to = math.Nextafter(first, -math.MaxFloat64)
	case "<=":
		to = last
	default:
		return "", 0, 0, false
	}
	return sign + value, from, to, ok
}

// number is the valueReader of numbers.
func number(s string) (text string, first, last float64, ok bool) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "0123456789.eE+-") != "" {
		return "", 0, 0, false
	}
	n += 0 // -0 is 0
	text = strconv.FormatFloat(n, 'f', -1, 64)
	if len(text) > 24 {
		text = strconv.FormatFloat(n, 'e', -1, 64)
	}
	return text, n, n, true
}

// period is the valueReader of dates: a year, a month, a day or a second.
func period(s string) (text string, first, last float64, ok bool) {
	var end time.Time
	t, err := time.Parse(time.RFC3339, strings.ToUpper(s))
	if err == nil {
		t = t.UTC().Truncate(time.Second)
		text, end = t.Format(time.RFC3339), t.Add(time.Second)
	} else if t, ok = day(s); ok {
		switch strings.Count(s, "-") {
		case 0:
			text, end = t.Format("2006"), t.AddDate(1, 0, 0)
		case 1:
			text, end = t.Format("2006-01"), t.AddDate(0, 1, 0)
		default:
			text, end = t.Format(time.DateOnly), t.AddDate(0, 0, 1)
		}
	}
	return text, float64(t.UnixMilli()), float64(end.UnixMilli() - 1), text != "" && t.Year() >= 1000 && t.Year() <= 9999
}

func boolean(s string) (text string, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "1":
		return "true", true
	case "false", "no", "0":
		return "false", true
	}
	return "", false
}

// addField adds a filter by a field, once.
func (f *Filters) addField(n FieldFilter) {
	if !slices.Contains(f.Fields, n) {
		f.Fields = append(slices.Clip(f.Fields), n)
	}
}

// dropFields removes the filters of a field, or the one with a value.
func (f *Filters) dropFields(name string, not bool, text string) {
	f.Fields = slices.DeleteFunc(slices.Clone(f.Fields), func(have FieldFilter) bool {
		return have.Name == name && have.Not == not && (text == "" || have.Text == text)
	})
	if len(f.Fields) == 0 {
		f.Fields = nil
	}
}

// Sort is the field by which an answer is sorted.
type Sort struct {
	Name string          `json:"name"` // "": the date of the page
	Type crawl.FieldType `json:"type"`
	Down bool            `json:"down,omitempty"` // the highest value is first
}

// sortDate asks for an order by the date of the pages, unless a field has that name.
const sortDate = "date"

// Sort reads "date" or the name of a field, with a "-" before it if the highest value is to be
// first. It returns nil for an empty name. An error says by what an answer can be sorted.
func (s Schema) Sort(by string) (*Sort, error) {
	if by == "" {
		return nil, nil
	}
	name, down := strings.CutPrefix(by, "-")
	if field, t, ok := s.find(name); ok && t != crawl.FieldText {
		return &Sort{field, t, down}, nil
	}
	if strings.EqualFold(name, sortDate) {
		return &Sort{"", crawl.FieldDate, down}, nil
	}
	var names []string
	for field, t := range s {
		if _, _, ok := s.find(field); ok && t != crawl.FieldText {
			names = append(names, field)
		}
	}
	slices.Sort(names)
	names = append([]string{sortDate}, names...)
	return nil, fmt.Errorf("%w: sort by %q is not possible; use %s, or -%s for the highest first", ErrSort, beginning(name), strings.Join(names[:min(len(names), 20)], ", "), names[0])
}

// ErrSort is the error of Schema.Sort.
var ErrSort = errors.New("wrong order")

// beginning is what a message shows of a name that somebody typed.
func beginning(name string) string {
	if len(name) > 40 {
		name = name[:40]
	}
	return strings.ToValidUTF8(name, "")
}

// Filters reports whether a name before a colon is that of a filter, or title.
func (s Schema) Filters(name string) bool {
	name = strings.ToLower(name)
	return name == "title" || s.has(name)
}
