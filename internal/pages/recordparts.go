package pages

import (
	"encoding/binary"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/usage"
)

// The encoding of usage in a record: the number of statements, and for each its preferences, a
// flag, its line, its source and its text.
const flagInferred = 1

func appendUsage(dst []byte, l usage.Statements) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(l)))
	for i := range l {
		s := &l[i]
		dst = append(dst, s.Preferences.Bits(), bit(s.Inferred)*flagInferred)
		dst = binary.AppendUvarint(dst, uint64(max(s.Line, 0)))
		dst = appendString(appendString(dst, s.From), s.Text)
	}
	return dst
}

func (r *reader) usage() (l usage.Statements) {
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		s := usage.Statement{Preferences: usage.PreferencesOf(r.byte())}
		s.Inferred = r.byte()&flagInferred != 0
		s.Line, s.From, s.Text = int(r.uvarint()), r.string(), r.string()
		l = append(l, s)
	}
	return l
}

// The encoding of what site rules made of a page: their hash, the hash of those about its content,
// title, description, and the number of fields. Each field has its name, its type, a flag, the
// number of its values, and the values.
const flagMany = 1

func appendRuled(dst []byte, a *crawl.Ruled) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, a.Rules), a.Content)
	dst = appendString(appendString(dst, a.Title), a.Description)
	dst = binary.AppendUvarint(dst, uint64(len(a.Fields)))
	for i := range a.Fields {
		f := &a.Fields[i]
		dst = append(appendString(dst, f.Name), byte(f.Type), bit(f.Many)*flagMany)
		dst = binary.AppendUvarint(dst, uint64(len(f.Values)))
		for _, v := range f.Values {
			dst = appendString(dst, v)
		}
	}
	return dst
}

func (r *reader) ruled() *crawl.Ruled {
	a := &crawl.Ruled{Rules: r.uvarint(), Content: r.uvarint(), Title: r.string(), Description: r.string()}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		f := crawl.Field{Name: r.string(), Type: crawl.FieldType(r.byte())}
		f.Many = r.byte()&flagMany != 0
		for n := r.uvarint(); n > 0 && !r.bad; n-- {
			f.Values = append(f.Values, r.string())
		}
		a.Fields = append(a.Fields, f)
	}
	return a
}
