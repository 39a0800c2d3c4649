package analysis

import (
	"strings"

	"github.com/blevesearch/snowballstem"
)

// Snowball has no stemmers for Czech and Polish. These are our own light stemmers: they remove the
// endings of nouns and adjectives in all cases, and undo how an ending changes the consonant before
// it or drops the last vowel. The idea is that of L. Dolamic and J. Savoy, "Indexing and stemming
// approaches for the Czech language" (2009). They work on words without accents, so that almost all
// words of a query that is typed without them have the same stems. Forms of verbs remain different
// words.

// light is a light stemmer.
type light struct {
	// endings are those of nouns and adjectives, longest first. The first that leaves shortest
	// letters is removed.
	endings []string
	// inner are endings that may be in front of the first one, or that look like endings but are
	// parts of words: kalendáře-m, but systém. They are removed from what is left, so that all
	// forms lose them.
	inner []string
	// consonants are replaced at the end of a stem, the first that matches. They alternate between
	// forms of a word: knize, kniha.
	consonants [][2]string
	// fixed are letters that do not alternate, although their plain forms do: klíč is not klik.
	fixed string
	// soft are replaced only if the ending ie was removed: dokumencie, dokument.
	soft [][2]string
	// vowel is a vowel that some forms drop between the last two consonants: stránek, stránka.
	vowel []string
}

const (
	shortest = 3 // letters of a stem without its ending
	longer   = 4 // letters of a stem whose end may change further
)

var czech = light{
	endings:    strings.Fields("emi eho emu ich ech ach ych ata iho imu imi ymi ami ama ove ovi em im um am ym mi ou a e i o u y"),
	inner:      []string{"ov", "uv", "em", "im", "um", "am", "ym"},
	consonants: [][2]string{{"ch", "ch"}, {"c", "k"}, {"z", "h"}, {"g", "h"}},
	fixed:      "čž",
	vowel:      []string{"e"},
}

var polish = light{
	endings:    strings.Fields("iami iach iego iemu owie ami ach ego emu ymi imi owi ych ich iej iem iom om em ow ie ia iu io ii ej ym im a e i o u y"),
	inner:      []string{"iom", "iem", "ow", "om", "em", "ym", "im"},
	soft:       [][2]string{{"nc", "nt"}, {"kc", "kt"}, {"pc", "pt"}, {"ksc", "kst"}},
	consonants: [][2]string{{"ch", "ch"}, {"sc", "sc"}, {"rz", "r"}, {"dz", "d"}, {"c", "k"}},
	vowel:      []string{"ie", "e"},
}

// stem is the stem of a word in lower case. A word without one is its own.
func (l *light) stem(word string) string {
	s, ending := l.cut(strings.ReplaceAll(Plain(word), "ł", "l"), l.endings, shortest)
	s, _ = l.cut(s, l.inner, longer)
	if len(s) < longer {
		return s
	}
	if ending == "ie" {
		s = replaceEnd(s, l.soft)
	}
	if letters := []rune(word); len(letters) < len(s) || !strings.ContainsRune(l.fixed, letters[len(s)-1]) {
		s = replaceEnd(s, l.consonants)
	}
	// Of CeC and ...CC the vowel is removed if another vowel remains, because a stem of consonants
	// alone would be that of many words.
	for _, v := range l.vowel {
		if head, last := s[:len(s)-1], s[len(s)-1:]; strings.HasSuffix(head, v) && !isVowel(last[0]) {
			head = head[:len(head)-len(v)]
			if len(head) >= shortest-1 && !isVowel(head[len(head)-1]) && strings.ContainsAny(head, "aeiouy") {
				return head + last
			}
		}
	}
	return s
}

// cut removes the first ending that leaves a number of letters.
func (l *light) cut(word string, endings []string, leave int) (stem, ending string) {
	for _, e := range endings {
		if len(word) >= len(e)+leave && strings.HasSuffix(word, e) {
			return word[:len(word)-len(e)], e
		}
	}
	return word, ""
}

// replaceEnd replaces the end of a word by the first pair that matches.
func replaceEnd(word string, pairs [][2]string) string {
	for _, p := range pairs {
		if stem, ok := strings.CutSuffix(word, p[0]); ok {
			return stem + p[1]
		}
	}
	return word
}

func isVowel(c byte) bool { return strings.IndexByte("aeiouy", c) >= 0 }

// snowball makes a stemmer like those of Snowball.
func (l *light) snowball(env *snowballstem.Env) bool {
	env.SetCurrent(l.stem(env.Current()))
	return true
}
