package datatxt

import "strings"

// absent reports whether a key has no value; an empty list or map is a value.
func (v Value) absent() bool { return v.Text == "" && v.List == nil && v.Map == nil }

// String formats a value in one line: a text unchanged, lists and maps in brackets and braces. It
// is for people and not meant to be parsed.
func (v Value) String() string {
	var b strings.Builder
	v.write(&b)
	return b.String()
}

func (v Value) write(b *strings.Builder) {
	switch {
	case v.List != nil:
		b.WriteByte('[')
		for i, item := range v.List {
			if i > 0 {
				b.WriteString(", ")
			}
			item.write(b)
		}
		b.WriteByte(']')
	case v.Map != nil:
		b.WriteByte('{')
		for i, field := range v.Map {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(field.Name)
			b.WriteString(": ")
			field.Value.write(b)
		}
		b.WriteByte('}')
	default:
		b.WriteString(v.Text)
	}
}
