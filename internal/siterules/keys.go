package siterules

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/hours"
	"github.com/curtsy/curtsy/internal/rulefile"
	"github.com/curtsy/curtsy/pkg/usage"
)

// setting is a key of an entry.
type setting struct {
	name string
	// host says that it is about a whole host, so that an entry with a path cannot have it.
	host bool
	read func(p *parser, e *entry, v *yaml.Node, name string)
	// take copies the setting from the most specific entry that has it. Nil: it is merged in
	// another way, or is about the whole file.
	take func(s, from *Site)
}

// settings are the keys of an entry. Some have the names of settings of a crawl, because they
// narrow those for a site.
var settings = []setting{
	{"include", false, func(p *parser, e *entry, v *yaml.Node, name string) { e.site.include = p.patterns(v, name) },
		func(s, from *Site) { s.include, s.includes = from.include, from.entry }},
	{"exclude", false, func(p *parser, e *entry, v *yaml.Node, name string) { e.site.exclude = p.patterns(v, name) },
		func(s, from *Site) { s.exclude = from.exclude }},
	{"subdomains", true, (*parser).subdomains, func(s, from *Site) { s.Subdomains = from.Subdomains }},
	{"types", false, func(p *parser, e *entry, v *yaml.Node, name string) {
		e.site.Types = p.words(v, name, crawl.TypeNames())
	},
		func(s, from *Site) { s.Types = from.Types }},
	{"purposes", false, func(p *parser, e *entry, v *yaml.Node, name string) {
		e.site.Purposes = p.words(v, name, usage.PurposeNames())
	}, func(s, from *Site) { s.Purposes = from.Purposes }},
	{"delay", true, func(p *parser, e *entry, v *yaml.Node, name string) { e.site.Delay = p.duration(v, name) }, nil},
	{"hours", true, (*parser).hours, func(s, from *Site) { s.Hours = from.Hours }},
	{"max-depth", false, func(p *parser, e *entry, v *yaml.Node, name string) { e.site.MaxDepth = new(int(p.Number(v, name, 0))) },
		func(s, from *Site) { s.MaxDepth = from.MaxDepth }},
	{"max-pages", true, func(p *parser, e *entry, v *yaml.Node, name string) { e.site.MaxPages = p.Number(v, name, 1) },
		func(s, from *Site) { s.MaxPages = from.MaxPages }},
	{"render", false, (*parser).render, func(s, from *Site) { s.Render = from.Render }},
	{"seeds", false, func(p *parser, e *entry, v *yaml.Node, name string) { e.site.seeds = p.urls(v, name) }, nil},
	{"sitemaps", false, func(p *parser, e *entry, v *yaml.Node, name string) { e.site.sitemaps = p.urls(v, name) }, nil},
	{"fields", false, (*parser).fields, nil},
	{"content", false, (*parser).content, nil},
	{"skip", false, func(p *parser, e *entry, v *yaml.Node, _ string) { e.site.skip = p.conditions(v) },
		func(s, from *Site) { s.skip = from.skip }},
}

// contentParts are merged as keys are, one by one.
var contentParts = []setting{
	{"main", false, nil, func(s, from *Site) { s.main = from.main }},
	{"drop", false, nil, func(s, from *Site) { s.drop = from.drop }},
	{"title", false, nil, func(s, from *Site) { s.title = from.title }},
	{"description", false, nil, func(s, from *Site) { s.description = from.description }},
}

// settingNames are the names of some settings.
func settingNames(list []setting) (names []string) {
	for _, s := range list {
		names = append(names, s.name)
	}
	return names
}

func (p *parser) patterns(v *yaml.Node, name string) (list []*pattern) {
	p.List(v, name, func(text string, n *yaml.Node) {
		if g := p.pattern(text, n, name); g != nil {
			list = append(list, g)
		}
	})
	return list
}

func (p *parser) subdomains(e *entry, v *yaml.Node, name string) {
	e.site.Subdomains = p.Boolean(v, name)
	if e.site.Subdomains && e.host.IsBelow() {
		p.At(v, "%s: %s covers the names below it already; leave it out", name, strconv.Quote(e.text))
	}
}

func (p *parser) hours(e *entry, v *yaml.Node, name string) {
	if e.site.Hours = p.Text(v, name); e.site.Hours == "" {
		return
	}
	if _, err := hours.Parse(e.site.Hours, ""); err != nil {
		p.At(v, "%s: %v", name, err)
	}
}

// renders are the words of --render.
var renders = []string{crawl.RenderNever, crawl.RenderAuto, crawl.RenderAlways}

func (p *parser) render(e *entry, v *yaml.Node, name string) {
	e.site.Render = p.Text(v, name)
	if !slices.Contains(renders, e.site.Render) && e.site.Render != "" {
		p.At(v, "%s: unknown word %q; %s", name, e.site.Render, rulefile.Suggest(e.site.Render, renders))
	}
}
