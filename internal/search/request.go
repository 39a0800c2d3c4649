package search

// Step is a step of a search, which every shard is asked for.
type Step string

// The steps in their order. Methods of Index with these names answer them.
const (
	StepTerms   Step = "terms"
	StepSimilar Step = "similar"
	StepRank    Step = "rank"
	StepShow    Step = "show"
	// StepSuggest is the only step of a suggestion.
	StepSuggest Step = "suggest"
)

// Request is the request of one step. Its rows are Terms, Similar, Ranked, crawl.Hit or
// Suggested.
type Request struct {
	*RankOptions          // of StepRank, else nil
	Plan         *Plan    `json:"plan,omitempty"` // of all steps except StepSimilar
	Step         Step     `json:"step,omitempty"`
	URLs         []string `json:"urls,omitempty"` // of StepShow: the pages to show
	// Words are of StepSimilar: the words to look for; and of StepSuggest: see Index.Suggest.
	Words []string `json:"words,omitempty"`
}

// RankOptions belong to a Request of StepRank.
type RankOptions struct {
	Explain bool `json:"explain"` // list the signals of each hit
	N       int  `json:"n"`       // how many hits are wanted
	// After asks for the pages behind a position, in the order of the first stage or of the plan's
	// field. Nil: the best pages, in the order of the second stage or of the field.
	After *Position `json:"after,omitempty"`
}
