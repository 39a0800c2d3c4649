package crawl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Ruled is what the site rules of a crawl (Spec.Sites) made of a page. A fetcher fills it in when
// it reads the page, and an indexer when the rules changed. Nil: the rules do not read the page.
type Ruled struct {
	// Rules is the Spec.SitesHash of the rules that were applied.
	Rules uint64 `json:"rules"`
	// Content identifies the rules about the content of the page (siterules.Site.Content); 0: there
	// are none. If it changes, search reads the page again.
	Content uint64 `json:"content,omitempty"`
	// Title and Description replace those of the page, if they are not empty.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Fields      Fields `json:"fields,omitempty"`
}

// The limits of a Ruled, whoever sends it. Package siterules stays within them.
const (
	MaxFields      = 256      // fields of a page
	MaxFieldName   = 64       // bytes of a name
	MaxFieldValues = 256      // values of a field
	MaxDescription = 4 << 10  // bytes
	MaxFieldBytes  = 72 << 10 // bytes of all names and values of a page
)

// SameContent reports whether a and b show the same of a page. Their Rules may differ.
func (a *Ruled) SameContent(b *Ruled) bool {
	var none Ruled
	if a == nil {
		a = &none
	}
	if b == nil {
		b = &none
	}
	return a.Content == b.Content && a.Title == b.Title && a.Description == b.Description && a.Fields.Equal(b.Fields)
}

// Bytes is the approximate size of a in a message; 0 for nil.
func (a *Ruled) Bytes() int {
	if a == nil {
		return 0
	}
	n := len(a.Title) + len(a.Description) + 64
	for i := range a.Fields {
		n += a.Fields[i].size() + 8 + 4*len(a.Fields[i].Values)
	}
	return n
}

// limit cuts what was received to the limits. Fields that do not fit are left out as a whole.
func (a *Ruled) limit() {
	a.Title, a.Description = beginning(a.Title, MaxTitle), beginning(a.Description, MaxDescription)
	if len(a.Fields) > MaxFields {
		a.Fields = a.Fields[:MaxFields]
	}
	left := MaxFieldBytes
	a.Fields = slices.DeleteFunc(a.Fields, func(f Field) bool {
		size := f.size()
		if size > left || len(f.Name) > MaxFieldName || len(f.Values) > MaxFieldValues || len(f.Values) == 0 || f.Type > FieldBoolean {
			return true
		}
		left -= size
		return false
	})
}

// beginning is the beginning of s, n bytes at most.
func beginning(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// Fields are the fields of a page, in the order of their names. Their limits are those of package
// siterules.
type Fields []Field

// Get returns the values of a field, nil if the page does not have it.
func (f Fields) Get(name string) []string {
	for i := range f {
		if f[i].Name == name {
			return f[i].Values
		}
	}
	return nil
}

// Brief is the beginning of the fields for a row of a list: the first 12, of each the first 6
// values, of each the first 200 bytes. What it returns may share memory with f.
func (f Fields) Brief() Fields {
	const fields, values, size = 12, 6, 200
	if len(f) == 0 {
		return nil
	}
	brief := slices.Clone(f[:min(len(f), fields)])
	for i := range brief {
		shown := slices.Clone(brief[i].Values[:min(len(brief[i].Values), values)])
		for j, v := range shown {
			shown[j] = beginning(v, size)
		}
		brief[i].Values = shown
	}
	return brief
}

// Equal reports whether two pages have the same fields.
func (f Fields) Equal(other Fields) bool {
	return slices.EqualFunc(f, other, func(a, b Field) bool {
		return a.Name == b.Name && a.Type == b.Type && a.Many == b.Many && slices.Equal(a.Values, b.Values)
	})
}

// Field is a field that has at least one value.
type Field struct {
	Name string
	Type FieldType
	// Many says that the field may have several values, so that it is always shown as a list.
	Many bool
	// Values are in their canonical form: a number as the shortest decimal number, a date in
	// RFC 3339 in UTC, a boolean as true or false.
	Values []string
}

// size is the number of bytes of the name and the values.
func (f *Field) size() int {
	n := len(f.Name)
	for _, v := range f.Values {
		n += len(v)
	}
	return n
}

// FieldType is the type of the values of a field.
type FieldType uint8

// The types.
const (
	FieldText    FieldType = iota // searched by its words
	FieldKeyword                  // compared as a whole
	FieldNumber
	FieldDate
	FieldBoolean
)

// String is the type as site rules name it.
func (t FieldType) String() string {
	if t <= FieldBoolean {
		return [...]string{"text", "keyword", "number", "date", "boolean"}[t]
	}
	return "unknown"
}

// MarshalJSON writes the fields as an object, as they are shown everywhere: a number as a number, a
// boolean as a boolean, a date or text as a string. A field with Many is always an array.
func (f Fields) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i := range f {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := jsonText(f[i].Name)
		if err != nil {
			return nil, err
		}
		value, err := f[i].MarshalJSON()
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// MarshalJSON writes the values of the field without its name, in the form of Fields.MarshalJSON.
func (f Field) MarshalJSON() ([]byte, error) {
	if !f.Many && len(f.Values) == 1 {
		return f.value(f.Values[0])
	}
	out := []byte{'['}
	for i, v := range f.Values {
		if i > 0 {
			out = append(out, ',')
		}
		value, err := f.value(v)
		if err != nil {
			return nil, err
		}
		out = append(out, value...)
	}
	return append(out, ']'), nil
}

// value writes one value. A value that is not of the type of its field, which only a sender of
// another version can have sent, becomes a string.
func (f *Field) value(v string) ([]byte, error) {
	literal := false
	switch f.Type {
	case FieldNumber:
		literal = v != "" && (v[0] == '-' || v[0] >= '0' && v[0] <= '9') && json.Valid([]byte(v))
	case FieldBoolean:
		literal = v == "true" || v == "false"
	}
	if literal {
		return []byte(v), nil
	}
	return jsonText(v)
}

// jsonText writes a string without escaping HTML; whoever shows JSON as HTML escapes it.
func jsonText(s string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(s)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// UnmarshalJSON reads what MarshalJSON wrote. The form does not distinguish texts, keywords and
// dates, which all become texts; the rules of the crawl (siterules.Rules.Schema) do.
func (f *Fields) UnmarshalJSON(b []byte) error {
	*f = nil
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	t, err := dec.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("fields of a page must be an object, not %v", t)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return err
		}
		field := Field{Name: name.(string)} // the decoder accepts nothing else as a key
		if err := field.set(value); err != nil {
			return err
		}
		if len(field.Values) > 0 {
			*f = append(*f, field)
		}
	}
	_, err = dec.Token()
	return err
}

// set takes a value of JSON.
func (f *Field) set(value any) error {
	all, many := value.([]any)
	if f.Many = many; !many {
		all = []any{value}
	}
	for _, v := range all {
		switch v := v.(type) {
		case nil:
		case string:
			f.Values = append(f.Values, v)
		case json.Number:
			f.Type, f.Values = FieldNumber, append(f.Values, v.String())
		case bool:
			f.Type, f.Values = FieldBoolean, append(f.Values, fmt.Sprint(v))
		default:
			return fmt.Errorf("the field %q of a page must be a text, a number, a boolean or a list of them", f.Name)
		}
	}
	return nil
}
