package main

import (
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/appends"
	"golang.org/x/tools/go/analysis/passes/asmdecl"
	"golang.org/x/tools/go/analysis/passes/assign"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/cgocall"
	"golang.org/x/tools/go/analysis/passes/composite"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/analysis/passes/defers"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/errorsas"
	"golang.org/x/tools/go/analysis/passes/framepointer"
	"golang.org/x/tools/go/analysis/passes/hostport"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/ifaceassert"
	"golang.org/x/tools/go/analysis/passes/loopclosure"
	"golang.org/x/tools/go/analysis/passes/lostcancel"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/passes/shift"
	"golang.org/x/tools/go/analysis/passes/sigchanyzer"
	"golang.org/x/tools/go/analysis/passes/slog"
	"golang.org/x/tools/go/analysis/passes/stdmethods"
	"golang.org/x/tools/go/analysis/passes/stdversion"
	"golang.org/x/tools/go/analysis/passes/stringintconv"
	"golang.org/x/tools/go/analysis/passes/structtag"
	"golang.org/x/tools/go/analysis/passes/testinggoroutine"
	"golang.org/x/tools/go/analysis/passes/tests"
	"golang.org/x/tools/go/analysis/passes/timeformat"
	"golang.org/x/tools/go/analysis/passes/unmarshal"
	"golang.org/x/tools/go/analysis/passes/unreachable"
	"golang.org/x/tools/go/analysis/passes/unsafeptr"
	"golang.org/x/tools/go/analysis/passes/unusedresult"
	"golang.org/x/tools/go/analysis/passes/waitgroup"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

// vet is what go vet checks.
var vet = []*analysis.Analyzer{
	appends.Analyzer, asmdecl.Analyzer, assign.Analyzer, atomic.Analyzer, bools.Analyzer,
	buildtag.Analyzer, cgocall.Analyzer, composite.Analyzer, copylock.Analyzer, defers.Analyzer,
	directive.Analyzer, errorsas.Analyzer, framepointer.Analyzer, hostport.Analyzer,
	httpresponse.Analyzer, ifaceassert.Analyzer, loopclosure.Analyzer, lostcancel.Analyzer,
	nilfunc.Analyzer, printf.Analyzer, shift.Analyzer, sigchanyzer.Analyzer, slog.Analyzer,
	stdmethods.Analyzer, stdversion.Analyzer, stringintconv.Analyzer, structtag.Analyzer,
	testinggoroutine.Analyzer, tests.Analyzer, timeformat.Analyzer, unmarshal.Analyzer,
	unreachable.Analyzer, unsafeptr.Analyzer, unusedresult.Analyzer, waitgroup.Analyzer,
}

// ours are the checks of this module.
var ours = []*analysis.Analyzer{exported, receiver, unusedCode}

// left are the checks of staticcheck that found nothing but noise here.
var left = []string{
	"SA2001",                               // an empty critical section may be a barrier
	"ST1003",                               // names of tests have underscores between the parts of a clause
	"ST1012",                               // names of errors in tests say what happened
	"ST1013",                               // servers of tests answer 503
	"ST1000", "ST1020", "ST1021", "ST1022", // exported checks the same, and that there is a comment
}

// pure are functions of the standard library that do nothing but return something. A call that
// does not use it is a mistake. unusedresult knows some more by itself.
var pure = []string{
	"bytes.Clone", "bytes.TrimSpace", "cmp.Compare", "errors.Join", "errors.Is",
	"maps.Clone", "maps.Keys", "maps.Values", "path.Join", "path/filepath.Join", "slices.Clone", "slices.Concat",
	"slices.Contains", "slices.Index", "slices.Sorted", "strconv.Itoa", "strconv.Quote", "strings.Fields",
	"strings.HasPrefix", "strings.Join", "strings.Repeat", "strings.ReplaceAll", "strings.Split", "strings.ToLower",
	"strings.TrimPrefix", "strings.TrimSpace", "strings.TrimSuffix", "time.Now", "time.Since", "time.Until",
}

// checks are all of them.
func checks() []*analysis.Analyzer {
	if err := unusedresult.Analyzer.Flags.Set("funcs", unusedresult.Analyzer.Flags.Lookup("funcs").DefValue+","+strings.Join(pure, ",")); err != nil {
		panic(err)
	}
	all := slices.Concat(vet, ours)
	for _, set := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers} {
		for _, a := range set {
			if !needsSSA(a.Analyzer) && !slices.Contains(left, a.Analyzer.Name) {
				all = append(all, a.Analyzer)
			}
		}
	}
	return all
}

// needsSSA reports that a check reads a package in the form of static single assignments. It would
// need what it found in each package that is imported, those of the standard library included,
// which takes as long again as everything else here.
func needsSSA(a *analysis.Analyzer) bool {
	return a.Name == "buildir" || slices.ContainsFunc(a.Requires, needsSSA)
}
