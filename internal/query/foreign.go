package query

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Here is syntax that people bring from other search engines. What means the same as something of
// ours is read as that. The rest has no meaning, and Query.Notes says so.

// maxNotes is the maximum number of Query.Notes: one mistake is often made in several words.
const maxNotes = 5

// note adds a sentence to the query's notes, once.
func (p *parser) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); len(p.notes) < maxNotes && !slices.Contains(p.notes, n) {
		p.notes = append(p.notes, n)
	}
}

// shown is what a note shows of a term that somebody typed.
func shown(term string) string {
	if utf8.RuneCountInString(term) > 40 {
		term = string([]rune(term)[:40]) + "…"
	}
	return term
}

// ours is our name for a filter of another engine, unless the pages have a field of that name.
func (s Schema) ours(name string) string {
	if _, ok := s[name]; ok {
		return name
	}
	switch name {
	case "intitle", "allintitle":
		return "title"
	case "filetype", "ext":
		return "type"
	}
	return name
}

// Terms before and after which NOT is a word: it is in texts of SQL, of HTTP and of standards.
var (
	beforeNot = []string{"IS", "IF", "DO", "DOES", "MUST", "SHALL", "SHOULD", "CAN", "COULD", "MAY", "WILL", "WOULD"}
	afterNot  = []string{
		"NULL", "EXISTS", "IN", "LIKE", "ILIKE", "BETWEEN", "DISTINCT", "SIMILAR", "DEFERRABLE", "VALID", "MATERIALIZED",
		"ENFORCED", "MATCHED", "FOUND", "ALLOWED", "IMPLEMENTED", "ACCEPTABLE", "MODIFIED",
	}
)

// negates reports whether the NOT that was just read excludes the term after it.
func (p *parser) negates() bool {
	next, _, _ := strings.Cut(strings.TrimLeftFunc(p.rest, unicode.IsSpace), " ")
	return !slices.Contains(beforeNot, p.last) && !slices.Contains(afterNot, strings.TrimRight(next, ")"))
}

// plus is the length of the plus at the beginning of s that requires a word: +word, +"two words".
func plus(s string) int {
	next, _ := utf8.DecodeRuneInString(strings.TrimPrefix(s, "+"))
	if s[0] == '+' && (unicode.IsLetter(next) || isQuote(next)) {
		return 1
	}
	return 0
}

// fuzzy and boosted are the ends of terms in Lucene's language: ~, ~2, ~0.8 and ^2. Names such as
// HEAD~1 and PROGRA~1 are in capitals, and x^2 is a formula: these remain words.
var (
	fuzzy   = regexp.MustCompile(`^~(?:[0-9](?:\.[0-9]+)?)?$`)
	boosted = regexp.MustCompile(`^\^[0-9]+(?:\.[0-9]+)?$`)
)

// unmarked removes such an end of a word.
func (p *parser) unmarked(word string) string {
	i := strings.LastIndexAny(word, "~^")
	if i < 0 {
		return word
	}
	stem, mark := word[:i], word[i:]
	letters := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || r == '-' || r == '_'
	}
	if utf8.RuneCountInString(stem) < 3 || strings.TrimFunc(stem, letters) != "" || stem == strings.ToUpper(stem) && stem != strings.ToLower(stem) {
		return word
	}
	switch {
	case fuzzy.MatchString(mark):
		p.note("%s is read as %s, because ~ has no meaning: misspelt words are corrected without it; put the word in quotes to keep the sign", shown(word), shown(stem))
	case boosted.MatchString(mark):
		p.note("%s is read as %s, because words of a query cannot be weighted; put the word in quotes to keep the sign", shown(word), shown(stem))
	default:
		return word
	}
	return stem
}

// unmarkedPhrase skips such an end of a phrase.
func (p *parser) unmarkedPhrase(phrase string) {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return unicode.IsSpace(r) || isQuote(r) || r == ')' })
	if end < 0 {
		end = len(p.rest)
	}
	switch mark := p.rest[:end]; {
	case fuzzy.MatchString(mark):
		p.note(`"%s"%s is read as "%[1]s"; without quotes the words need not follow one another, and pages with all of them close together are first`, shown(phrase), mark)
	case boosted.MatchString(mark):
		p.note(`"%s"%s is read as "%[1]s", because parts of a query cannot be weighted`, shown(phrase), mark)
	default:
		return
	}
	p.rest = p.rest[end:]
}

// wildcard notes a star or question mark that stands for letters elsewhere, but not here.
func (p *parser) wildcard(word string) {
	only := func(r rune) bool { return unicode.IsLetter(r) || r == '*' || r == '?' }
	i := strings.IndexAny(word, "*?")
	if i < 0 || strings.TrimFunc(word, only) != "" || strings.IndexFunc(word, func(r rune) bool { return !only(r) }) >= 0 {
		return
	}
	switch rest := strings.TrimLeft(word[i:], "*?"); {
	case utf8.RuneCountInString(rest) < 2:
	case utf8.RuneCountInString(word[:i]) >= 2:
		p.note("the %c in %s has no meaning, because * stands only at the end of a word; use %s*", word[i], shown(word), shown(word[:i]))
	case i == 0 && utf8.RuneCountInString(rest) > 3:
		p.note("the %c in %s has no meaning, because * stands only at the end of a word; use %s", word[i], shown(word), shown(rest))
	}
}

// near are operators for words that are near each other.
var near = regexp.MustCompile(`^(?:NEAR|AROUND|ADJ)(?:/[0-9]+|\([0-9]+\))$`)

// span is a range of Lucene's language.
var span = regexp.MustCompile(`^([\pL\pN_.-]+):([\[{])\s*(\S+)\s+TO\s+(\S+?)\s*([\]}])(?:[\s)]|$)`)

// ranged reads name:[a TO b]. It returns false, and reads nothing, if there is none.
func (p *parser) ranged(not bool) bool {
	if !strings.Contains(p.rest, " TO ") {
		return false
	}
	at := span.FindStringSubmatchIndex(p.rest)
	if at == nil {
		return false
	}
	m := span.FindStringSubmatch(p.rest)
	end := func(s string) string {
		s = strings.TrimFunc(s, isQuote)
		if s == "*" {
			return ""
		}
		return s
	}
	p.rest = p.rest[at[11]:] // the end of the closing bracket
	typed, low, high := m[1]+":"+m[2]+m[3]+" TO "+m[4]+m[5], end(m[3]), end(m[4])
	f, ok := p.schema.newFilter(m[1], low+".."+high, not)
	switch {
	case ok && f.field.Name != "" && f.field.Type >= crawl.FieldNumber && m[2] == "[" && m[5] == "]":
		p.filter(f)
	case f.field.Name != "":
		p.note("%s is left out: a range of %s is typed %[2]s:LOW..HIGH, with both ends included, or %[2]s:>LOW", shown(typed), f.field.Name)
	default:
		p.note("%s is left out, because %s is no field of these pages; for dates use after:2023-05 before:2024", shown(typed), shown(m[1]))
	}
	return true
}

// sorting reads the value of sort:. It returns false if the pages cannot be sorted so.
func (p *parser) sorting(value string) bool {
	by, down := value, false
	for _, e := range []string{"-desc", ":desc", "-asc", ":asc"} {
		if name, ok := strings.CutSuffix(strings.ToLower(by), e); ok {
			by, down = name, strings.HasSuffix(e, "desc")
			break
		}
	}
	if down {
		by = "-" + by
	}
	switch strings.ToLower(by) {
	case "newest":
		by = "-date"
	case "oldest":
		by = "date"
	}
	s, err := p.schema.Sort(by)
	if err != nil || s == nil {
		return false
	}
	p.sort = cmp.Or(s.Name, sortDate)
	if s.Down {
		p.sort = "-" + p.sort
	}
	return true
}

// invalid notes a filter whose value is invalid, so that the term is a word.
func (p *parser) invalid(name, value string, not bool) {
	use := map[string]string{
		"lang": "use a code of two or three letters, as in lang:de", "type": "use for example type:pdf or type:text/html",
		"site": "use for example site:docs.example.org", "after": "use a year, month or day, as in after:2023-05",
		"before": "use a year, month or day, as in before:2023-05", "sort": "use sort:date or sort:-date, or a field of the pages",
	}[name]
	switch field, t, ok := p.schema.find(name); {
	case not && name == "after":
		use = "use before: for dates before a day"
	case not && name == "before":
		use = "use after: for dates from a day on"
	case ok && t == crawl.FieldNumber:
		use = fmt.Sprintf("use a number, as in %s:16 or %[1]s:14..16", field)
	case ok && t == crawl.FieldDate:
		use = fmt.Sprintf("use a date, as in %s:2024 or %[1]s:>=2024-05", field)
	case ok && t == crawl.FieldBoolean:
		use = fmt.Sprintf("use %s:true or %[1]s:false", field)
	}
	if use != "" {
		p.note("%s is read as a word; %s", shown(name+":"+value), use)
	}
}
