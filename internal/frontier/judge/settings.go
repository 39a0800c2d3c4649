package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Settings are those of the spec that others than judge go by: where a host is looked for, who may
// be dialled, as whom.
type Settings struct {
	AllowPrivate bool     `json:"allow_private,omitempty"`
	Contact      bool     `json:"contact,omitempty"`
	Agent        string   `json:"agent,omitempty"`
	Resolve      []string `json:"resolve,omitempty"`
	Scope        uint64   `json:"scope,omitempty"` // Spec.ScopeHash
	// Purposes is Spec.PurposeSet; 0: search, from before others could be said.
	Purposes usage.Purposes `json:"purposes,omitempty"`
	// Types is Spec.TypeSet; 0: the default, from before others could be said.
	Types crawl.Types `json:"types,omitempty"`
}

// Settings are those of the spec whose change has URLs judged anew.
func (j *Judge) Settings() *Settings {
	s := &j.Spec
	return &Settings{s.AllowPrivate, s.Contact != "", s.Agent, slices.Clone(s.Resolve), s.ScopeHash(), s.PurposeSet(), s.TypeSet()}
}

// Same reports whether nothing follows from one taking the place of the other. What follows from
// another scope is said by the fingerprint.
func (a *Settings) Same(b *Settings) bool {
	return a.AllowPrivate == b.AllowPrivate && a.Contact == b.Contact && a.Agent == b.Agent && slices.Equal(a.Resolve, b.Resolve) && a.SamePurposes(b) && a.SameTypes(b)
}

// SamePurposes reports whether both are for the same.
func (a *Settings) SamePurposes(b *Settings) bool { return a.purposes() == b.purposes() }

func (a *Settings) purposes() usage.Purposes {
	if a.Purposes == 0 {
		return usage.PurposesOf(usage.Search)
	}
	return a.Purposes
}

// SameTypes reports whether both keep the same.
func (a *Settings) SameTypes(b *Settings) bool {
	return cmp.Or(a.Types, crawl.DefaultTypes) == cmp.Or(b.Types, crawl.DefaultTypes)
}

// Resolves lists where these settings have a host looked for.
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
