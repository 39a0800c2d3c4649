package html

import "bytes"

// NextAttr cuts the next attribute off what Reader.Next returned as the attributes of a tag. The
// value is as it is written, without its quotes: see Value. It is nil for an attribute without one.
// name is nil at the end. Of several attributes with one name, browsers take the first.
func NextAttr(attrs []byte) (name, val, rest []byte) {
	i := 0
	for i < len(attrs) && (IsSpace(attrs[i]) || attrs[i] == '/') {
		i++
	}
	if i == len(attrs) {
		return nil, nil, nil
	}
	from := i
	for i++; i < len(attrs) && attrs[i] != '=' && attrs[i] != '/' && !IsSpace(attrs[i]); i++ {
	}
	name = attrs[from:i]
	for i < len(attrs) && IsSpace(attrs[i]) {
		i++
	}
	if i == len(attrs) || attrs[i] != '=' {
		return name, nil, attrs[i:]
	}
	for i++; i < len(attrs) && IsSpace(attrs[i]); i++ {
	}
	if i == len(attrs) {
		return name, nil, nil
	}
	if q := attrs[i]; q == '"' || q == '\'' {
		n := bytes.IndexByte(attrs[i+1:], q)
		if n < 0 {
			return name, nil, nil
		}
		return name, attrs[i+1 : i+1+n], attrs[i+n+2:]
	}
	from = i
	for i < len(attrs) && !IsSpace(attrs[i]) {
		i++
	}
	return name, attrs[from:i], attrs[i:]
}

// Attr returns the value of the first attribute that has one of the names, which are in lower case.
// The value is as it is written; nil when there is no such attribute, or no value.
func Attr(attrs []byte, names ...string) []byte {
	for name, val, rest := NextAttr(attrs); name != nil; name, val, rest = NextAttr(rest) {
		for _, want := range names {
			if Is(name, want) {
				return val
			}
		}
	}
	return nil
}
