package scope

import (
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Limits of Trap. They lie well above what the deepest manuals, package mirrors and
// catalogue pages use (trap_test.go keeps examples) and well below what a page that
// links to a longer copy of its own address reaches before it costs anyone much.
const (
	MaxSegments  = 40   // parts of a path
	MaxInARow    = 4    // times one to three parts may follow themselves, less one
	MaxSamePart  = 8    // times one part may appear in a path
	MaxQuery     = 1024 // bytes of a query
	MaxParams    = 32   // parameters of a query
	MaxSameParam = 8    // times one parameter's name may appear
)

// Trap reports whether a URL looks like one of endlessly many that a site makes up:
// the same parts over and over, or a query that keeps growing. The reason is for
// people and begins with "trap: ". Ordinary URLs cost well under 200 ns and no
// allocation.
func Trap(u canon.URL) (reason string, trapped bool) {
	path, query, _ := strings.Cut(u.PathQuery(), "?")
	if reason = trapPath(path); reason == "" {
		reason = trapQuery(query)
	}
	return reason, reason != ""
}

func trapPath(path string) string {
	var parts [MaxSegments]string
	n := 0
	for rest := strings.TrimPrefix(path, "/"); rest != ""; n++ {
		if n == MaxSegments {
			return "trap: path of more than " + strconv.Itoa(MaxSegments) + " parts"
		}
		parts[n], rest, _ = strings.Cut(rest, "/")
	}
	for i := range n {
		if repeated(parts[:i+1]) {
			return "trap: path part repeated " + strconv.Itoa(MaxInARow) + " times"
		}
		same := 0
		for _, p := range parts[:i+1] {
			if p == parts[i] {
				same++
			}
		}
		if same > MaxSamePart {
			return "trap: path part " + strconv.Quote(parts[i]) + " appears more than " + strconv.Itoa(MaxSamePart) + " times"
		}
	}
	return ""
}

// repeated reports whether parts end in MaxInARow copies of the same one, two or three
// parts.
func repeated(parts []string) bool {
	for period := 1; period <= 3; period++ {
		need := (MaxInARow - 1) * period
		if len(parts) < need+period {
			return false
		}
		run := 0
		for i := len(parts) - 1; i >= period && run < need && parts[i] == parts[i-period]; i-- {
			run++
		}
		if run == need {
			return true
		}
	}
	return false
}

func trapQuery(query string) string {
	if len(query) > MaxQuery {
		return "trap: query longer than " + strconv.Itoa(MaxQuery) + " bytes"
	}
	var names [MaxParams]string
	n := 0
	for rest := query; rest != ""; n++ {
		if n == MaxParams {
			return "trap: more than " + strconv.Itoa(MaxParams) + " parameters"
		}
		param := rest
		if i := strings.IndexAny(rest, "&;"); i >= 0 {
			param, rest = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		names[n], _, _ = strings.Cut(param, "=")
		same := 0
		for _, name := range names[:n+1] {
			if name == names[n] {
				same++
			}
		}
		if same > MaxSameParam {
			return "trap: parameter " + strconv.Quote(names[n]) + " more than " + strconv.Itoa(MaxSameParam) + " times"
		}
	}
	return ""
}
