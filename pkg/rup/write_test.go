package rup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func entry(path string, kind Kind, at time.Time) Entry {
	return Entry{URL: "http://www.site.example" + path, Kind: kind, Date: at}
}

func TestRUP_6_4_Written(t *testing.T) {
	t.Parallel()
	r := &Report{Sequence: 12, Base: "http://www.site.example", Entries: []Entry{
		entry("/old.html", Delete, date(1998, 1, 16)), entry("/docs/b.html", New, date(1998, 1, 15)), entry("/docs/a.html", New, date(1998, 1, 15).Add(23*time.Hour)),
		entry("/index.html", Change, time.Date(1998, 1, 17, 1, 0, 0, 0, time.FixedZone("", 7200))), entry("/when", Change, time.Time{}),
		entry("/index.html", New, date(1998, 1, 2)),
	}}
	text, left := r.Text()
	const want = head + "Change[]: when\nNew[1998-01-15]: docs/a.html, docs/b.html\nChange[1998-01-16]: index.html\nDelete[1998-01-16]: old.html\n"
	if string(text) != want || len(left) != 0 {
		t.Errorf("got\n%s%+v\nwant\n%s", text, left, want)
	}
	if text, left := (&Report{Sequence: 3, Base: "http://www.site.example/"}).Text(); string(text) != "SequenceNumber: 3\nURLBase: http://www.site.example/\n\n" || left != nil {
		t.Errorf("no changes: %q, %v", text, left)
	}
}

func TestRUP_6_4_WrittenPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/a,b": "a%2Cb", "/a b": "a%20b", "/a%20b": "a%20b", "/": "./", "//x": ".//x", "/x:y": "./x:y", "/?q,r": "./?q%2Cr", "/\u00fc": "%C3%BC", "/a\nDelete: b": "a%0ADelete:%20b",
		"/a#b": "a",
	} {
		text, left := (&Report{Sequence: 1, Base: "http://www.site.example/", Entries: []Entry{entry(path, New, time.Time{})}}).Text()
		if line := strings.Split(string(text), "\n")[3]; line != "New[]: "+want || len(left) != 0 {
			t.Errorf("%q: %q, %+v; want %q", path, line, left, want)
		}
	}
}

// No line is longer than 900 bytes; there are several lines of one kind and date instead.
func TestRUP_6_4_LongLines(t *testing.T) {
	t.Parallel()
	r := &Report{Sequence: 1, Base: "http://www.site.example/"}
	for i := range 2000 {
		r.Entries = append(r.Entries, entry(fmt.Sprintf("/%04d/%s", i, strings.Repeat("x", i%50)), New, date(2020, 1, 1)))
	}
	const space = maxLine - len("New[2020-01-01]: ")
	fits, not := entry("/"+strings.Repeat("y", space), New, date(2020, 1, 1)), entry("/"+strings.Repeat("z", space+1), New, date(2020, 1, 1))
	r.Entries = append(r.Entries, fits, not)
	text, left := r.Text()
	longest, count := 0, 0
	for line := range strings.Lines(string(text)) {
		longest, count = max(longest, len(line)-1), count+1
	}
	if longest != maxLine || count < 50 || count > 200 {
		t.Errorf("%d lines, the longest has %d bytes", count, longest)
	}
	if len(left) != 1 || left[0].Reason != "it is too long for a line" || left[0].Kind != New {
		t.Errorf("left %+v", left)
	}
	if back := parseReport(t, string(text)); len(back.Entries) != 2001 || back.Entries[2000].URL != fits.URL || back.Skipped != 0 {
		t.Errorf("%d entries come back: %+v", len(back.Entries), back.Diagnostics)
	}
}

func TestReportLeavesOutWhatIsElsewhere(t *testing.T) {
	t.Parallel()
	r := &Report{Base: "http://www.site.example/a/", Entries: []Entry{
		entry("/b", New, time.Time{}), {URL: "http://other.example/a/b", Kind: New}, {URL: "http://www.site.example/a/x", Kind: "Moved"},
	}}
	text, left := r.Text()
	if strings.Count(string(text), "\n") != 3 || len(left) != 3 {
		t.Errorf("%s, left %+v", text, left)
	}
	if text, left := (&Report{Base: "nowhere", Entries: r.Entries}).Text(); text != nil || len(left) != 3 {
		t.Errorf("%s, left %+v", text, left)
	}
}

func TestReportParts(t *testing.T) {
	t.Parallel()
	r := &Report{Sequence: 7, Base: "http://www.site.example/"}
	if parts := r.Parts(); len(parts) != 1 || parts[0].Sequence != 7 {
		t.Errorf("nothing: %+v", parts)
	}
	for i := range 2*MaxPaths + 1 {
		r.Entries = append(r.Entries, entry(fmt.Sprintf("/%d", i), New, date(2020, 1, 1)))
	}
	long := &Report{Sequence: 1, Base: r.Base}
	for i := range 20_000 {
		long.Entries = append(long.Entries, entry(fmt.Sprintf("/%05d%s", i, strings.Repeat(",", 250)), New, date(2020, 1, i)))
	}
	for _, c := range []struct {
		r     *Report
		parts int
	}{{r, 3}, {long, 2}} {
		parts, n := c.r.Parts(), 0
		for i, p := range parts {
			text, left := p.Text()
			back := parseReport(t, string(text))
			if back.Truncated || len(left) > 0 || back.Sequence != c.r.Sequence+int64(i) || len(text) > MaxReport {
				t.Errorf("part %d: %d bytes, %d left, truncated %v", i, len(text), len(left), back.Truncated)
			}
			n += len(back.Entries)
		}
		if len(parts) != c.parts || n != len(c.r.Entries) {
			t.Errorf("%d parts, %d entries of %d", len(parts), n, len(c.r.Entries))
		}
	}
	if !slices.IsSortedFunc(r.Parts(), func(a, b *Report) int { return int(a.Sequence - b.Sequence) }) {
		t.Error("numbers do not count up")
	}
}
