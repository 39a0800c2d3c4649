// Package usage reads what a site says its pages may be used for: AIPREF Content-Usage
// (draft-ietf-aipref-vocab-08, draft-ietf-aipref-attach-05), Cloudflare's content signals, the TDM
// Reservation Protocol, Really Simple Licensing 1.0, and the words noai and noimageai.
//
// A [Set] gathers the statements about one URL, each with the file, line or header it stands in,
// and answers with [Preferences]: for each [Purpose] allow, disallow or unknown.
//
//	var s usage.Set
//	s.ContentSignal(usage.Place{From: "robots.txt", Line: 3}, "search=yes, ai-train=no")
//	s.Headers(resp.Header)
//	if s.Preferences().Forbid(ours) { … } // the site wants none of our purposes
//
// Statements add up to the strictest: where one disallows, no other allows (formats §8.4). They
// speak of use and never widen what may be fetched (formats §8.5).
//
// Bytes go in, answers come out: nothing here fails, fetches or reads a clock. What cannot be read
// says nothing, costs nothing but itself, and is reported in [Set.Diagnostics]. All input is
// bounded. Clause numbers in comments without a name are those of docs/formats.md.
package usage

import (
	"fmt"
	"slices"
	"strings"
)

// Purpose is what pages are used for.
type Purpose uint8

// The purposes (formats §8).
const (
	Search  Purpose = iota // an index that selects pages and leads to them
	AIInput                // input of a generative model: answers, summaries, grounding
	AITrain                // training of a generative model
	TDM                    // text and data mining, as Art. 4 of Directive (EU) 2019/790 has it

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

// ParsePurpose reads a purpose's name.
func ParsePurpose(name string) (Purpose, error) {
	for p, n := range purposeNames {
		if n == name {
			return Purpose(p), nil
		}
	}
	return 0, fmt.Errorf("unknown purpose %q; use one of %s", name, strings.Join(purposeNames[:], ", "))
}

// ParsePurposes reads the names of several, each of which may be a list with commas.
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

// Purposes is a set of them, a bit each. The zero value is empty.
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

// Beyond reports whether another than search is in the set: then what is said in files of their own
// is asked for as well (formats §8.17, §8.19).
func (s Purposes) Beyond() bool { return s&^PurposesOf(Search) != 0 }

// String returns the names, with commas between.
func (s Purposes) String() string {
	var names []string
	for p, n := range purposeNames {
		if s.Has(Purpose(p)) {
			names = append(names, n)
		}
	}
	return strings.Join(names, ", ")
}

// Value is what a site says of a purpose. Of two, the greater is the stricter and counts (formats
// §8.4).
type Value uint8

// The values.
const (
	Unknown  Value = iota // nothing is said
	Allow                 // it may be used for it
	Disallow              // it may not
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

// Preferences has a Value for each Purpose. The zero Preferences says nothing.
type Preferences [purposes]Value

// Merge returns for each purpose the stricter of both: any disallow, else any allow, else unknown
// (draft-ietf-aipref-vocab §5.1, §8.4 here).
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

// PreferencesOf is the inverse of Bits. What Bits never writes counts as the strictest.
func PreferencesOf(bits uint8) (p Preferences) {
	for i := range p {
		p[i] = min(Value(bits>>(2*i)&3), Disallow)
	}
	return p
}

// Forbid reports whether all of our purposes are disallowed; of no purposes, none is (formats
// §8.1).
func (p Preferences) Forbid(ours Purposes) bool {
	for i, v := range p {
		if ours.Has(Purpose(i)) && v != Disallow {
			return false
		}
	}
	return ours != 0
}

// Position is where a statement stands.
type Position struct {
	// From names it: "robots.txt", "header Content-Usage", "meta tdm-reservation", "tdmrep.json", …
	From string
	// Line is the line of the file, or which of the header lines or elements of that name it is,
	// counted from 1.
	Line int
}

// Source is one thing that a site says of one purpose.
type Source struct {
	Purpose Purpose
	Value   Value // Allow or Disallow
	Position
	Text string // the statement, 200 bytes of it at most
	// Inferred: not said, but concluded from what the site tells others (formats §8.21). It counts
	// when pages are handed on for training, and not when they are fetched.
	Inferred bool
}

// Terms is the address of conditions that a site attaches to the use of a page.
type Terms struct {
	Kind string // "rsl" for a licence document, "tdm-policy"
	URL  string // as written
	Position
}

// Diagnostic is a statement that was not read as it stands.
type Diagnostic struct {
	Position
	Reason string // what is odd, and what became of it, in words
	Text   string // the statement, 200 bytes of it at most
}

// TrainingTokens are product tokens of robots.txt by which sites speak to those who train
// generative models. None is ours; that a site closes itself to all it names is evidence of a wish
// (formats §8.21).
var TrainingTokens = []string{"GPTBot", "ClaudeBot", "CCBot", "meta-externalagent", "Bytespider", "Amazonbot", "Google-Extended",
	"Applebot-Extended"}
