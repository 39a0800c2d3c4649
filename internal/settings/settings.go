package settings

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Setting is a row of the table: one setting of a crawl.
type Setting struct {
	// Name is the same everywhere: --max-pages on the command line, CURTSY_MAX_PAGES in the
	// environment, max-pages in a file and in the crawl log.
	Name string
	// Group is the heading of the flag in help. Common flags are shown without --help-all.
	Group  string
	Common bool
	// Usage is the line in help. A word in ‹› names the value, and {} stands for the Choices.
	Usage string
	// UsageInSet replaces Usage in the help of `curtsy set`, if it is not empty.
	UsageInSet string
	// Example is a value that is accepted. Errors about unreadable values name it.
	Example string
	// Choices are the words that are accepted. The setting may accept other values too.
	Choices []string
	// Words are offered by shell completion, besides the Choices.
	Words []string
	// Doc is the comment above the setting in deploy/curtsy.example.yaml. It is empty if the
	// comment of the setting before covers this one.
	Doc string
	// Title names a limit in the list of limits on the dashboard.
	Title string
	// Label names the field of the form on the dashboard. Without a label the form has no field.
	Label string
	// Set says that `curtsy set` and the dashboard can change the setting of a running crawl. Other
	// settings change when `curtsy crawl` or `curtsy seed` is given another value.
	Set bool
	// Fixed says that the setting cannot change after the crawl was created.
	Fixed bool
	// NotPlanned says that `curtsy plan` ignores the setting: a plan has the zero value, and help
	// does not show the flag.
	NotPlanned bool
	// ZeroIsDefault says that a zero field stands for the default, as in specs that are older than
	// the setting.
	ZeroIsDefault bool
	// Decides is what must be decided again after a change.
	Decides Effect

	value
}

// value is the part of a row that depends on the type of the field: see field.
type value interface {
	// Pointer points to the field of a spec. Its type says how people write the value: *string,
	// *bool, *int, *int64, *time.Duration, *[]string, *Size or *Off.
	Pointer(*crawl.Spec) any
	// Value is the value of the field.
	Value(*crawl.Spec) any
	// Text is the value in words, as the crawl log and the dashboard show it.
	Text(*crawl.Spec) string
	// Problem says what is wrong with the value and what would be accepted, or "" if nothing is
	// wrong. For a setting with Choices it does not say what would be accepted, because the caller
	// lists the Choices.
	Problem(*crawl.Spec) string
	// Copy gives one spec the value that was typed into another.
	Copy(to, typed *crawl.Spec)

	isZero(*crawl.Spec) bool
	reset(*crawl.Spec)
}

// InForce is the value of the setting in a crawl, in words.
func (s *Setting) InForce(spec *crawl.Spec) string {
	if s.ZeroIsDefault && s.isZero(spec) {
		defaults := Defaults()
		spec = &defaults
	}
	return s.Text(spec)
}

// Effect is a set of what must be decided again after a setting changed.
type Effect uint8

// The effects. What they have in common is a pass over all records of a shard.
const (
	// URLs: it is decided again for every known URL whether it is crawled.
	URLs Effect = 1 << iota
	// Refusals: URLs that were refused because of the setting are decided again.
	Refusals
	// Hosts: domains whose further host names were refused are opened again.
	Hosts
	// Links: the links of the stored pages are read again.
	Links
	// Refetches: the time of the next fetch of each page is planned again.
	Refetches
	// Sitemaps: the sites are asked for their sitemaps again.
	Sitemaps
)

// effects describes each effect for the documentation, in the order of the constants.
var effects = [...]string{
	"which URLs are crawled", "what was refused because of it", "which host names are accepted",
	"the links of stored pages", "when pages are fetched again", "the URLs of sitemaps",
}

// Names describes the effects of a set.
func (e Effect) Names() (names []string) {
	for i, name := range effects {
		if e&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// table has the rows in the order in which help shows them.
var table = rowsOf(scopeSettings, limitSettings, politenessSettings, keptSettings, freshnessSettings, accessSettings)

func rowsOf(groups ...[]Setting) (rows []*Setting) {
	for _, group := range groups {
		for i := range group {
			rows = append(rows, &group[i])
		}
	}
	return rows
}

// All returns the rows of the table, in the order in which help shows them. They must not be
// changed.
func All() []*Setting { return table }

// Find returns the row with a name, or nil if no setting has it.
func Find(name string) *Setting {
	for _, row := range table {
		if row.Name == name {
			return row
		}
	}
	return nil
}

// Defaults is a spec in which every setting has its default, as a person would type it.
func Defaults() (s crawl.Spec) {
	for _, row := range table {
		row.reset(&s)
	}
	return s
}

// Apply returns the spec of a crawl after settings were typed. The settings that given reports
// replace those of old. For a new crawl old is nil, and all settings are used. Fixed settings do
// not change. The values in typed must have been checked.
func Apply(old, typed *crawl.Spec, given func(name string) bool) (s crawl.Spec) {
	if old != nil {
		s = *old
	}
	for _, row := range table {
		if !row.Fixed && (old == nil || given(row.Name)) {
			row.Copy(&s, typed)
		}
	}
	// With a limit on the depth, sitemaps are read only if they are asked for, because the distance
	// of their URLs from a seed is unknown. Without links they are read unless they are declined,
	// because little but the seeds would be left.
	switch {
	case given("sitemaps"):
	case given("links") && s.NoLinks:
		s.Sitemaps = true
	case old == nil:
		s.Sitemaps = s.Sitemaps && (s.MaxDepth < 0 || s.NoLinks)
	}
	// Rounds and re-crawl exclude each other. The one that is given replaces the other.
	if given("recrawl") && s.Recrawl {
		s.SetEvery(0, time.Time{})
	} else if s.Every > 0 {
		s.Recrawl = false
	}
	return s
}
