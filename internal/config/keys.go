package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/settings"
)

// field is one setting of a command. It is a row of internal/settings, or a struct field with tags,
// as in
//
//	Visits int `key:"visits" group:"Limits,common" usage:"visit ‹N› hosts at once" example:"256"`
//
// `group` is the heading of the flag in help, one of Groups. With "common" behind it, help shows
// the flag without --help-all. `choices:"day week"` lists the only words that are accepted; errors,
// the {} in help and shell completion use it. `words:"auto plain"` lists words only for shell
// completion, for a setting that is checked elsewhere. `flag:"-"` makes a setting without a flag,
// and `flag:"data"` gives the flag another name.
type field struct {
	key, usage, example string
	group               string        // heading of the flag in help
	common              bool          // shown in help without --help-all
	choices             []string      // none: any value
	words               []string      // for shell completion, besides choices
	flag                string        // "": none
	value               reflect.Value // the variable to fill
}

// tagName is the struct tag that names a setting. `key:",squash"` stands for the settings of an
// embedded struct.
const tagName = "key"

// fieldsOf lists the settings of the struct that into points to, including those of embedded
// structs.
func fieldsOf(into any) []field {
	return appendFields(nil, reflect.ValueOf(into).Elem())
}

func appendFields(fs []field, v reflect.Value) []field {
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		key := sf.Tag.Get(tagName)
		switch key {
		case ",squash":
			if rows, ok := v.Field(i).Addr().Interface().(interface{ fields() []field }); ok {
				fs = append(fs, rows.fields()...)
				continue
			}
			fs = appendFields(fs, v.Field(i))
		case "", "-":
			panic(fmt.Sprintf("config: %s.%s has no key", v.Type(), sf.Name))
		default:
			fs = append(fs, fieldOf(key, sf.Tag, v.Field(i)))
		}
	}
	return fs
}

// fieldOf returns the setting of a struct field. If it is also a setting of a crawl, the row in the
// table of settings supplies what the tag leaves out.
func fieldOf(key string, tag reflect.StructTag, value reflect.Value) field {
	f := field{key: key, flag: key, value: value}
	if row := settings.Find(key); row != nil {
		f = rowField(row, value)
	}
	if flag := tag.Get("flag"); flag != "" {
		f.flag = strings.TrimPrefix(flag, "-")
	}
	if group := tag.Get("group"); group != "" {
		var how string
		f.group, how, _ = strings.Cut(group, ",")
		f.common = how == "common"
	}
	if usage := tag.Get("usage"); usage != "" {
		f.choices = strings.Fields(tag.Get("choices"))
		f.words = strings.Fields(tag.Get("words"))
		f.example = tag.Get("example")
		f.usage = strings.ReplaceAll(usage, "{}", orWords(f.choices))
	}
	return f
}

// rowField returns a setting of a crawl as its row in the table describes it.
func rowField(row *settings.Setting, value reflect.Value) field {
	return field{
		key: row.Name, flag: row.Name, usage: strings.ReplaceAll(row.Usage, "{}", orWords(row.Choices)), example: row.Example,
		group: row.Group, common: row.Common, choices: row.Choices, words: row.Words, value: value,
	}
}

// commands returns the settings of all commands that may share a file or an environment.
func commands() []any {
	return []any{NewCrawl(), NewSeed(), NewSet(), NewReader(), NewDemo(), NewFrontier(), NewFetcher(), NewIndexer(), NewFeed(), NewFeeder(), NewRenderer(), NewDownload(), NewServe(), NewDashboard(), NewRUP(), NewMobileCheck(), NewSitesTest(), NewRupd(), NewAgenthost(), NewIdentity()}
}

// Keys returns the names of the settings of all commands, sorted.
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

// orWords joins words to a phrase: a, b or c.
func orWords(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// envName returns the environment variable of a key.
func envName(key string) string {
	return envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// dashedEnvName returns the same variable with dashes, which the settings of a container allow in a
// name. It is accepted too.
func dashedEnvName(key string) string { return envPrefix + "_" + strings.ToUpper(key) }

// keyOf returns the key in our spelling. A file may have "_" instead of "-".
func keyOf(written string) string { return strings.ReplaceAll(written, "_", "-") }

// text returns the value as a person would type it.
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

// shortDuration leaves out the zero units at the end of time.Duration.String: 1h instead of 1h0m0s.
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

// Nearest returns the candidate that is most similar to name, or "" if none is similar.
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
