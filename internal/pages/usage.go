package pages

import (
	"encoding/binary"

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
