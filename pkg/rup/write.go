package rup

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxLine is the longest line of a report that is written: mail allows 998.
const maxLine = 900

// Text returns the report in the form in which it is mailed (formats §6.4): the head, then lines by
// date and kind, with paths relative to Base. Of several entries for one URL the latest is written.
// Entries that cannot be written, because they are outside of Base or too long for a line, are
// returned as left.
func (r *Report) Text() (text []byte, left []Refused) {
	b, err := parseBase(r.Base)
	if err != nil {
		for _, e := range r.Entries {
			left = append(left, Refused{Path: brief(e.URL), Kind: e.Kind, Reason: "URLBase: " + err.Error()})
		}
		return nil, left
	}
	text = append(text, "SequenceNumber: "+strconv.FormatInt(r.Sequence, 10)+"\nURLBase: "+b.String()+"\n\n"...)
	entries := latest(slices.Clone(r.Entries))
	slices.SortStableFunc(entries, func(x, y Entry) int {
		return cmp.Or(strings.Compare(day(x.Date), day(y.Date)), cmp.Compare(order(x.Kind), order(y.Kind)), strings.Compare(x.URL, y.URL))
	})
	line := 0    // bytes on the current line
	prefix := "" // the beginning of the line
	for _, e := range entries {
		path, err := b.relative(e.URL)
		head := string(e.Kind) + "[" + day(e.Date) + "]:"
		switch {
		case err != nil:
			left = append(left, Refused{Path: brief(e.URL), Kind: e.Kind, Reason: err.Error()})
			continue
		case order(e.Kind) < 0:
			left = append(left, Refused{Path: brief(e.URL), Kind: e.Kind, Reason: "it is neither New, Change nor Delete"})
			continue
		case len(head)+1+len(path) > maxLine:
			left = append(left, Refused{Path: brief(e.URL), Kind: e.Kind, Reason: "it is too long for a line"})
			continue
		}
		switch {
		case head == prefix && line+2+len(path) <= maxLine:
			text = append(text, ", "...)
			line += 2 + len(path)
		default:
			if prefix != "" {
				text = append(text, '\n')
			}
			text = append(append(text, head...), ' ')
			prefix, line = head, len(head)+1+len(path)
		}
		text = append(text, path...)
	}
	if prefix != "" {
		text = append(text, '\n')
	}
	return text, left
}

// Parts splits a report into parts that can each be read completely: at most MaxPaths paths and
// MaxReport bytes. Their numbers begin with that of r. There is always at least one part.
func (r *Report) Parts() []*Report {
	part := &Report{Sequence: r.Sequence, Base: r.Base}
	parts := []*Report{part}
	size := 0
	for _, e := range latest(slices.Clone(r.Entries)) {
		// In the worst case the entry has its own line, and each comma takes three bytes.
		n := len(e.URL) + 2*strings.Count(e.URL, ",") + 40
		if len(part.Entries) == MaxPaths || size+n > MaxReport-maxURL {
			part = &Report{Sequence: part.Sequence + 1, Base: r.Base}
			parts, size = append(parts, part), 0
		}
		part.Entries, size = append(part.Entries, e), size+n
	}
	return parts
}

// relative returns a path that resolve turns into u.
func (b *base) relative(u string) (string, error) {
	u, err := b.resolve(u)
	if err != nil {
		return "", err
	}
	path := strings.ReplaceAll(u[len(b.origin)+len(b.dir):], ",", "%2C")
	// Otherwise the path would be read as the host's root, as a scheme, or as empty.
	if scheme, _ := cutScheme(path); scheme != "" || path == "" || path[0] == '/' || path[0] == '?' {
		path = "./" + path
	}
	return path, nil
}

// day formats a date; "" for an unknown one.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

func order(k Kind) int { return slices.Index([]Kind{New, Change, Delete}, k) }
