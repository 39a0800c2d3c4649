// Package usage reads the statements of a site about what its pages may be used for: AIPREF
// Content-Usage (draft-ietf-aipref-vocab-08, draft-ietf-aipref-attach-05), Cloudflare's content
// signals, the TDM Reservation Protocol, Really Simple Licensing 1.0, and the words noai and
// noimageai.
//
// A [Set] collects the statements about one URL, each with its file, line or header, and returns
// [Preferences]: for each [Purpose] allow, disallow or unknown.
//
//	var s usage.Set
//	s.ContentSignal(usage.Position{From: "robots.txt", Line: 3}, "search=yes, ai-train=no")
//	s.Headers(resp.Header)
//	if s.Preferences().Forbid(ours) { … } // the site allows none of our purposes
//
// The strictest statement counts: if one disallows, no other allows (formats §8.4). Statements are
// about use, and never widen what may be fetched (formats §8.5).
//
// Nothing here fails, fetches or reads a clock. Input that cannot be parsed has no effect, not even
// on other input, and is reported in [Set.Diagnostics]. All input is limited. In comments,
// "formats" is docs/formats.md.
package usage

import (
	"fmt"
	"slices"
	"strings"
)

// Purpose is a use of pages.
type Purpose uint8

// The purposes (formats §8).
const (
	Search  Purpose = iota // an index that selects pages and leads to them
	AIInput                // input of a generative model: answers, summaries, grounding
	AITrain                // training of a generative model
	TDM                    // text and data mining (Art. 4 of Directive (EU) 2019/790)

	purposes = iota
)

var purposeNames = [purposes]string{"search", "ai-input", "ai-train", "tdm"}

// String returns the name that flags, exports and answers use.
func (p Purpose) String() string {
	if int(p) < len(purposeNames) {
		return purposeNames[p]
	}
	return fmt.Sprintf("purpose %d", uint8(p))
}

// ParsePurpose parses a purpose's name.
func ParsePurpose(name string) (Purpose, error) {
	for p, n := range purposeNames {
		if n == name {
			return Purpose(p), nil
		}
	}
	return 0, fmt.Errorf("unknown purpose %q; use one of %s", name, strings.Join(purposeNames[:], ", "))
}

// ParsePurposes parses several names, each of which may be a list with commas.
func ParsePurposes(names []string) (all []Purpose, err error) {
	for _, list := range names {
		for n := range strings.SplitSeq(list, ",") {
			p, err := ParsePurpose(strings.TrimSpace(n))
			if err != nil {
				return nil, err
			}
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// Names returns the names of purposes.
func Names(all []Purpose) (names []string) {
	for _, p := range all {
		names = append(names, p.String())
	}
	return names
}

// PurposeNames are the names of all purposes.
func PurposeNames() []string { return slices.Clone(purposeNames[:]) }

// Purposes is a set of purposes, one bit each. The zero value is empty.
type Purposes uint8

// PurposesOf returns the set of the purposes given.
func PurposesOf(list ...Purpose) (s Purposes) {
	for _, p := range list {
		s |= 1 << p
	}
	return s
}

// Has reports whether p is in the set.
func (s Purposes) Has(p Purpose) bool { return s&(1<<p) != 0 }

// Beyond reports whether the set has a purpose other than search: then rights files are requested
// as well (formats §8.17, §8.19).
func (s Purposes) Beyond() bool { return s&^PurposesOf(Search) != 0 }

// String returns the names, separated by commas.
func (s Purposes) String() string {
	var names []string
	for p, n := range purposeNames {
		if s.Has(Purpose(p)) {
			names = append(names, n)
		}
	}
	return strings.Join(names, ", ")
}

// Value is the statement of a site about a purpose. The greater of two values is stricter and
// counts (formats §8.4).
type Value uint8

// The values.
const (
	Unknown  Value = iota // no statement
	Allow                 // the page may be used for it
	Disallow              // the page may not be used for it
)

// String returns unknown, allow or disallow.
func (v Value) String() string {
	switch v {
	case Allow:
		return "allow"
	case Disallow:
		return "disallow"
	}
	return "unknown"
}

// Preferences has a Value for each Purpose. The zero Preferences has only unknown values.
type Preferences [purposes]Value

// Merge returns for each purpose the stricter of both: any disallow, else any allow, else unknown
// (draft-ietf-aipref-vocab-08 §5.1, formats §8.4).
func (p Preferences) Merge(o Preferences) Preferences {
	for i, v := range o {
		p[i] = max(p[i], v)
	}
	return p
}

// Bits packs the preferences, two bits each, the first purpose's lowest.
func (p Preferences) Bits() (b uint8) {
	for i, v := range p {
		b |= uint8(min(v, Disallow)) << (2 * i)
	}
	return b
}

// PreferencesOf is the inverse of Bits. A value that Bits never writes counts as the strictest.
func PreferencesOf(bits uint8) (p Preferences) {
	for i := range p {
		p[i] = min(Value(bits>>(2*i)&3), Disallow)
	}
	return p
}

// Forbid reports whether all of our purposes are disallowed (formats §8.1). Without purposes it is
// false.
func (p Preferences) Forbid(ours Purposes) bool {
	for i, v := range p {
		if ours.Has(Purpose(i)) && v != Disallow {
			return false
		}
	}
	return ours != 0
}

// Position is the place of a statement.
type Position struct {
	// From names it: "robots.txt", "header Content-Usage", "meta tdm-reservation", "tdmrep.json", …
	From string
	// Line is the line of the file, or the number of the header line or element with that name,
	// counted from 1.
	Line int
}

// Source is one statement of a site about one purpose.
type Source struct {
	Purpose Purpose
	Value   Value // Allow or Disallow
	Position
	Text string // the statement, at most 200 bytes
	// Inferred: concluded from the site's rules for others (formats §8.21). It counts when pages
	// are exported for training, and not when they are fetched.
	Inferred bool
}

// Terms is the address of conditions that a site attaches to the use of a page.
type Terms struct {
	Kind string // "rsl" for a licence document, "tdm-policy"
	URL  string // as written
	Position
}

// Diagnostic is a statement that was not used as it is written.
type Diagnostic struct {
	Position
	Reason string // what is odd, and how it was treated, in words
	Text   string // the statement, at most 200 bytes
}

// TrainingTokens are product tokens of robots.txt by which sites address robots that train
// generative models. None is ours. If a site closes itself to all of them that it names, that is
// evidence of its preference (formats §8.21).
var TrainingTokens = []string{"GPTBot", "ClaudeBot", "CCBot", "meta-externalagent", "Bytespider", "Amazonbot", "Google-Extended",
	"Applebot-Extended"}
