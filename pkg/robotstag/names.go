package robotstag

// text is the type of names: strings from headers, bytes from a tokenizer.
type text interface{ ~string | ~[]byte }

// addressee returns to whom a scope, or the name of a meta element, applies: everybody, the owner
// of our token, or neither. Names are compared as in robots.txt (formats §1.3): the longest leading
// run of token characters, in any case.
func addressee[T text](name T, token string) (everybody, own bool) {
	for len(name) > 0 && isBlank(name[0]) {
		name = name[1:]
	}
	for len(name) > 0 && isBlank(name[len(name)-1]) {
		name = name[:len(name)-1]
	}
	run := leadingToken(name)
	return equalFold(name, "robots"), len(run) > 0 && equalFold(run, token)
}

// leadingToken returns the longest prefix made of [A-Za-z_-].
func leadingToken[T text](s T) T {
	for i := range len(s) {
		if c := lower(s[i]); (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return s[:i]
		}
	}
	return s
}

// equalFold compares ignoring the case of ASCII letters only, because names here are ASCII, and
// U+017F is not an "s" (formats §0).
func equalFold[T text](a T, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func isBlank(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', '\f': // as in blanks
		return true
	}
	return false
}

type ruleKind uint8

const (
	noRule ruleKind = iota
	plainRule
	valueRule
)

// known are the names of rules that are never read as product tokens (formats §4.1.3). Most of the
// last two lines are rules of other crawlers. They have no effect on us, but in "noimageindex: 1,
// noindex" the noindex must not apply to a robot of that name.
var known = [...]struct {
	name string
	kind ruleKind
}{
	{"noindex", plainRule}, {"nosnippet", plainRule}, {"nofollow", plainRule}, {"noarchive", plainRule}, {"none", plainRule},
	{"unavailable_after", valueRule}, {"max-snippet", valueRule}, {"max-image-preview", valueRule}, {"max-video-preview", valueRule},
	{"all", plainRule}, {"index", plainRule}, {"follow", plainRule},
	{"noimageindex", plainRule}, {"notranslate", plainRule}, {"indexifembedded", plainRule}, {"nocache", plainRule},
	{"noodp", plainRule}, {"noydir", plainRule}, {"noai", plainRule}, {"noimageai", plainRule},
}

// lookup returns the name of a known rule in lower case and its kind, or
// "" and noRule.
func lookup(word string) (name string, kind ruleKind) {
	for i := range known {
		if equalFold(word, known[i].name) {
			return known[i].name, known[i].kind
		}
	}
	return "", noRule
}
