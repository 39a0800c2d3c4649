package lenientjson

import (
	"fmt"
	"strings"
)

// maxProblems is how many problems of each kind a Report describes. The others are only counted.
const maxProblems = 16

// Problem is one deviation from JSON.
type Problem struct {
	Offset int64  // the byte of the input, from 0
	What   string // in plain words, such as "a comma before ]"
}

// Report describes what was odd in an input. The zero value means that it was strict JSON.
type Report struct {
	Forgiven []Problem // what was read nevertheless; the first 16
	Lost     []Problem // what was left out, and why; the first 16
	Repaired int       // problems that were forgiven, all of them
	LeftOut  int       // entries and members that were left out, all of them
	Entries  int       // members of the lists of entries, with those that were left out
	Outside  int       // of LeftOut: members of objects outside of a list of entries
	Cut      bool      // the input ends in the middle
	End      int64     // with Cut: the number of bytes of the input
	Failed   bool      // nothing of the input could be read
}

// Clean reports whether nothing was odd.
func (r *Report) Clean() bool {
	return r.Repaired == 0 && r.LeftOut == 0 && !r.Cut && !r.Failed
}

// Whole reports whether everything in the input was read, even if something was forgiven.
func (r *Report) Whole() bool { return r.LeftOut == 0 && !r.Cut && !r.Failed }

// Shift adds n to all offsets, for an input that is a part of a document.
func (r *Report) Shift(n int64) {
	for _, all := range [][]Problem{r.Forgiven, r.Lost} {
		for i := range all {
			all[i].Offset += n
		}
	}
	r.End += n
}

// String describes the Report in one line, what was left out first, or "" if it is Clean.
func (r *Report) String() string {
	var all []string
	switch {
	case r.Failed:
		all = append(all, "it could not be read"+described(r.Lost, r.LeftOut))
	case r.LeftOut > 0 && r.Outside == 0 && r.Entries > 0:
		all = append(all, fmt.Sprintf("%s of %d could not be read%s", number(r.LeftOut, "entry", "entries"), r.Entries, described(r.Lost, r.LeftOut)))
	case r.LeftOut > 0:
		all = append(all, number(r.LeftOut, "part", "parts")+" could not be read"+described(r.Lost, r.LeftOut))
	}
	if r.Cut {
		all = append(all, fmt.Sprintf("it ends in the middle, at byte %d, and the rest is missing", r.End))
	}
	if r.Repaired > 0 {
		all = append(all, "read with "+number(r.Repaired, "error", "errors")+" forgiven"+described(r.Forgiven, r.Repaired))
	}
	if len(all) == 0 {
		return ""
	}
	return "JSON: " + strings.Join(all, "; ")
}

// maxDescribed is how many problems of each kind String describes.
const maxDescribed = 3

func described(some []Problem, all int) string {
	if len(some) == 0 {
		return ""
	}
	var out []string
	for _, p := range some[:min(len(some), maxDescribed)] {
		out = append(out, fmt.Sprintf("%s at byte %d", p.What, p.Offset))
	}
	if more := all - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return ": " + strings.Join(out, ", ")
}

func number(n int, one, many string) string {
	if n == 1 {
		return "one " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
