package search

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Translations of a page become one hit, which lists the others. Pages of a host are translations
// of each other if their addresses differ only in a language, which is the page's own by what it
// says or, if it says nothing, by its words. A page in the place of another language, which is not
// translated yet, is a copy of the page in its own language.
//
// A pinned page is the hit. Otherwise it is the page in the first of the reader's languages.
// Without one it is the best, or the one in English if that is nearly as good: names are the same
// in all languages, and then nothing says which translation is wanted.

// nearlyAsGood is the part of the best score with which a translation may be the hit instead.
const nearlyAsGood = 0.9

// maxTranslations is the maximum number of translations that are listed with a hit.
const maxTranslations = 30

// placeOf returns the address of a page with a sign in the place of the page's language; ok is
// false if the language is not in the address: /de/, .html.de, index.de.html, ?lang=de.
func placeOf(address, lang string) (place string, ok bool) {
	if lang == "" {
		return "", false
	}
	for i := len(address) - len(canon.URL(address).PathQuery()); i < len(address); {
		for i < len(address) && !letter(address[i]) {
			i++
		}
		begin := i
		for i < len(address) && letter(address[i]) {
			i++
		}
		end := i
		if begin == end || begin == 0 || strings.IndexByte("/.-_=", address[begin-1]) < 0 || !strings.EqualFold(address[begin:end], lang) {
			continue
		}
		// A region may follow: pt-br, zh_CN.
		if r := end + 3; r <= len(address) && (address[end] == '-' || address[end] == '_') && letter(address[end+1]) && letter(address[end+2]) && (r == len(address) || !letter(address[r])) {
			end = r
		}
		if end == len(address) || address[begin-1] != '/' || address[end] == '/' {
			return address[:begin] + "*" + address[end:], true
		}
	}
	return "", false
}

// shortWords iterates over the words of two letters of an address, which may be languages.
func shortWords(address string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(canon.URL(address).PathQuery(), func(r rune) bool { return r > 127 || !letter(byte(r)) }) {
			if len(word) == 2 && !yield(word) {
				return
			}
		}
	}
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// translated makes one hit of translations of a page. Hits are best first, before and after.
func (s *searching) translated(hits []crawl.Hit) []crawl.Hit {
	groups := map[string][]int{} // by place
	var rest []int
	for i := range hits {
		if place, ok := placeOf(hits[i].URL, hits[i].Lang); ok {
			groups[place] = append(groups[place], i)
		} else {
			rest = append(rest, i)
		}
	}
	if len(groups) == 0 {
		return hits
	}
	dropped := make([]bool, len(hits))
	// A page in the place of a language that it is not in waits for its translation.
	untranslated := map[int][]int{} // by the hit of which it is a copy
	for _, i := range rest {
		if hits[i].Pinned {
			continue
		}
		for word := range shortWords(hits[i].URL) {
			place, ok := placeOf(hits[i].URL, word)
			if !ok {
				continue
			}
			at := slices.IndexFunc(groups[place], func(j int) bool { return hits[j].Lang == hits[i].Lang })
			if at >= 0 {
				j := groups[place][at]
				untranslated[j], dropped[i] = append(untranslated[j], i), true
				hits[j].Score = max(hits[j].Score, hits[i].Score)
				break
			}
		}
	}
	for j, copies := range untranslated {
		for _, i := range copies {
			hits[j].Also = append(append(hits[j].Also, hits[i].URL), hits[i].Also...)
		}
		hits[j].Also = addresses(hits[j].Also, hits[j].URL)
	}
	for _, at := range groups {
		if len(at) < 2 || !severalLanguages(at, hits) {
			continue
		}
		best := slices.MinFunc(at, func(i, j int) int {
			return cmp.Or(cmp.Compare(unpinned(&hits[i]), unpinned(&hits[j])), cmp.Compare(hits[j].Score, hits[i].Score), cmp.Compare(i, j))
		})
		shown := slices.MinFunc(at, func(i, j int) int {
			return cmp.Or(cmp.Compare(unpinned(&hits[i]), unpinned(&hits[j])), cmp.Compare(s.preference(hits[i].Lang), s.preference(hits[j].Lang)), cmp.Compare(worse(hits, i, best), worse(hits, j, best)), cmp.Compare(i, j))
		})
		hit := hits[shown]
		hit.Score = hits[best].Score
		for _, i := range at {
			if i != shown && len(hit.Translations) < maxTranslations {
				hit.Translations = append(hit.Translations, crawl.Translation{Lang: hits[i].Lang, URL: hits[i].URL})
			}
			dropped[i] = i != best
		}
		slices.SortFunc(hit.Translations, func(a, b crawl.Translation) int {
			return cmp.Or(cmp.Compare(a.Lang, b.Lang), cmp.Compare(a.URL, b.URL))
		})
		hits[best] = hit
	}
	n := 0
	hits = slices.DeleteFunc(hits, func(crawl.Hit) bool { n++; return dropped[n-1] })
	if len(untranslated) > 0 && s.sort == nil && !s.simple {
		slices.SortStableFunc(hits, func(a, b crawl.Hit) int {
			return cmp.Or(cmp.Compare(unpinned(&a), unpinned(&b)), unpinned(&a)*cmp.Compare(b.Score, a.Score))
		})
	}
	return hits
}

// severalLanguages reports whether each hit of a place is in another language.
func severalLanguages(at []int, hits []crawl.Hit) bool {
	seen := map[string]bool{}
	for _, i := range at {
		seen[hits[i].Lang] = true
	}
	return len(seen) == len(at)
}

// preference is how much the reader prefers a language: less is more.
func (s *searching) preference(lang string) int {
	if i := slices.Index(s.r.Languages, lang); i >= 0 {
		return i
	}
	return len(s.r.Languages)
}

// worse orders translations that the reader prefers equally.
func worse(hits []crawl.Hit, i, best int) int {
	switch near := hits[i].Score >= nearlyAsGood*hits[best].Score; {
	case near && hits[i].Lang == "en":
		return 0
	case i == best:
		return 1
	}
	return 2
}
