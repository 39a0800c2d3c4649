package crawl

import (
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Usage is what a page may be used for, as its site stated when the page was last fetched
// (formats §8). For each purpose it has allow, disallow or unknown: the strictest statement
// of all sources. What is inferred for training is included.
type Usage struct {
	Search  string `json:"search"`
	AIInput string `json:"ai-input"`
	AITrain string `json:"ai-train"`
	TDM     string `json:"tdm"`
	// Sources are the statements in force. It is never null, and empty if there are no statements.
	Sources []UsageSource `json:"sources"`
}

// UsageSource is one statement about one purpose.
type UsageSource struct {
	Purpose string `json:"purpose"`
	Value   string `json:"value"` // allow or disallow
	From    string `json:"from"`  // "robots.txt", "header Content-Usage", …
	Line    int    `json:"line"`  // of the file, or among the header lines; from 1
	Text    string `json:"text"`  // as written, 200 bytes at most
	// Document is, for a dataset, the document that the statement is about.
	Document string `json:"document,omitempty"`
	// Inferred: concluded from a rule for robots that train models.
	Inferred bool `json:"inferred,omitempty"`
}

// UsageOf writes statements as words.
func UsageOf(l usage.Statements) Usage {
	p := l.Concluded()
	u := Usage{p[usage.Search].String(), p[usage.AIInput].String(), p[usage.AITrain].String(), p[usage.TDM].String(), []UsageSource{}}
	for _, s := range l.Sources() {
		u.Sources = append(u.Sources, UsageSource{s.Purpose.String(), s.Value.String(), s.From, s.Line, s.Text, "", s.Inferred})
	}
	return u
}

// Of returns the value for a purpose: "allow", "disallow" or "unknown".
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

// Add merges the Usage of another document. For each purpose the stricter value is used. u must
// come from UsageOf, and not be the zero Usage.
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

// Directives lists the values in words: "ai-train disallow", and so on. It is empty if all are
// unknown.
func (u *Usage) Directives() (all []string) {
	for _, name := range usage.PurposeNames() {
		p, _ := usage.ParsePurpose(name) // names in u are valid
		if v := u.Of(p); v != usage.Unknown.String() {
			all = append(all, name+" "+v)
		}
	}
	return all
}

// RightsFile is a file of an origin, other than robots.txt, that states what its pages may be used
// for. It is /.well-known/tdmrep.json, or a licence document on the same origin that robots.txt
// names (formats §8.17, §8.19). Only crawls with purposes other than search fetch it. Like Robots,
// it is sent from the fetcher to the frontier and back.
type RightsFile struct {
	URL   canon.URL
	State RightsState
	// Body is one S2 block of at most 1 MiB. In a visit it is empty if it is large; then the
	// fetcher requests it by Digest.
	Body   []byte
	Digest []byte        // SHA-256 of Body; empty if there is none
	Fresh  time.Duration // how much longer it is valid; ≤ 0: it must be fetched again first
	Reason string        // for people: why there is none, or why it could not be fetched
}

// RightsState is the result of fetching a RightsFile.
type RightsState uint8

// The states.
const (
	RightsUnknown RightsState = iota // not fetched yet
	RightsNone                       // the site has none
	RightsRead                       // Body
	RightsLost                       // it could not be fetched
)

// TDMRepPath is the path of tdmrep.json.
const TDMRepPath = "/.well-known/tdmrep.json"

// MaxAparts is how many RightsFiles of one origin are fetched and stored.
const MaxAparts = 4
