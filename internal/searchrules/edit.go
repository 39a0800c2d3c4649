package searchrules

import (
	"bytes"
	"errors"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Way is what Edit does with a page.
type Way string

// The ways of Edit. Clear makes it neither pinned nor hidden.
const (
	Pin   Way = "pin"
	Hide  Way = "hide"
	Clear Way = "clear"
)

// Edit changes the text of a file of search rules, which may be empty: for exactly one query, a URL
// is pinned behind those that are already, or hidden, or neither. Comments are kept, and the rest
// of the text means the same, but may be indented in another way. An error says what is wrong with
// the query or the URL, or that the result would exceed a limit.
func Edit(text, typed, url string, way Way) (string, error) {
	u, err := canon.Parse(url)
	if err != nil {
		return "", err
	}
	words := wordsOfQuery(query.Parse(typed))
	if len(words) == 0 {
		return "", errors.New("the query has no words; results are pinned or hidden for a query with words")
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return "", err
	}
	if doc.Kind == 0 {
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return "", errors.New("the rules are no mapping; correct them first")
	}
	top.Style &^= yaml.FlowStyle // a {} becomes lines
	results := valueOf(top, "results")
	if results == nil || results.Kind != yaml.SequenceNode {
		dropKey(top, "results")
		results = &yaml.Node{Kind: yaml.SequenceNode}
		top.Content = append(top.Content, scalar("results"), results)
	}
	entry := entryOf(results, words)
	if entry == nil {
		entry = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar("query"), scalar(typed)}}
		results.Content = append(results.Content, entry)
	}
	for _, list := range []Way{Pin, Hide} {
		change(entry, string(list), string(u), list == way)
	}
	if valueOf(entry, string(Pin)) == nil && valueOf(entry, string(Hide)) == nil && valueOf(entry, "boost") == nil {
		results.Content = slices.DeleteFunc(results.Content, func(n *yaml.Node) bool { return n == entry })
	}
	if len(results.Content) == 0 {
		dropKey(top, "results")
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(&doc), enc.Close()); err != nil {
		return "", err
	}
	_, err = ParseFile(specName, b.String())
	return b.String(), err
}

func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// valueOf is the value of a key of a mapping, nil if it has none.
func valueOf(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

func dropKey(m *yaml.Node, key string) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content = slices.Delete(m.Content, i, i+2)
			return
		}
	}
}

// entryOf is the entry for exactly the query with these words, nil if there is none.
func entryOf(results *yaml.Node, words []string) *yaml.Node {
	for _, n := range results.Content {
		if n.Kind != yaml.MappingNode {
			continue
		}
		q, match := valueOf(n, "query"), valueOf(n, "match")
		if q != nil && (match == nil || match.Value == "exact") && slices.Equal(wordsOfQuery(query.Parse(q.Value)), words) {
			return n
		}
	}
	return nil
}

// change puts a URL into a list of an entry, or removes it. A list without a URL is removed.
func change(entry *yaml.Node, list, u string, in bool) {
	v := valueOf(entry, list)
	if v == nil {
		if !in {
			return
		}
		v = &yaml.Node{Kind: yaml.SequenceNode}
		entry.Content = append(entry.Content, scalar(list), v)
	}
	if v.Kind == yaml.ScalarNode { // one URL needs no list
		one := *v
		*v = yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{&one}}
	}
	is := func(n *yaml.Node) bool {
		have, err := canon.Parse(n.Value)
		return err == nil && string(have) == u
	}
	switch {
	case !in:
		v.Content = slices.DeleteFunc(v.Content, is)
	case !slices.ContainsFunc(v.Content, is):
		v.Content = append(v.Content, scalar(u))
	}
	if len(v.Content) == 0 {
		dropKey(entry, list)
	}
}
