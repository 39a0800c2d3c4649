package crawl

// Ruled is what the site rules of a crawl (Spec.Sites) made of a page. A fetcher fills it in when it
// reads the page, and an indexer when the rules changed.
type Ruled struct {
	// Rules is the Spec.SitesHash of the rules that were applied.
	Rules uint64 `json:"rules"`
	// Title and Description replace those of the page, if they are not empty.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Fields      Fields `json:"fields,omitempty"`
}

// Fields are the fields of a page, in the order of their names. Their limits are those of package
// siterules.
type Fields []Field

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
