package searchrules

import "fmt"

// Summary says in words how many rules there are.
func (r *Rules) Summary() string {
	lines := 0
	if r.synonyms != nil {
		lines = r.synonyms.lines
	}
	return fmt.Sprintf("synonyms: %d; results: %d; demote: %d; weights: %d", lines, len(r.results), len(r.demote), len(r.weights))
}
