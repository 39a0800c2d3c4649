package rulefile

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The limits of values. A file with more is refused.
const (
	MaxText = 1 << 10 // bytes of a value or a name
	MaxList = 256     // elements of a list
)

// Reader reads values of a file and collects their mistakes. It must not be used concurrently.
type Reader struct{ Mistakes }

// Each calls do for the keys of a mapping. A key that occurs twice is a mistake.
func (r *Reader) Each(n *yaml.Node, what string, do func(key string, k, v *yaml.Node)) {
	if !r.Plain(n) {
		r.At(n, "%s: %s", what, References)
		return
	}
	if n.Kind != yaml.MappingNode {
		r.At(n, `%s: lines such as "name: value" are expected below it`, what)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || !r.Plain(k) {
			r.At(k, "%s: a name is expected here", what)
			continue
		}
		if line := seen[k.Value]; line > 0 {
			r.At(k, "%s is given twice, first in line %d; merge them", k.Value, line)
			continue
		}
		seen[k.Value] = k.Line
		do(k.Value, k, v)
	}
}

// References is the mistake of a node that uses references or types of YAML.
const References = `"&", "*" and "!" have a meaning in YAML that is not supported here; put a value into quotes, and repeat what is alike`

// Plain reports whether a node uses none of YAML's References and types.
func (r *Reader) Plain(n *yaml.Node) bool {
	return n.Kind != yaml.AliasNode && n.Anchor == "" && n.Style&yaml.TaggedStyle == 0
}

// Text reads a value. It returns "" after a mistake.
func (r *Reader) Text(n *yaml.Node, what string) string {
	switch {
	case !r.Plain(n):
		r.At(n, "%s: %s", what, References)
	case n.Kind != yaml.ScalarNode:
		r.At(n, "%s: one value is expected here", what)
	case n.Value == "" || n.Tag == "!!null":
		r.At(n, "%s is empty; give it a value, or leave the line out", what)
	case len(n.Value) > MaxText:
		r.At(n, "%s has %d bytes; at most %d are allowed", what, len(n.Value), MaxText)
	case !utf8.ValidString(n.Value) || strings.ContainsFunc(n.Value, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.At(n, "%s contains a line break or another control character", what)
	default:
		return n.Value
	}
	return ""
}

// List calls do for the values of a list. One value needs no brackets.
func (r *Reader) List(n *yaml.Node, what string, do func(text string, n *yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		if text := r.Text(n, what); text != "" {
			do(text, n)
		}
		return
	}
	if len(n.Content) > MaxList {
		r.At(n, "%s has %d elements; at most %d are allowed", what, len(n.Content), MaxList)
		return
	}
	for _, c := range n.Content {
		if text := r.Text(c, what); text != "" {
			do(text, c)
		}
	}
}

// Boolean reads true or false. It returns false after a mistake.
func (r *Reader) Boolean(n *yaml.Node, what string) bool {
	switch text := r.Text(n, what); text {
	case "true":
		return true
	case "", "false":
	default:
		r.At(n, "%s %q is neither true nor false", what, text)
	}
	return false
}

// Number reads a whole number that is not below least. It returns least after a mistake.
func (r *Reader) Number(n *yaml.Node, what string, least int64) int64 {
	text := r.Text(n, what)
	if text == "" {
		return least
	}
	i, err := strconv.ParseInt(text, 10, 32)
	if err != nil || i < least {
		r.At(n, "%s %q is not a whole number from %d; use for example 100", what, text, least)
		return least
	}
	return i
}

// Unknown adds the mistake of a key that does not exist: of names what has the key, and keys are
// those that do exist.
func (r *Reader) Unknown(k *yaml.Node, of string, keys []string) {
	r.At(k, "unknown key %q of %s; %s", k.Value, of, Suggest(k.Value, keys))
}
