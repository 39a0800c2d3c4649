package siterules

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// named is a line of map: what is written instead of a text that an expression finds.
type named struct {
	re *regexp.Regexp
	// to is a template of regexp.Expand: $1 is the first group, $$ a dollar sign.
	to string
}

// reference is a dollar sign of a template, and what Expand reads behind it.
var reference = regexp.MustCompile(`\$(\$|\w+|\{\w*\}?)?`)

// named reads the value of map. The lines keep their order, because the first that fits counts. It
// is called when the type of the field is known.
func (r *reader) named(f *field, v *yaml.Node) []named {
	list := []named{}
	r.Each(v, "map of field "+f.name, func(expr string, k, v *yaml.Node) {
		if r.Text(k, "map") == "" {
			return
		}
		re, to := r.regexp(expr, k, 0, "map", `'^Chapter (\d+)'`), r.Text(v, "map")
		if re == nil || to == "" {
			return
		}
		fixed := true
		for _, m := range reference.FindAllStringSubmatch(to, -1) {
			if m[1] == "$" {
				continue
			}
			fixed = false
			group := strings.Trim(m[1], "{}")
			number, err := strconv.Atoi(group)
			if (err != nil || number > re.NumSubexp()) && (group == "" || !slices.Contains(re.SubexpNames(), group)) {
				r.At(v, "map %q: %s is no group of `%s`; write $1 for the first group, ${1}s in front of an s, and $$ for a dollar sign", to, m[0], expr)
				return
			}
		}
		if value := strings.ReplaceAll(to, "$$", "$"); fixed {
			if _, ok, cut := canonical(f.kind, f.formats, value); !ok || cut {
				r.At(v, "map %q of field %s is not of type %s%s", to, f.name, f.kind, typeHint(f.kind))
			}
		}
		list = append(list, named{re, to})
	})
	if v.Kind == yaml.MappingNode && len(v.Content) == 0 {
		r.At(v, "map is empty; write for example {'^SQL Commands': command}, or leave it out")
	}
	if len(list) > MaxMap {
		r.At(v, "map has %d lines; at most %d are allowed", len(list), MaxMap)
	}
	return list
}

// rename returns what the first line that fits makes of a text, "" if none fits. Only the beginning
// of a long text is compared, because each line may have to read it.
func rename(list []named, text string) string {
	text, _ = shorten(text, MaxKeyword)
	for _, n := range list {
		if at := n.re.FindStringSubmatchIndex(text); at != nil {
			return string(n.re.ExpandString(nil, n.to, text, at))
		}
	}
	return ""
}
