package crawl

import "github.com/curtsy/curtsy/pkg/usage"

// Usage is what a page's site says that it may be used for, as it was when the page was last asked
// for (formats §8): of each purpose allow, disallow or unknown, the strictest of what its sources
// say, what is inferred for training included.
type Usage struct {
	Search  string `json:"search"`
	AIInput string `json:"ai-input"`
	AITrain string `json:"ai-train"`
	TDM     string `json:"tdm"`
	// Sources are the statements that count; never null, and empty where nothing is said.
	Sources []UsageSource `json:"sources"`
}

// UsageSource is what one statement says of one purpose.
type UsageSource struct {
	Purpose string `json:"purpose"`
	Value   string `json:"value"` // allow or disallow
	From    string `json:"from"`  // "robots.txt", "header Content-Usage", …
	Line    int    `json:"line"`  // of the file, or which of the lines of that name; from 1
	Text    string `json:"text"`  // as written, 200 bytes at most
	// Of a dataset: the document whose use that is about.
	Document string `json:"document,omitempty"`
	// Inferred: concluded from what the site tells those who train models (formats §8.21).
	Inferred bool `json:"inferred,omitempty"`
}

// UsageOf puts statements into words.
func UsageOf(l usage.Statements) Usage {
	p := l.Concluded()
	u := Usage{p[usage.Search].String(), p[usage.AIInput].String(), p[usage.AITrain].String(), p[usage.TDM].String(), []UsageSource{}}
	for _, s := range l.Sources() {
		u.Sources = append(u.Sources, UsageSource{s.Purpose.String(), s.Value.String(), s.From, s.Line, s.Text, "", s.Inferred})
	}
	return u
}

// Of returns what is said of a purpose: "allow", "disallow" or "unknown".
func (u *Usage) Of(p usage.Purpose) string {
	said := ""
	switch p {
	case usage.Search:
		said = u.Search
	case usage.AIInput:
		said = u.AIInput
	case usage.AITrain:
		said = u.AITrain
	case usage.TDM:
		said = u.TDM
	}
	if said == "" { // from a service of an earlier version
		return usage.Unknown.String()
	}
	return said
}

// Against returns the first source that disallows a purpose; the zero UsageSource if none does.
func (u *Usage) Against(p usage.Purpose) UsageSource {
	for _, s := range u.Sources {
		if s.Purpose == p.String() && s.Value == usage.Disallow.String() {
			return s
		}
	}
	return UsageSource{}
}

// maxUsageSources is how many sources of a dataset's usage are shown.
const maxUsageSources = 64

// Add merges what is said of one more document: of each purpose the stricter counts. The zero Usage
// is not one to add to: see UsageOf.
func (u *Usage) Add(l usage.Statements, document string) {
	if len(l) == 0 {
		return
	}
	o := UsageOf(l)
	for _, v := range []struct {
		to *string
		is string
	}{{&u.Search, o.Search}, {&u.AIInput, o.AIInput}, {&u.AITrain, o.AITrain}, {&u.TDM, o.TDM}} {
		if v.is == usage.Disallow.String() || v.is == usage.Allow.String() && *v.to == usage.Unknown.String() {
			*v.to = v.is
		}
	}
	for _, s := range o.Sources {
		if len(u.Sources) < maxUsageSources {
			s.Document = document
			u.Sources = append(u.Sources, s)
		}
	}
}

// Directives lists what is said, in words: "ai-train disallow", …; empty where nothing is.
func (u *Usage) Directives() (all []string) {
	for _, name := range usage.PurposeNames() {
		p, _ := usage.ParsePurpose(name) // it is one
		if v := u.Of(p); v != usage.Unknown.String() {
			all = append(all, name+" "+v)
		}
	}
	return all
}
