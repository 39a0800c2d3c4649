package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// field is one setting of a command: a struct field and what its tags say, as in
//
//	MaxPages int64 `key:"max-pages" group:"Limits,common" usage:"stop after ‹N›" example:"500"`
//
// `group` is the heading under which help shows the flag, one of Groups; "common" behind it says
// that help shows it without being asked for all flags. `choices:"day week"` lists the only words
// that are accepted; errors, the {} in help, and shell completion use it. `words:"auto plain"`
// lists words for shell completion alone, for a setting that is checked elsewhere. `flag:"-"` makes
// a setting without a flag, and `flag:"data"` gives the flag another name.
type field struct {
	key, usage, example string
	group               string        // heading of the flag in help
	common              bool          // shown in help without --help-all
	choices             []string      // none: any value
	words               []string      // that shells complete it to, beside choices
	flag                string        // "": none
	value               reflect.Value // of the struct to fill
}

// tagName is the struct tag that names a setting; `key:",squash"` takes in the settings of
// an embedded struct.
const tagName = "key"

// fieldsOf lists the settings of the struct that into points to, embedded ones included.
func fieldsOf(into any) []field {
	return appendFields(nil, reflect.ValueOf(into).Elem())
}

func appendFields(fs []field, v reflect.Value) []field {
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		key := sf.Tag.Get(tagName)
		switch key {
		case ",squash":
			fs = appendFields(fs, v.Field(i))
		case "", "-":
			panic(fmt.Sprintf("config: %s.%s has no key", v.Type(), sf.Name))
		default:
			flag := cmp.Or(sf.Tag.Get("flag"), key)
			if flag == "-" {
				flag = ""
			}
			choices := strings.Fields(sf.Tag.Get("choices"))
			usage := strings.ReplaceAll(sf.Tag.Get("usage"), "{}", orWords(choices))
			group, how, _ := strings.Cut(sf.Tag.Get("group"), ",")
			fs = append(fs, field{key: key, usage: usage, example: sf.Tag.Get("example"), group: group, common: how == "common",
				choices: choices, words: strings.Fields(sf.Tag.Get("words")), flag: flag, value: v.Field(i)})
		}
	}
	return fs
}

// commands are the structs of all commands that a file or an environment may be meant for.
func commands() []any {
	return []any{NewCrawl(), NewSeed(), NewSet(), NewReader(), NewDemo(), NewFrontier(), NewFetcher(), NewIndexer(), NewDownload(), NewServe(), NewDashboard(), NewRUP(), NewRupd(), NewIdentity()}
}

// Keys lists the settings of all commands, sorted.
func Keys() []string {
	var keys []string
	for _, c := range commands() {
		for _, f := range fieldsOf(c) {
			keys = append(keys, f.key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// choicesOf are the words accepted for key in the struct into points to.
func choicesOf(into any, key string) []string {
	for _, f := range fieldsOf(into) {
		if f.key == key {
			return f.choices
		}
	}
	return nil
}

// orWords lists words as a sentence does: a, b or c.
func orWords(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// envName is the variable that sets key.
func envName(key string) string {
	return envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// dashedEnvName is the same variable as somebody may write it in a container's settings, where a
// name may contain "-". It is accepted too.
func dashedEnvName(key string) string { return envPrefix + "_" + strings.ToUpper(key) }

// keyOf is a key as we write it: in a file, "_" is accepted for "-".
func keyOf(written string) string { return strings.ReplaceAll(written, "_", "-") }

// text is a setting's value as a person would type it.
func (f field) text() string {
	switch v := f.value.Interface().(type) {
	case time.Duration:
		return shortDuration(v)
	case []string:
		return strings.Join(v, " ")
	case Size:
		return strings.ReplaceAll(v.String(), ",", "")
	default:
		return fmt.Sprint(v)
	}
}

// shortDuration drops the "0s" that time.Duration.String leaves at the end of
// whole minutes and hours.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Nearest is the candidate most like name, or "" when none is similar.
func Nearest(name string, candidates []string) string {
	best, least := "", len(name)/3+2
	for _, c := range candidates {
		if d := Distance(name, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// Distance counts the letters to insert, delete or replace to turn a into b.
func Distance(a, b string) int {
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
