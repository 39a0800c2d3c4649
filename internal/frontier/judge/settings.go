package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Settings are settings of the spec that decide outside of Judge: how a host is resolved, which
// addresses may be used, and under which name we act.
type Settings struct {
	AllowPrivate bool     `json:"allow_private,omitempty"`
	Contact      bool     `json:"contact,omitempty"`
	Agent        string   `json:"agent,omitempty"`
	Resolve      []string `json:"resolve,omitempty"`
	Scope        uint64   `json:"scope,omitempty"` // Spec.ScopeHash
	// Purposes is Spec.PurposeSet; 0: search, from a version without other purposes.
	Purposes usage.Purposes `json:"purposes,omitempty"`
	// Types is Spec.TypeSet; 0: the default, from a version without other types.
	Types crawl.Types `json:"types,omitempty"`
	Sites uint64      `json:"sites,omitempty"` // Spec.SitesURLHash
	// Render is Spec.Render; empty: never, also from a version that renders nothing.
	Render string `json:"render,omitempty"`
}

// Settings are the settings of the spec whose change requires deciding about URLs again.
func (j *Judge) Settings() *Settings {
	s := &j.Spec
	return &Settings{s.AllowPrivate, s.Contact != "", s.Agent, slices.Clone(s.Resolve), s.ScopeHash(), s.PurposeSet(), s.TypeSet(), s.SitesURLHash(), s.Render}
}

// Same reports whether replacing one by the other has no consequences. Changes of the scope are
// covered by Fingerprint.
func (a *Settings) Same(b *Settings) bool {
	return a.AllowPrivate == b.AllowPrivate && a.Contact == b.Contact && a.Agent == b.Agent && slices.Equal(a.Resolve, b.Resolve) && a.SamePurposes(b) && a.SameTypes(b) && a.Sites == b.Sites && a.Render == b.Render
}

// SamePurposes reports whether both have the same purposes.
func (a *Settings) SamePurposes(b *Settings) bool { return a.purposes() == b.purposes() }

func (a *Settings) purposes() usage.Purposes {
	if a.Purposes == 0 {
		return usage.PurposesOf(usage.Search)
	}
	return a.Purposes
}

// SameTypes reports whether both have the same types.
func (a *Settings) SameTypes(b *Settings) bool {
	return cmp.Or(a.Types, crawl.DefaultTypes) == cmp.Or(b.Types, crawl.DefaultTypes)
}

// Resolves lists the entries of Resolve that apply to a host.
func (a *Settings) Resolves(h canon.Host) (to []string) {
	for _, r := range a.Resolve {
		name, _, _ := strings.Cut(strings.ToLower(r), "=")
		suffix, wild := strings.CutPrefix(name, "*")
		if name == string(h) || wild && strings.HasSuffix(string(h), suffix) {
			to = append(to, r)
		}
	}
	return to
}

// Renders reports whether the scripts of a page that needs them are run.
func (j *Judge) Renders(u canon.URL) bool {
	mode := j.Spec.Render
	if site := j.Sites.For(u); site != nil {
		mode = cmp.Or(site.Render, mode)
	}
	return cmp.Or(mode, crawl.RenderNever) != crawl.RenderNever
}
