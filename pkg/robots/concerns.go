package robots

import "slices"

// RuleLine is an allow or disallow line of a file.
type RuleLine struct {
	Line  int    // counted from 1
	Allow bool   // else it disallows
	Text  string // as written, without comment
}

// RulesFor returns the lines that apply to URLs for the robot with the given product token, in file
// order: those of the groups that Rules merges, without the rule that Host lines may imply. It is
// for display; Rules decides.
func (f *File) RulesFor(token string) []RuleLine {
	chosen, _ := f.choose(productToken(token), nil, nil)
	if len(chosen) < len(f.groups) {
		return nil
	}
	var all []RuleLine
	for _, r := range f.merge(chosen) {
		all = append(all, RuleLine{int(r.line), r.allow, r.text})
	}
	slices.SortStableFunc(all, func(a, b RuleLine) int { return a.Line - b.Line })
	return all
}

// UsageFor returns the lines about use that apply to the robot with the given product token, for
// all paths, in file order (formats §8.9, §8.10). It is for display; Rules.Usage selects those of a
// URL.
func (f *File) UsageFor(token string) []UsageLine {
	if len(f.usages) == 0 {
		return nil
	}
	_, ours := f.choose(productToken(token), nil, nil)
	own := f.ownUsage(ours)
	var all []UsageLine
	for i := range f.usages {
		if u := &f.usages[i]; own.take(u, ours) {
			all = append(all, u.UsageLine)
		}
	}
	return all
}
