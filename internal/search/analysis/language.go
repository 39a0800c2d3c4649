package analysis

import (
	"bytes"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// stemmers by ISO 639-1 code. In languages without one, words are indexed unchanged.
var stemmers = map[string]func(*snowballstem.Env) bool{
	"ar": arabic.Stem, "cs": czech.snowball, "da": danish.Stem, "de": german.Stem, "en": english.Stem, "es": spanish.Stem, "fi": finnish.Stem,
	"fr": french.Stem, "ga": irish.Stem, "hu": hungarian.Stem, "it": italian.Stem, "nb": norwegian.Stem,
	"nl": dutch.Stem, "nn": norwegian.Stem, "no": norwegian.Stem, "pl": polish.snowball, "pt": portuguese.Stem, "ro": romanian.Stem,
	"ru": russian.Stem, "sv": swedish.Stem, "ta": tamil.Stem, "tr": turkish.Stem,
}

// Languages returns the ISO 639-1 codes of the languages with a stemmer, sorted.
func Languages() []string { return slices.Sorted(maps.Keys(stemmers)) }

// HasStemmer reports whether words of a language have stems.
func HasStemmer(lang string) bool { return stemmers[lang] != nil }

// detectable are the languages that are detected: those that have a stemmer. Detecting others would
// have no effect, and would make mistakes among these more likely.
var detectable = whatlanggo.Options{Whitelist: map[whatlanggo.Lang]bool{
	whatlanggo.Arb: true, whatlanggo.Ces: true, whatlanggo.Pol: true, whatlanggo.Dan: true, whatlanggo.Deu: true, whatlanggo.Eng: true, whatlanggo.Spa: true,
	whatlanggo.Fin: true, whatlanggo.Fra: true, whatlanggo.Hun: true, whatlanggo.Ita: true, whatlanggo.Nob: true,
	whatlanggo.Nld: true, whatlanggo.Por: true, whatlanggo.Ron: true, whatlanggo.Rus: true, whatlanggo.Swe: true,
	whatlanggo.Tam: true, whatlanggo.Tur: true,
}}

// needed are letters of which a text in a language has at least one. whatlanggo does not know all
// neighbours: without them Slovak would be taken for Czech.
var needed = map[string]string{"cs": "ěřůĚŘŮ", "pl": "ąęłżĄĘŁŻ"}

const (
	// bytes that are examined: enough to distinguish these languages, and 60 µs at most (m)
	detectSample = 600
	detectLeast  = 60 // a shorter text is too short for detection
)

// Language returns the language whose stemmer is used for a text: the one that the page declares,
// otherwise the detected one, otherwise "".
func Language(declared string, text []byte) string {
	if declared != "" {
		return declared
	}
	if len(text) < detectLeast {
		return ""
	}
	// The beginning of a page is navigation; prose is in its middle.
	from := max(0, len(text)/2-detectSample/2)
	sample := text[from:min(len(text), from+detectSample)]
	for len(sample) > 0 && !utf8.RuneStart(sample[0]) {
		sample = sample[1:]
	}
	lang := byStopWords(sample)
	if lang == "" {
		info := whatlanggo.DetectWithOptions(string(sample), detectable)
		if info.Lang < 0 || !info.IsReliable() {
			return ""
		}
		lang = info.Lang.Iso6391()
	}
	if letters := needed[lang]; letters != "" && !bytes.ContainsAny(sample, letters) {
		return ""
	}
	return lang
}

// leastStopWords is how many of a sample's words must be stop words of a language to accept it
// without a more exact detection.
const leastStopWords = 10

// byStopWords recognises the most frequent languages at a hundredth of the cost of a full
// detection. It returns "" unless one language's stop words are frequent in the sample, and much
// more so than another's.
func byStopWords(sample []byte) string {
	var n [len(stopLangs)]int
	var z Tokenizer
	z.Tokens(sample, func(t Token) bool {
		if bits := stopWords[string(t.Word)]; bits != 0 {
			for i := range n {
				n[i] += int(bits >> i & 1)
			}
		}
		return true
	})
	best, second := 0, 0
	for i := range n {
		switch {
		case n[i] > n[best]:
			best, second = i, n[best]
		case i != best:
			second = max(second, n[i])
		}
	}
	if n[best] < leastStopWords || n[best] < 2*second {
		return ""
	}
	return stopLangs[best]
}
