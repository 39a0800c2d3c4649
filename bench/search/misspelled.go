package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"os/exec"
	"regexp"
	"strings"
)

// slips are typing errors at position i of a word, after its first letter.
var slips = []struct {
	name string
	make func(w string, i int) string
}{
	{"a letter left out", func(w string, i int) string { return w[:i] + w[i+1:] }},
	{"a letter twice", func(w string, i int) string { return w[:i] + w[i:i+1] + w[i:] }},
	{"two swapped", func(w string, i int) string { return w[:i] + w[i+1:i+2] + w[i:i+1] + w[i+2:] }},
	{"another letter", func(w string, i int) string { return w[:i] + string('a'+(w[i]-'a'+1)%26) + w[i+1:] }},
}

var longWord = regexp.MustCompile(`\b[a-z]{6,}\b`)

// slip misspells the longest word of a query; ok is false if none is long enough.
func slip(text string, kind int) (out string, ok bool) {
	best := []int{0, 0}
	for _, at := range longWord.FindAllStringIndex(text, -1) {
		if at[1]-at[0] > best[1]-best[0] {
			best = at
		}
	}
	w := text[best[0]:best[1]]
	if w == "" {
		return "", false
	}
	h := fnv.New32a()
	fmt.Fprint(h, text, kind)
	i := 1 + int(h.Sum32()%uint32(len(w)-2))
	if bad := slips[kind].make(w, i); bad != w { // two equal letters swapped are no error
		return text[:best[0]] + bad + text[best[1]:], true
	}
	return "", false
}

// verdict counts what was suggested.
type verdict struct{ right, other, none int }

func (v *verdict) add(suggested, right string) {
	switch {
	case suggested == "":
		v.none++
	case strings.EqualFold(suggested, right):
		v.right++
	default:
		v.other++
	}
}

// misspelled runs the queries with a typing error in them, and without, in all manuals together,
// and counts what is suggested: by us, and by a rival that replaces each unknown word with the
// nearest known one, and of several with the most frequent.
func (s settings) misspelled(ctx context.Context, w io.Writer, qs []query) error {
	rival := vocabularyOf(s.pages)
	fmt.Fprintf(w, "%-20s %7s | ours: right other none | rival: right other none\n", "", "queries")
	for kind := -1; kind < len(slips); kind++ {
		name, n := "as they are", 0
		var ours, theirs verdict
		for _, q := range qs {
			asked := q.text
			if kind >= 0 {
				var ok bool
				if asked, ok = slip(q.text, kind); !ok {
					continue
				}
				name = slips[kind].name
			}
			n++
			suggested, err := s.suggested(ctx, asked)
			if err != nil {
				return err
			}
			ours.add(suggested, q.text)
			rivals := rival.suggest(asked)
			theirs.add(rivals, q.text)
			if s.verbose && !q.aside() && !strings.EqualFold(suggested, q.text) && (kind >= 0 || suggested != "") {
				fmt.Fprintf(w, "  %q: %q, rival %q\n", asked, suggested, rivals)
			}
		}
		fmt.Fprintf(w, "%-20s %7d | %11d %5d %4d | %12d %5d %4d\n", name, n, ours.right, ours.other, ours.none, theirs.right, theirs.other, theirs.none)
	}
	return nil
}

// suggested returns the query that `curtsy search` suggests instead of another.
func (s settings) suggested(ctx context.Context, text string) (string, error) {
	cmd := exec.CommandContext(ctx, s.binary(), "search", "--limit", "3", "--dir", s.data(), "--", text)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("search %q: %w\n%s", text, err, stderr.Bytes())
	}
	_, after, _ := strings.Cut("\n"+stderr.String(), "\ndid you mean: ")
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(line), nil
}

// vocabulary has the number of pages with each word.
type vocabulary map[string]int

var anyWord = regexp.MustCompile(`[\p{L}\p{N}_]+`)

func vocabularyOf(pages []page) vocabulary {
	v := vocabulary{}
	for _, p := range pages {
		seen := map[string]bool{}
		for _, w := range anyWord.FindAllString(strings.ToLower(p.Title+" "+p.Text), -1) {
			if !seen[w] {
				seen[w] = true
				v[w]++
			}
		}
	}
	return v
}

// suggest returns "" if all words are known, or nothing is similar to those that are not.
func (v vocabulary) suggest(text string) string {
	changed := false
	out := anyWord.ReplaceAllStringFunc(text, func(word string) string {
		low := strings.ToLower(word)
		if v[low] > 0 || len(low) < 4 {
			return word
		}
		best, off, pages := word, 3, 0
		for w, n := range v {
			if d := len(w) - len(low); d > 2 || d < -2 {
				continue
			}
			if d := edits(low, w); d < off || d == off && n > pages {
				best, off, pages = w, d, n
			}
		}
		changed = changed || best != word
		return best
	})
	if !changed {
		return ""
	}
	return out
}

// edits is the Levenshtein distance, where two swapped letters count once.
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
