package robots

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestMatchDoesNotAllocate(t *testing.T) {
	r := Parse([]byte("User-agent: *\nDisallow: /*/x$\nAllow: /*?s=\nDisallow: /a/b\nAllow: /a\nDisallow: /%D0%B9")).Rules("anybot", Origin{})
	for _, path := range []string{"/", "/a/b/c?d=e", "/q/x", "/f?s=1&t=%D0%B9%2F", "/robots.txt", "/a#b", ""} {
		if n := testing.AllocsPerRun(100, func() { r.Match(path) }); n != 0 {
			t.Errorf("Match(%q) allocates %v times", path, n)
		}
	}
}

// Formats §1.4: the comparisons for a pattern stay within the product of the lengths, even for
// hostile input.
func TestFormats_1_4_MatchIsBounded(t *testing.T) {
	const a = "a"
	for _, pattern := range []string{
		strings.Repeat("a*", 4000) + "b", strings.Repeat("*a", 4000) + "b$", strings.Repeat("*", 8000) + "b", strings.Repeat("*", 8000),
		strings.Repeat("aa*", 2500) + "$", "*" + strings.Repeat(a, 4000) + "b", "*" + strings.Repeat(a, 4000) + "*b$",
		strings.Repeat("*"+strings.Repeat(a, 50)+"b", 100), strings.Repeat(a, 8000), strings.Repeat(a, 8000) + "$", "", "$",
		strings.Repeat("*ab", 2500) + "*c", strings.Repeat("?*&", 2500),
	} {
		f := Parse([]byte("User-agent: *\nDisallow: /" + pattern + "\n"))
		if len(f.rules) != 1 {
			t.Fatalf("%.20s…: %d rules", pattern, len(f.rules))
		}
		r := f.Rules("anybot", Origin{})
		for _, path := range []string{
			"/", "/a", "/" + strings.Repeat(a, 3000), "/" + strings.Repeat(a, 3000) + "c", "/" + strings.Repeat("ab", 3000),
			"/" + strings.Repeat(strings.Repeat(a, 49)+"b", 60), strings.Repeat("/", 3000),
		} {
			_, steps := r.match(path)
			if limit := 4 * (len(pattern) + 2) * (len(path) + 1); steps > limit {
				t.Errorf("pattern %.20s… (%d), path %.20s… (%d): %d steps, limit %d", pattern, len(pattern), path, len(path), steps, limit)
			}
		}
	}
}

// Many plain rules cost little more than one.
func TestManyRulesStayCheap(t *testing.T) {
	var text strings.Builder
	text.WriteString("User-agent: *\n")
	for i := range 20000 {
		fmt.Fprintf(&text, "Disallow: /dir%d/x\n", i)
	}
	r := Parse([]byte(text.String())).Rules("anybot", Origin{})
	v, steps := r.match("/dir17777/xyz")
	if v.Allowed || v.Line != 17779 || steps > 500 {
		t.Errorf("%+v in %d steps", v, steps)
	}
}

// asRegexp converts one normalised rule to a regular expression, as an independent implementation.
func asRegexp(r rule) *regexp.Regexp {
	expr := strings.ReplaceAll(regexp.QuoteMeta(r.pattern), `\*`, "(?s:.*)")
	if r.anchored {
		expr += `\z`
	}
	return regexp.MustCompile(`\A` + expr)
}

// slowMatch tries every rule and returns the strongest that matches.
func slowMatch(rules []rule, s string) (best *rule) {
	for i := range rules {
		r := &rules[i]
		if asRegexp(*r).MatchString(s) && (best == nil || r.octets() > best.octets() || r.octets() == best.octets() && r.allow && !best.allow) {
			best = r
		}
	}
	return best
}

func compareWithSlowMatch(t *testing.T, f *File, path string) {
	t.Helper()
	s := subject(path)
	v := f.Rules("anybot", Origin{}).Match(path)
	if s == "/robots.txt" {
		return
	}
	var own []rule // the file has one group for everybody
	own = append(own, f.rules...)
	best := slowMatch(own, s)
	switch {
	case best == nil && v != Verdict{Allowed: true}:
		t.Errorf("%q: %+v, want no rule\n%s", path, v, f.text)
	case best != nil && v != Verdict{best.allow, int(best.line), best.text}:
		t.Errorf("%q: %+v, want %v by line %d\n%s", path, v, best.allow, best.line, f.text)
	}
}

// Random rules over a small alphabet, which overlap a lot, are compared with the independent
// implementation.
func TestMatchAgainstModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func(alphabet string, most int) string {
		b := make([]byte, rnd.IntN(most+1))
		for i := range b {
			b[i] = alphabet[rnd.IntN(len(alphabet))]
		}
		return string(b)
	}
	for range 300 {
		text := "User-agent: *\n"
		for range rnd.IntN(12) {
			name := []string{"Allow: ", "Disallow: "}[rnd.IntN(2)]
			pattern := []string{"/", "*"}[rnd.IntN(2)] + word([]string{"ab/", "ab*", "aab*$"}[rnd.IntN(3)], 6)
			text += name + pattern + []string{"", "", "$"}[rnd.IntN(3)] + "\n"
		}
		f := Parse([]byte(text))
		for range 20 {
			compareWithSlowMatch(t, f, "/"+word("aab/$", 8))
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("/a*b$\n/a\n*", "/axb")
	f.Add("/a\n/a%2fb\n/a*b*c", "/a/b?c")
	f.Add("/$\n/**\n/a$b", "/a$b")
	f.Fuzz(func(t *testing.T, patterns, path string) {
		if len(patterns) > 500 || len(path) > 500 {
			return
		}
		text := "User-agent: *\n"
		for i, p := range strings.Split(patterns, "\n") {
			text += []string{"Allow: ", "Disallow: "}[i%2] + strings.ReplaceAll(p, "\r", "") + "\n"
		}
		file := Parse([]byte(text))
		compareWithSlowMatch(t, file, path)
		for i := range file.rules {
			r := &file.rules[i]
			s := subject(path)
			if _, steps := glob(r.pattern, r.anchored, s); steps > 4*(len(r.pattern)+1)*(len(s)+1) {
				t.Errorf("%s on %s: %d steps", r.pattern, s, steps)
			}
		}
	})
}
