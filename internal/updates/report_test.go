package updates

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A report of the largest size comes in parts, and each part fits into an event.
func TestReportInParts(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("SequenceNumber: 7\nURLBase: http://www.site.example/\n\n")
	for i := range 50_000 {
		kind := "Change"
		if i%10_000 == 9_999 {
			kind = "Delete"
		}
		fmt.Fprintf(&b, "%s[2026-01-16]: %s/%d.html\n", kind, strings.Repeat("d", 40), i)
	}
	now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	site, parts, err := Reports(b.String(), now)
	if err != nil || site != testSite {
		t.Fatal(site, err)
	}
	n, gone := 0, 0
	for i, p := range parts {
		if p.Part != i || p.Parts != len(parts) || p.Number != 7 || p.Truncated || p.Refused != 0 || !p.Received.Equal(now) {
			t.Errorf("part %d: %+v", i, p)
		}
		size := len(crawl.AppendEvent(nil, &crawl.Event{Reports: parts[i : i+1]}))
		if size > 900<<10 {
			t.Errorf("part %d takes %d bytes", i, size)
		}
		for _, l := range p.Links {
			n += len(l.URLs)
			if l.Gone {
				gone += len(l.URLs)
			}
		}
	}
	if n != 50_000 || gone != 5 || len(parts) < 2 {
		t.Errorf("%d URLs, %d of them gone, in %d parts", n, gone, len(parts))
	}
	_, parts, err = Reports(b.String()+"New: more.html\n", now)
	if err != nil || !parts[0].Truncated {
		t.Errorf("one path more is not noticed: %v", err)
	}
}

// The order of the lines does not matter either.
func TestReportInPartsOfAnyOrder(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"a.io", strings.Repeat(strings.Repeat("b", 59)+".", 2) + "io", strings.Repeat(strings.Repeat("b", 59)+".", 4) + "io"} {
		var b strings.Builder
		fmt.Fprintf(&b, "SequenceNumber: 7\nURLBase: http://%s/\n\n", host)
		for i := range 25_000 {
			fmt.Fprintf(&b, "New: %x\nDelete: %x\n", 2*i, 2*i+1)
		}
		_, parts, err := Reports(b.String(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i, p := range parts {
			if size := len(crawl.AppendEvent(nil, &crawl.Event{Reports: parts[i : i+1]})); size > 900<<10 {
				t.Errorf("part %d of a report of %d characters of host takes %d bytes", i, len(host), size)
			}
			for _, l := range p.Links {
				n += len(l.URLs)
			}
		}
		if n != 50_000 {
			t.Errorf("%d URLs", n)
		}
	}
}

func TestReportDates(t *testing.T) {
	// a page may have been fetched in the same second
	received := time.Date(2026, 1, 20, 11, 59, 59, 1, time.UTC)
	for date, want := range map[string]string{
		"2026-01-16":                    "2026-01-16T23:59:59Z", // any time of that day
		"2026-01-16T10:00:00Z":          "2026-01-16T10:00:00Z",
		"Fri, 16 Jan 2026 10:00:00 GMT": "2026-01-16T10:00:00Z",
		"2026-01-20":                    "2026-01-20T12:00:00Z", // not later than its receipt
		"2036-01-20":                    "2026-01-20T12:00:00Z",
		"yesterday":                     "2026-01-20T12:00:00Z",
		"":                              "2026-01-20T12:00:00Z",
	} {
		_, parts, err := Reports("SequenceNumber: 1\nURLBase: http://www.site.example/\n\nNew["+date+"]: a.html\n", received)
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Unix(parts[0].Links[0].Mods[0], 0).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%q: changed by %s, want %s", date, got, want)
		}
	}
	_, parts, err := Reports("URLBase: http://www.site.example\nSequenceNumber: 9\n\n", received)
	if err != nil || len(parts) != 1 || len(parts[0].Links) != 0 || parts[0].Number != 9 {
		t.Errorf("a report without changes counts, too: %+v, %v", parts, err)
	}
}

func FuzzReports(f *testing.F) {
	f.Add(testReport)
	f.Add("URLBase: http://[::1]:80/a/../\nSequenceNumber=0\n\nDelete[]: ../x, http://user@h/, //h/\n")
	f.Fuzz(func(t *testing.T, text string) {
		now := time.Unix(1_700_000_000, 0)
		site, parts, err := Reports(text, now)
		if err != nil {
			return
		}
		for _, p := range parts {
			for _, l := range p.Links {
				for i, u := range l.URLs {
					if u.Origin() != site || l.Mods[i] > now.Unix() || l.Source != crawl.SourceRUP {
						t.Errorf("%s of %s, %d", u, site, l.Mods[i])
					}
				}
			}
		}
	})
}
