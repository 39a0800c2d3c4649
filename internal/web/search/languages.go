package search

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	maxLanguages    = 8    // languages that a reader can prefer
	maxLanguageList = 1024 // bytes of Accept-Language that are read
	// anyLanguage is what a list says that prefers none.
	anyLanguage = "*"
)

// languages are those that the reader of an answer prefers, best first: those of the parameter, or
// else those of the browser. A list in the header that is wrong counts as none, because its reader
// cannot change it.
func (p params) languages(h http.Header) []string {
	list, ok := languagesOf(cmp.Or(p.Languages, strings.Join(h.Values("Accept-Language"), ",")))
	if !ok {
		return nil
	}
	return list[:min(len(list), maxLanguages)]
}

// languagesOf reads a list such as de-CH,de;q=0.9,fr;q=0.5 (RFC 9110 §12.5.4): its languages
// without regions, each once, best first. "*" stands for any language and is left out. It is false
// if the list is wrong or longer than maxLanguageList.
func languagesOf(list string) (codes []string, ok bool) {
	type weighted struct {
		code   string
		weight float64
	}
	var all []weighted
	if len(list) > maxLanguageList {
		return nil, false
	}
	for part := range strings.SplitSeq(list, ",") {
		tag, weight, given := strings.Cut(part, ";")
		w := weighted{code: languageCode(strings.TrimSpace(tag)), weight: 1}
		if given {
			name, value, _ := strings.Cut(strings.TrimSpace(weight), "=")
			q, err := strconv.ParseFloat(value, 64)
			if !strings.EqualFold(name, "q") || err != nil || !(q >= 0 && q <= 1) {
				return nil, false
			}
			w.weight = q
		}
		switch {
		case strings.TrimSpace(tag) == "" && !given: // RFC 9110 §5.6.1.2
		case w.code == "":
			return nil, false
		case w.weight > 0 && w.code != anyLanguage:
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b weighted) int { return cmp.Compare(b.weight, a.weight) })
	for _, w := range all {
		if !slices.Contains(codes, w.code) {
			codes = append(codes, w.code)
		}
	}
	return codes, true
}

// languageCode is the language of a tag, in lower case, without its script and region: pages are
// only known by their language. It is "" for what is no tag.
func languageCode(tag string) string {
	if tag == anyLanguage {
		return tag
	}
	code, _, _ := strings.Cut(strings.ToLower(tag), "-")
	if len(code) < 2 || len(code) > 3 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return code
}
