package siterules

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// reader reads values of the file and collects their mistakes.
type reader struct{ mistakes }

// each calls do for the keys of a mapping. A key that occurs twice is a mistake.
func (r *reader) each(n *yaml.Node, what string, do func(key string, k, v *yaml.Node)) {
	if !r.plain(n) {
		r.at(n, "%s: %s", what, references)
		return
	}
	if n.Kind != yaml.MappingNode {
		r.at(n, `%s: lines such as "name: value" are expected below it`, what)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || !r.plain(k) {
			r.at(k, "%s: a name is expected here", what)
			continue
		}
		if line := seen[k.Value]; line > 0 {
			r.at(k, "%s is given twice, first in line %d; merge them", k.Value, line)
			continue
		}
		seen[k.Value] = k.Line
		do(k.Value, k, v)
	}
}

const references = `"&", "*" and "!" have a meaning in YAML that is not supported here; put a value into quotes, and repeat what is alike`

// plain reports whether a node uses none of YAML's references and types.
func (r *reader) plain(n *yaml.Node) bool {
	return n.Kind != yaml.AliasNode && n.Anchor == "" && n.Style&yaml.TaggedStyle == 0
}

// text reads a value. It returns "" after a mistake.
func (r *reader) text(n *yaml.Node, what string) string {
	switch {
	case !r.plain(n):
		r.at(n, "%s: %s", what, references)
	case n.Kind != yaml.ScalarNode:
		r.at(n, "%s: one value is expected here", what)
	case n.Value == "" || n.Tag == "!!null":
		r.at(n, "%s is empty; give it a value, or leave the line out", what)
	case len(n.Value) > MaxText:
		r.at(n, "%s has %d bytes; at most %d are allowed", what, len(n.Value), MaxText)
	case !utf8.ValidString(n.Value) || strings.ContainsFunc(n.Value, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.at(n, "%s contains a line break or another control character", what)
	default:
		return n.Value
	}
	return ""
}

// list calls do for the values of a list. One value needs no brackets.
func (r *reader) list(n *yaml.Node, what string, do func(text string, n *yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		if text := r.text(n, what); text != "" {
			do(text, n)
		}
		return
	}
	if len(n.Content) > MaxList {
		r.at(n, "%s has %d elements; at most %d are allowed", what, len(n.Content), MaxList)
		return
	}
	for _, c := range n.Content {
		if text := r.text(c, what); text != "" {
			do(text, c)
		}
	}
}

func (r *reader) boolean(n *yaml.Node, what string) bool {
	switch text := r.text(n, what); text {
	case "true":
		return true
	case "", "false":
	default:
		r.at(n, "%s %q is neither true nor false", what, text)
	}
	return false
}

func (r *reader) number(n *yaml.Node, what string, least int64) int64 {
	text := r.text(n, what)
	if text == "" {
		return least
	}
	i, err := strconv.ParseInt(text, 10, 32)
	if err != nil || i < least {
		r.at(n, "%s %q is not a whole number from %d; use for example 100", what, text, least)
		return least
	}
	return i
}

// MaxDelay is the longest delay that a file may ask for.
const MaxDelay = 24 * time.Hour

func (r *reader) duration(n *yaml.Node, what string) time.Duration {
	text := r.text(n, what)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		r.at(n, "%s %q is not a time with its unit (ms, s, m, h); use for example 5s", what, text)
	case d <= 0:
		r.at(n, "%s %q must be more than 0; the delay that a site asks for is kept anyway", what, text)
	case d > MaxDelay:
		r.at(n, "%s %q is longer than a day; use exclude for what is not to be fetched", what, text)
	default:
		return d
	}
	return 0
}
