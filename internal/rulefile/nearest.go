package rulefile

import "strings"

// Suggest names the word with the most similar spelling to what was typed, or all words. It is a
// phrase for the end of a message, such as "did you mean title?".
func Suggest(typed string, words []string) string {
	best, least := "", len(typed)/3+2
	for _, w := range words {
		if d := distance(strings.ToLower(typed), w); d < least {
			best, least = w, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "use " + orList(words)
}

// distance counts the characters to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// orList joins words to a phrase: a, b or c.
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
