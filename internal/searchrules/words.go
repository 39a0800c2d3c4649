package searchrules

import (
	"strings"

	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/search/analysis"
)

// keyer makes the keys by which words are compared. It must not be used concurrently.
type keyer struct {
	stems *analysis.QueryKeyer
	z     analysis.Tokenizer
}

func newKeyer(lang string) *keyer { return &keyer{stems: analysis.NewQueryKeyer([]string{lang})} }

// words returns the keys of the words of a text.
func (k *keyer) words(text string) (keys []string) {
	for word := range strings.FieldsSeq(text) {
		keys = append(keys, k.word(word)...)
	}
	return keys
}

// word returns the keys of a text without blanks: those of its parts if it is a name of several
// words (read-only), otherwise that of the whole (C++, .htaccess).
func (k *keyer) word(text string) (keys []string) {
	whole := ""
	k.z.Tokens([]byte(text), func(t analysis.Token) bool {
		if t.Whole && whole == "" {
			whole = string(t.Word)
		} else if !t.Whole {
			keys = append(keys, string(t.Word))
		}
		return true
	})
	if len(keys) < 2 && whole != "" {
		return []string{whole}
	}
	for i, w := range keys {
		if stems := k.stems.Stems(w); len(stems) > 0 {
			keys[i] = string(stems[0])
		} else {
			keys[i] = analysis.Plain(w)
		}
	}
	return keys
}

// wordsOfQuery returns the keys of all words that a query asks for.
func wordsOfQuery(q query.Query) (keys []string) {
	k := newKeyer(mainLanguage)
	for _, g := range q.Groups {
		for _, a := range g.Any {
			keys = append(keys, k.words(a.Text)...)
		}
	}
	return keys
}

// mainLanguage is the language by whose stems words are compared where none is named.
const mainLanguage = "en"
