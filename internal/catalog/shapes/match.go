package shapes

import (
	"iter"
	"slices"
	"strings"
)

// Shows reports whether first, the beginning of a JSON document under this path, shows that the
// document describes datasets in a form that ReadJSON reads. Look bytes are enough, or the whole
// document if it is shorter.
func Shows(first []byte, path string) bool {
	root, cut := sketch(first)
	if root == nil {
		return false
	}
	return shapeOf(root, path, cut) != nil || showsLD(root, path, cut)
}

// shapeOf returns the shape of a document under this path, or nil. cut means that only its
// beginning is known.
func shapeOf(root any, path string, cut bool) *Shape {
	for i := range table {
		s := &table[i]
		if s.path != "" && !strings.Contains(path, s.path) {
			continue
		}
		named := slices.ContainsFunc(strings.Fields(s.named), func(part string) bool { return strings.Contains(path, part) })
		for at := range strings.SplitSeq(s.at, " ") {
			all, ok := membersAt(root, at)
			if ok && named && at != "" && (cut || len(all) == 0) && s.may(all) {
				return s
			}
			if slices.ContainsFunc(all[:min(len(all), tried)], func(v any) bool { return s.fits(v, named) }) {
				return s
			}
		}
	}
	return nil
}

// may reports whether the little that is known of the members of a list allows that they are
// datasets of this shape.
func (s *Shape) may(all []any) bool {
	return len(all) == 0 || len(all) == 1 && !hasAny(object(all[0]), s.not) && s.isOnly(object(all[0]))
}

// fits reports whether a member of a list, or the document itself, has what a dataset of the shape
// must have.
func (s *Shape) fits(v any, named bool) bool {
	m := object(v)
	if m == nil || hasAny(m, s.not) || !s.isOnly(m) {
		return false
	}
	for need := range strings.FieldsSeq(s.needs) {
		if !hasOne(m, need) {
			return false
		}
	}
	n := 0
	for p := range strings.FieldsSeq(s.some) {
		if hasOne(m, p) {
			n++
		}
	}
	return named || n >= enough
}

// isOnly reports whether nothing says that it is something other than a dataset.
func (s *Shape) isOnly(m map[string]any) bool {
	for p := range strings.FieldsSeq(s.only) {
		if name, _, _ := strings.Cut(p, "="); hasOne(m, name) && !hasOne(m, p) {
			return false
		}
	}
	return true
}

// membersAt returns the members of the list at a path of objects, or the object there as the only
// one. The members of a list that is the only member of a list, as DKAN 1 writes it, are its own.
func membersAt(root any, at string) (all []any, ok bool) {
	v := root
	for name := range strings.SplitSeq(at, ".") {
		if at == "" {
			break
		}
		m := object(v)
		if v, ok = m[name]; !ok {
			return nil, false
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return []any{v}, true
	case []any:
		if len(v) == 1 {
			if inner, nested := v[0].([]any); nested {
				return inner, true
			}
		}
		return v, true
	}
	return nil, false
}

// hasOne reports whether one of several properties is there, and has a value that is wanted:
// "a.b|c|d=x,y".
func hasOne(m map[string]any, properties string) bool {
	for p := range strings.SplitSeq(properties, "|") {
		name, values, valued := strings.Cut(p, "=")
		found := false
		eachAt(m, name, func(v any) bool {
			text, _ := v.(string)
			found = v != nil && (!valued || slices.ContainsFunc(strings.Split(values, ","), func(x string) bool { return strings.EqualFold(x, text) }))
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

func hasAny(m map[string]any, properties string) bool {
	for p := range strings.FieldsSeq(properties) {
		if hasOne(m, p) {
			return true
		}
	}
	return false
}

// Of returns the shape of a whole document under this path, or nil if it shows none.
func Of(root any, path string) *Shape { return shapeOf(root, path, false) }

// Possible returns the shapes whose datasets need no more than a document has. A document of which
// it is known that it describes datasets may be one of those.
func Possible(root any) iter.Seq[*Shape] {
	return func(yield func(*Shape) bool) {
		for i := range table {
			if s := &table[i]; s.path == "" && s.has(root) && !yield(s) {
				return
			}
		}
	}
}

// has reports whether a document has what the datasets of the shape must have.
func (s *Shape) has(root any) bool {
	for at := range strings.SplitSeq(s.at, " ") {
		all, _ := membersAt(root, at)
		if slices.ContainsFunc(all[:min(len(all), tried)], func(v any) bool { return s.fits(v, true) }) {
			return true
		}
	}
	return false
}

// Datasets yields what may be datasets of a document of this shape, as far as they are objects.
func (s *Shape) Datasets(root any) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		some := false
		for at := range strings.SplitSeq(s.at, " ") {
			if at == "" && some {
				return // the document is no dataset beside those in it
			}
			all, _ := membersAt(root, at)
			for _, v := range all {
				if m := object(v); m != nil && !hasAny(m, s.not) && s.isOnly(m) {
					if some = true; !yield(m) {
						return
					}
				}
			}
		}
	}
}

// Whole returns the address of the whole description of a dataset that is in a list, or "".
func (s *Shape) Whole(m map[string]any) string {
	if s.whole == "" {
		return ""
	}
	return text(m[s.whole])
}

// Rewritten returns a dataset in the names of DCAT and schema.org, or nil if it is none. A dataset
// that package catalog reads as it is is returned as it is.
func (s *Shape) Rewritten(m map[string]any) map[string]any {
	if s.dataset == nil {
		return m
	}
	return s.dataset(m)
}

// lists are the properties whose lists may have datasets, and ways are those in which such a list
// may be.
var lists, ways = func() (lists, ways map[string]bool) {
	lists, ways = map[string]bool{}, map[string]bool{}
	for _, s := range table {
		for at := range strings.FieldsSeq(s.at) {
			names := strings.Split(at, ".")
			last := len(names) - 1
			lists[names[last]] = true
			for _, name := range names[:last] {
				ways[name] = true
			}
		}
	}
	return lists, ways
}()

// IsList reports whether a property may have the list of datasets of a shape.
func IsList(name string) bool { return lists[name] }

// IsWay reports whether a property may have an object in which there is such a list.
func IsWay(name string) bool { return ways[name] }

// Bare reports whether a document with this beginning is a list of datasets of a shape. They do not
// refer to one another, as those in a list of JSON-LD may.
func Bare(first []byte) bool {
	root, _ := sketch(first)
	all, _ := root.([]any)
	for i := range table {
		s := &table[i]
		if slices.Contains(strings.Split(s.at, " "), "") && slices.ContainsFunc(all, func(v any) bool { return s.fits(v, false) }) {
			return true
		}
	}
	return false
}
