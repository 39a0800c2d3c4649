package usage_test

import (
	"slices"
	"testing"

	"github.com/curtsy/curtsy/pkg/usage"
)

const (
	u = usage.Unknown
	a = usage.Allow
	d = usage.Disallow
)

// pref has the values for search, ai-input, ai-train and tdm.
type pref = usage.Preferences

var here = usage.Position{From: "robots.txt", Line: 1}

// Formats §8.4: for each purpose any disallow, else any allow, else unknown, in any order.
func TestUsage_8_4_Merge(t *testing.T) {
	values := []usage.Value{u, a, d}
	for _, x := range values {
		for _, y := range values {
			want := u
			switch {
			case x == d || y == d:
				want = d
			case x == a || y == a:
				want = a
			}
			if got := (pref{x, u, x, y}).Merge(pref{y, u, y, x}); got != (pref{want, u, want, want}) {
				t.Errorf("%v and %v: %v", x, y, got)
			}
		}
	}
	// with sources of all kinds
	var s usage.Set
	s.ContentUsage(here, "search=y, train-ai=y, ai-use=y")
	s.ContentSignal(here, "ai-train=no, search=yes")
	s.Tag(usage.Position{From: "meta robots", Line: 1}, "noai", false)
	if got := s.Preferences(); got != (pref{a, d, d, u}) {
		t.Errorf("%v", got)
	}
	if n := len(s.Sources()); n != 7 {
		t.Errorf("%d sources: %+v", n, s.Sources())
	}
}

// Formats §8.1: a URL is closed if all of our purposes are disallowed, not if only some are.
func TestUsage_8_1_AllOfOurPurposes(t *testing.T) {
	p := pref{a, d, d, u}
	for _, c := range []struct {
		ours usage.Purposes
		want bool
	}{
		{usage.PurposesOf(usage.Search), false},
		{usage.PurposesOf(usage.AITrain), true},
		{usage.PurposesOf(usage.AITrain, usage.AIInput), true},
		{usage.PurposesOf(usage.AITrain, usage.Search), false},
		{usage.PurposesOf(usage.AITrain, usage.TDM), false},
		{0, false},
	} {
		if got := p.Forbid(c.ours); got != c.want {
			t.Errorf("purposes %b: %v", c.ours, got)
		}
	}
}

func TestPurposeNames(t *testing.T) {
	for _, name := range []string{"search", "ai-input", "ai-train", "tdm"} {
		p, err := usage.ParsePurpose(name)
		if err != nil || p.String() != name {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	if _, err := usage.ParsePurpose("Search"); err == nil {
		t.Error("no such purpose, and no error")
	}
}

// Formats §8.8, and the data model of draft-ietf-aipref-vocab-08: unknown keys, parameters, other
// values.
func TestUsage_8_8_ContentUsage(t *testing.T) {
	for statement, want := range map[string]pref{
		"train-ai=n":                             {u, u, d, u},
		"train-ai=y, ai-use=n, search=y":         {a, d, a, u},
		" train-ai=n ":                           {u, u, d, u},
		"":                                       {},
		"train-ai=n;x=1;y, other=(a b);c":        {u, u, d, u},
		"train-ai=n, train-ai=y":                 {u, u, a, u}, // the last counts
		"train-ai=n, train-ai":                   {},           // a boolean
		`train-ai="n", search=y`:                 {a, u, u, u}, // a string
		"train-ai=N, search=n":                   {d, u, u, u}, // another token
		"train-ai=(n), search=y":                 {a, u, u, u},
		"train-ai=1, ai-use=?0, search=:YQ==:":   {},
		"tdm=n, all=n, bots=n, train-genai=n":    {}, // retired labels
		"Train-AI=n, search=y":                   {}, // invalid: no effect at all
		"search=y, train-ai=n,":                  {},
		"search=y train-ai=n":                    {},
		"*.pdf train-ai=n":                       {},
		`search=y, train-ai;has;parameters="?";`: {}, // the draft's own example
		"search=y\x00":                           {},
		"/a train-ai=n":                          {},
	} {
		got, err := usage.ParseContentUsage(statement)
		if got != want {
			t.Errorf("%q: %v, want %v", statement, got, want)
		}
		var s usage.Set
		s.ContentUsage(here, statement)
		if reported := len(s.Diagnostics()) == 1 && s.Diagnostics()[0].Position == here; reported != (err != nil) {
			t.Errorf("%q: error %v, diagnostics %+v", statement, err, s.Diagnostics())
		}
	}
}

// Formats §8.11: the words, separators and keys of Content-Signal.
func TestUsage_8_11_ContentSignal(t *testing.T) {
	for statement, want := range map[string]pref{
		"search=yes, ai-train=no":                         {a, u, d, u},
		"search=yes,ai-train=no":                          {a, u, d, u},
		"search=yes; ai-train=no":                         {a, u, d, u},
		"search=yes ai-train=no":                          {a, u, d, u},
		"ai-train=disallow, ai-input=allow, search=allow": {a, a, d, u},
		"SEARCH=YES, Ai-Train = No, ai-input=Y":           {a, a, d, u},
		"search=n":                                        {d, u, u, u},
		"search=yes, search=no":                           {d, u, u, u}, // strictest
		"search=no, search=yes":                           {d, u, u, u},
		"use=immediate":                                   {d, d, d, u},
		"use=reference, search=yes":                       {a, u, d, u},
		"use=full, ai-train=yes":                          {u, u, a, u},
		"use=none":                                        {},
		"search=maybe, tdm=no, ai-train=no":               {u, u, d, u},
		"search":                                          {},
		"=no,,;search==no":                                {},
		"":                                                {},
	} {
		if got, _ := usage.ParseContentSignal(statement); got != want {
			t.Errorf("%q: %v, want %v", statement, got, want)
		}
	}
	// several lines: the strictest; an ignored pair is reported with its line
	var s usage.Set
	s.ContentSignal(usage.Position{From: "robots.txt", Line: 3}, "search=yes, ai-train=yes")
	s.ContentSignal(usage.Position{From: "robots.txt", Line: 5}, "ai-train=no, x=1")
	if got := s.Preferences(); got != (pref{a, u, d, u}) {
		t.Errorf("two lines: %v", got)
	}
	want := []usage.Diagnostic{{Position: usage.Position{From: "robots.txt", Line: 5}, Reason: "it has no meaning here: ignored", Text: "x=1"}}
	if got := s.Diagnostics(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
