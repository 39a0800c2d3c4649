package main

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/go/analysis/passes/unusedresult"
)

// Each package in testdata says in comments what is to be found in it.
func TestChecks(t *testing.T) {
	checks() // sets flags
	for name, check := range map[string]*analysis.Analyzer{
		"bare":     exported,
		"command":  exported,
		"exported": exported,
		"receiver": receiver,
		"unused":   unusedCode,
		"pure":     unusedresult.Analyzer,
	} {
		t.Run(name, func(t *testing.T) {
			analysistest.Run(t, analysistest.TestData(), check, name)
		})
	}
}

// A new version of staticcheck may move a check to SSA form, or drop it. Nothing is checked twice.
func TestWhatIsChecked(t *testing.T) {
	names := map[string]bool{}
	for _, a := range checks() {
		if names[a.Name] {
			t.Errorf("%s twice", a.Name)
		}
		names[a.Name] = true
	}
	for _, name := range []string{"printf", "copylocks", "lostcancel", "SA1019", "SA4000", "SA9004", "S1005", "ST1019", "exported", "receiver", "unused"} {
		if !names[name] {
			t.Errorf("%s is not checked", name)
		}
	}
	if err := analysis.Validate(checks()); err != nil {
		t.Error(err)
	}
}
