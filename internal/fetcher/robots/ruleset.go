package robots

import (
	"github.com/curtsy/curtsy/internal/uses"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/usage"
)

// ruleset is what the robots.txt of one origin says to our product token.
type ruleset struct {
	*robots.Rules
	file *robots.File // if it has Clean-param lines, otherwise nil
	// What follows from its rules for crawlers that train models (formats §8.21); nil means
	// nothing.
	inferred usage.Statements
	// The statements of its lines about use, by line, and their preferences together (formats
	// §8.1).
	directives map[int]usage.Statements
	together   usage.Preferences
}

// newRuleset makes a ruleset of a parsed robots.txt.
func newRuleset(file *robots.File, token string, origin canon.Origin) *ruleset {
	r := &ruleset{Rules: file.Rules(token, Origin(origin))}
	if len(file.CleanParams) > 0 {
		r.file = file
	}
	for _, l := range file.UsageFor(token) {
		var stated usage.Set
		if uses.Line(&stated, l); r.directives == nil {
			r.directives = map[int]usage.Statements{}
		}
		r.directives[l.Line] = stated.Statements()
		r.together = r.together.Merge(stated.Preferences())
	}
	var stated usage.Set
	uses.Training(&stated, file, Origin(origin))
	r.inferred = stated.Statements()
	return r
}

// size is by how much the ruleset of a text of that length counts in a Cache: each name in its
// Clean-param lines is indexed, and takes as much memory as 100 bytes of other lines.
func (r *ruleset) size(text int) int {
	if r.file != nil {
		for _, l := range r.file.CleanParams {
			text += 100 * len(l.Params)
		}
	}
	return text
}

// addUsage adds the statements of the file on a URL.
func (r *ruleset) addUsage(stated *usage.Set, pathQuery string) {
	for _, l := range r.Usage(pathQuery) {
		stated.Add(r.directives[l.Line])
	}
	stated.Add(r.inferred)
}

// allowAll is the ruleset of an origin without a robots.txt.
var allowAll = &ruleset{Rules: new(robots.Rules)}

// cleaned returns a path with query without the parameters that robots.txt calls meaningless.
func (r *ruleset) cleaned(pathQuery string) string {
	if r.file == nil {
		return pathQuery
	}
	return r.file.CleanURL(pathQuery)
}
