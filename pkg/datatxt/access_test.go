package datatxt

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// firstMatch implements formats §5.3 directly and slowly: lines in file order, octet by octet.
// rules.match must give the same result.
func firstMatch(list []recordLine, path string) (bool, int) {
	for _, l := range list {
		if l.value != "" && matches(l.value, path) {
			return l.name == "allow", l.line
		}
	}
	return true, 0
}

func matches(rule, path string) bool {
	if !strings.HasPrefix(rule, "/") {
		rule = "/" + rule
	}
	rule, _, _ = strings.Cut(rule, "?")
	for rule != "" {
		if path == "" {
			return false
		}
		a, n := octet(rule)
		b, m := octet(path)
		if a != b {
			return false
		}
		rule, path = rule[n:], path[m:]
	}
	return true
}

// octet decodes the first octet; an encoded slash is 256.
func octet(s string) (value, length int) {
	if len(s) >= 3 && s[0] == '%' && unhex(s[1]) >= 0 && unhex(s[2]) >= 0 {
		v := unhex(s[1])*16 + unhex(s[2])
		if v == '/' {
			v = 256
		}
		return v, 3
	}
	return int(s[0]), 1
}

var pathParts = []string{"/", "a", "b", "%2F", "%2f", "%61", "%", "%2", "%FF", "\xff", "%25", "2F", "*", "$", "~", "%7e", "é"}

func randomPath(rng *rand.Rand) string {
	var b strings.Builder
	b.WriteByte('/')
	for range rng.IntN(6) {
		b.WriteString(pathParts[rng.IntN(len(pathParts))])
	}
	return b.String()
}

func TestAccessAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3_000 {
		var list []recordLine
		var parsed []rule
		for i := range rng.IntN(12) {
			l := recordLine{name: []string{"allow", "disallow"}[rng.IntN(2)], value: randomPath(rng), line: i + 2}
			list = append(list, l)
			parsed = append(parsed, rule{path: normalPath(l.value), allow: l.name == "allow", line: l.line})
		}
		f := &File{rules: newRules(parsed)}
		for range 20 {
			path := randomPath(rng)
			wantOK, wantLine := firstMatch(list, path)
			if ok, line := f.Allowed(path); ok != wantOK || line != wantLine {
				t.Fatalf("%q: %v by line %d, want %v by %d; rules %+v", path, ok, line, wantOK, wantLine, list)
			}
		}
	}
}
