package crawl

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// PageRules are the keys of an entry of site rules that decide only about pages that were fetched.
// All others may change a decision about a URL. Fields do so as well if a page is skipped because
// of a field. A test in package siterules compares the list with the table of keys.
var PageRules = []string{"fields", "content"}

// SitesText identifies what the site rules say that may change a decision about a URL. It is empty
// if they say nothing of that kind.
func (s *Spec) SitesText() string {
	if s.Sites == "" {
		return ""
	}
	reduced.mu.Lock()
	defer reduced.mu.Unlock()
	if reduced.sites != s.Sites {
		reduced.sites, reduced.text = s.Sites, sitesText(s.Sites)
	}
	return reduced.text
}

// reduced is the last SitesText. All specs of a process mostly have the same rules, and are asked
// for it with each sitemap.
var reduced struct {
	mu          sync.Mutex
	sites, text string
}

// SitesURLHash is a hash of SitesText; 0 if that is empty.
func (s *Spec) SitesURLHash() uint64 {
	if text := s.SitesText(); text != "" {
		return hashOf(text)
	}
	return 0
}

// sitesText is SitesText without the memory. Of a file that cannot be read as one of rules,
// everything counts.
func sitesText(text string) string {
	var file yaml.Node
	if err := yaml.Unmarshal([]byte(text), &file); err != nil || file.Kind != yaml.DocumentNode {
		return text
	}
	sites := valueOf(file.Content[0], "sites")
	if sites == nil || !plain(&file) {
		return text
	}
	var b strings.Builder
	withFields := skipsByField(sites)
	for i := 0; i+1 < len(sites.Content); i += 2 {
		entry := sites.Content[i+1]
		var own strings.Builder
		for j := 0; j+1 < len(entry.Content); j += 2 {
			key := entry.Content[j].Value
			if slices.Contains(PageRules, key) && (key != "fields" || !withFields) {
				continue
			}
			fmt.Fprintf(&own, "%q", key)
			write(&own, entry.Content[j+1])
		}
		if own.Len() > 0 { // an entry that says nothing changes nothing
			fmt.Fprintf(&b, "%q{%s}", sites.Content[i].Value, &own)
		}
	}
	return b.String()
}

// skipsByField reports whether an entry skips pages because of a field.
func skipsByField(sites *yaml.Node) bool {
	for i := 1; i < len(sites.Content); i += 2 {
		if skip := valueOf(sites.Content[i], "skip"); skip != nil {
			for _, condition := range skip.Content {
				if valueOf(condition, "field") != nil {
					return true
				}
			}
		}
	}
	return false
}

// valueOf is the value of a key, or nil.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// plain reports whether no part refers to another one. Rules that do are not accepted.
func plain(n *yaml.Node) bool {
	return n.Kind != yaml.AliasNode && n.Anchor == "" && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return !plain(c) })
}

// write writes a value without its form: comments, quotes and indentation do not count.
func write(b *strings.Builder, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		fmt.Fprintf(b, "=%s%q", n.Tag, n.Value)
		return
	}
	fmt.Fprintf(b, "%d(", n.Kind)
	for _, c := range n.Content {
		write(b, c)
	}
	b.WriteByte(')')
}
