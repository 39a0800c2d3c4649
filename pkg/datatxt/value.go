package datatxt

import "strings"

// absent reports whether a key has no value; an empty list or map is one.
func (v Value) absent() bool { return v.Text == "" && v.List == nil && v.Map == nil }

// String shows a value in one line: a text as it is, lists and maps in
// brackets and braces. It is for people; nothing parses it back.
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
