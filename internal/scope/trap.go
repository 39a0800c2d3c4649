package scope

import (
	"math"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Limits are the limits beyond which Trap calls a URL a trap. 0 means the default, and a negative
// number means no limit. The defaults are well above the values of the deepest manuals, package
// mirrors and catalogues (see the examples in trap_test.go). They are low enough to stop a page
// that links to a longer copy of its own address after a few copies.
type Limits struct {
	URLBytes   int // of a URL; 2048, the most that canon makes
	Parts      int // of a path; 40
	InARow     int // copies of one part, or of two or three, right after one another; 3
	SamePart   int // appearances of one part anywhere in a path; 8
	QueryBytes int // of a query; 1024
	Params     int // of a query; 32
	SameParam  int // parameters of the same name; 8
}

var defaults = Limits{
	URLBytes: canon.MaxLen, Parts: 40, InARow: 3, SamePart: 8, QueryBytes: 1024, Params: 32, SameParam: 8,
}

// effective replaces zero and negative limits by numbers.
func (l Limits) effective() Limits {
	set := func(field *int, byDefault int) {
		switch {
		case *field == 0:
			*field = byDefault
		case *field < 0:
			*field = math.MaxInt32
		}
	}
	set(&l.URLBytes, defaults.URLBytes)
	set(&l.Parts, defaults.Parts)
	set(&l.InARow, defaults.InARow)
	set(&l.SamePart, defaults.SamePart)
	set(&l.QueryBytes, defaults.QueryBytes)
	set(&l.Params, defaults.Params)
	set(&l.SameParam, defaults.SameParam)
	return l
}

// Trap reports whether a URL looks like one of an endless series: it repeats the same parts, or its
// query keeps growing. It uses the default limits. The reason is for people and begins with "trap:
// ". Ordinary URLs cost some tens of nanoseconds and no allocation.
func Trap(u canon.URL) (reason string, trapped bool) {
	return defaults.trap(u)
}

// Trap is the function Trap with the limits of the Spec. It ignores the rest of the scope. Seeds
// may be traps, and the caller decides whether that stops them.
func (s *Scope) Trap(u canon.URL) (reason string, trapped bool) {
	return s.limits.trap(u)
}

func (l *Limits) trap(u canon.URL) (reason string, trapped bool) {
	if len(u) > l.URLBytes {
		return more("URL bytes", l.URLBytes), true
	}
	path, query, _ := strings.Cut(u.PathQuery(), "?")
	if reason = l.path(path); reason == "" && query != "" {
		reason = l.query(query)
	}
	return reason, reason != ""
}

func (l *Limits) path(path string) string {
	slashes := strings.Count(path, "/")
	switch {
	case slashes <= min(l.InARow, l.SamePart, l.Parts):
		return "" // too short for any trap
	case slashes > l.Parts+1: // neither the first slash nor a last one begins a part
		return more("path parts", l.Parts)
	}
	var last [3]string // the parts before this one, by number modulo 3
	// for the periods 1 to 3: how many successive parts equal the part one period before
	var equal [3]int
	n := 0
	for rest := path[1:]; rest != ""; n++ {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		for period := 1; period <= min(3, n); period++ {
			if part != last[(n-period)%3] {
				equal[period-1] = 0
				continue
			}
			if equal[period-1]++; equal[period-1] == period*l.InARow {
				for back := 1; back < period; back++ {
					part = last[(n-back)%3] + "/" + part
				}
				return "trap: path repeats " + strconv.Quote(part) + " " + strconv.Itoa(l.InARow+1) + " times"
			}
		}
		last[n%3] = part
	}
	if n > l.Parts {
		return more("path parts", l.Parts)
	}
	if n > l.SamePart {
		var list [40]string // a longer list is on the heap
		parts := list[:0]
		for rest := path[1:]; rest != ""; {
			var part string
			part, rest, _ = strings.Cut(rest, "/")
			parts = append(parts, part)
		}
		return tooOften("path parts", parts, l.SamePart)
	}
	return ""
}

func (l *Limits) query(query string) string {
	if len(query) > l.QueryBytes {
		return more("query bytes", l.QueryBytes)
	}
	n := 1 + strings.Count(query, "&") + strings.Count(query, ";")
	if n > l.Params {
		return more("query parameters", l.Params)
	}
	if n > l.SameParam {
		var list [32]string
		names := list[:0]
		for rest := query; rest != ""; {
			var param string
			param, rest = cutParam(rest)
			name, _, _ := strings.Cut(param, "=")
			names = append(names, name)
		}
		return tooOften("query parameters", names, l.SameParam)
	}
	return ""
}

// cutParam splits a query after its first parameter. ";" and "&" separate parameters.
func cutParam(query string) (param, rest string) {
	if i := strings.IndexAny(query, "&;"); i >= 0 {
		return query[:i], query[i+1:]
	}
	return query, ""
}

func more(what string, than int) string {
	return "trap: more than " + strconv.Itoa(than) + " " + what
}

// tooOften returns a reason if a string is in the list more often than limit. The lists are so
// short that comparing all pairs is cheaper than a map.
func tooOften(what string, list []string, limit int) string {
	for i := limit; i < len(list); i++ {
		same := 0
		for _, s := range list[:i+1] {
			if s == list[i] {
				same++
			}
		}
		if same > limit {
			return more(what+" "+strconv.Quote(list[i]), limit)
		}
	}
	return ""
}
