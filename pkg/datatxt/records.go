package datatxt

import "strings"

// record is one record of the records form (formats §5.3).
type record struct {
	line   int // of its first user-agent line
	agents []string
	lines  []recordLine
}

// recordLine is a rule or an extension line, with its name in lower case.
type recordLine struct {
	name, written, value string
	line                 int
}

// parseRecords parses the records, selects the one that applies to us, and reads access rules and
// datasets from it.
func (f *File) parseRecords(text, token string) {
	r := pick(f.splitRecords(text), token)
	if r == nil {
		return // nothing is forbidden, and no dataset is described
	}
	own := []string{"/data.txt", "/robots.txt"}
	if f.base != nil {
		own = append(own, f.base.EscapedPath())
	}
	var list []rule
	for _, l := range r.lines {
		// An empty path matches nothing.
		if (l.name == "allow" || l.name == "disallow") && l.value != "" {
			list = append(list, rule{path: normalPath(l.value), allow: l.name == "allow", line: l.line})
		}
	}
	f.rules = newRules(list, own...)
	f.recordDatasets(r.lines)
}

// splitRecords divides the lines into records. A record is one or more user-agent lines followed by
// one or more others; a blank line or another user-agent line after those ends it. Comment lines
// are ignored.
func (f *File) splitRecords(text string) []*record {
	var done []*record
	var cur *record
	end := func() {
		if cur != nil && len(cur.lines) > 0 {
			done = append(done, cur)
		} else if cur != nil {
			f.diagnose(cur.line, "a record has no rules")
		}
		cur = nil
	}
	for n, line := range lines(text) {
		content, _, comment := strings.Cut(line, "#")
		content = strings.Trim(content, blanks)
		if content == "" {
			if !comment && cur != nil && len(cur.lines) > 0 {
				end()
			}
			continue
		}
		l, ok := splitLine(content, n)
		switch {
		case !ok:
			f.diagnose(n, "not a \"name: value\" line")
		case l.name == "user-agent":
			if cur != nil && len(cur.lines) > 0 {
				end()
			}
			if cur == nil {
				cur = &record{line: n}
			}
			cur.agents = append(cur.agents, l.value)
		case cur == nil:
			f.diagnose(n, "%s line outside any record", l.written)
		default:
			cur.lines = append(cur.lines, l)
		}
	}
	end()
	return done
}

// splitLine splits a line, without its comment, at its first colon.
func splitLine(content string, n int) (recordLine, bool) {
	name, value, ok := strings.Cut(content, ":")
	name = strings.TrimRight(name, blanks)
	if !ok || !isToken(name) {
		return recordLine{}, false
	}
	return recordLine{name: lower(name), written: name, value: strings.Trim(value, blanks), line: n}, true
}

// isToken checks the grammar of RFC 1945: no control characters, no blanks and no special
// characters.
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7F || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// pick returns the first record with an agent that contains our token, else the first for "*", else
// nil. Records are never merged: in this data.txt differs from robots.txt (formats §1.6).
func pick(records []*record, token string) *record {
	token = lower(token)
	var everybody *record
	for _, r := range records {
		for _, agent := range r.agents {
			if token != "" && strings.Contains(lower(agent), token) {
				return r
			}
			if agent == "*" && everybody == nil {
				everybody = r
			}
		}
	}
	return everybody
}

// maxDefaultBytes limits how much default lines may add to all datasets together: a file must not
// describe ten thousand datasets with the same hundred kilobytes.
const maxDefaultBytes = 4 * MaxSize

// recordDatasets reads the datasets of the selected record: each Path and each Allow, unless it is
// "/", begins one, and the extension lines up to the next rule describe it. Extension lines before
// the first dataset are defaults.
func (f *File) recordDatasets(list []recordLine) {
	var (
		defaults []Field
		size     int // of one copy of the defaults
		budget   = maxDefaultBytes
		seen     = newSeen(f)
		open     *recordLine // the line that began the current dataset
		fields   []Field     // its description
		first    = true
		full     bool
	)
	finish := func() {
		if open == nil {
			return
		}
		if budget -= size; budget < 0 && size > 0 {
			f.diagnose(open.line, "too many datasets share the default lines; the lines are ignored from here on")
			defaults, size = nil, 0
		}
		if d, ok := f.recordDataset(*open, fields, defaults); ok && seen.add(&d) {
			f.Datasets = append(f.Datasets, d)
		}
		open, fields = nil, nil
	}
	for _, l := range list {
		switch l.name {
		case "allow", "disallow", "path":
			finish()
			if l.name == "disallow" || l.value == "" || l.value == "/" {
				continue
			}
			first = false
			if len(f.Datasets) == MaxEntries {
				if !full {
					f.diagnose(l.line, "more than %d datasets", MaxEntries)
				}
				full = true
				continue
			}
			open = &l
		default:
			field := Field{Name: valid(l.written), Value: Value{Text: valid(l.value)}, Line: l.line}
			switch {
			case open != nil:
				fields = append(fields, field)
			case first:
				defaults = append(defaults, field)
				size += len(field.Name) + len(field.Value.Text) + 64
			case !full:
				f.diagnose(l.line, "%s line does not belong to a dataset", l.written)
			}
		}
	}
	finish()
}

// recordDataset makes a dataset of the line that began it and the lines that describe it; defaults
// are used for missing fields.
func (f *File) recordDataset(open recordLine, fields, defaults []Field) (Dataset, bool) {
	u, err := f.resolve(open.value)
	if err != "" {
		f.diagnose(open.line, "%s %q: %s", open.written, valid(open.value), err)
		return Dataset{}, false
	}
	d := f.newDataset(open.line)
	f.addURL(&d, u, u.String())
	// The path of an Allow without a description is often a directory.
	location := open.name == "allow" && len(fields) == 0 && !hasExtension(u.Path)
	given := map[string]bool{}
	for _, field := range fields {
		given[lower(field.Name)] = true
	}
	for _, field := range defaults {
		if !given[lower(field.Name)] {
			fields = append(fields, field)
		}
	}
	f.describe(&d, fields)
	if location {
		d.Type, d.TypeImplied = TypeLocation, true
	}
	return d, true
}
