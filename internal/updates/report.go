package updates

import (
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// Reports parses the text of a report that was received at a time, and returns what is appended to
// the log of its site's shard: one Report, or several parts that fit into an event each. The caller
// adds Address or Index. An error explains why the text is not a report.
func Reports(text string, received time.Time) (site canon.Origin, parts []crawl.Report, err error) {
	read, err := rup.ParseReport([]byte(text))
	if err != nil {
		return site, nil, err
	}
	return Parts(read, received)
}

// Parts does the same for a report that is already parsed.
func Parts(read *rup.Report, received time.Time) (site canon.Origin, parts []crawl.Report, err error) {
	base, err := canon.Parse(read.Base)
	if err != nil {
		return site, nil, fmt.Errorf("URLBase %s: %w", read.Base, err)
	}
	site = base.Origin()
	from, err := site.URL("/rupinfo.txt")
	if err != nil {
		return site, nil, fmt.Errorf("URLBase %s: %w", read.Base, err)
	}
	refused, size := len(read.Refused), 0
	var links []crawl.Links
	for _, e := range read.Entries {
		u, err := canon.Parse(e.URL)
		if err != nil || u.Origin() != site {
			refused++
			continue
		}
		if size += len(u) + entryOverhead; size > crawl.MaxEventBytes {
			parts, links, size = append(parts, crawl.Report{Links: links}), nil, len(u)+entryOverhead
		}
		gone := e.Kind == rup.Delete
		if n := len(links); n == 0 || links[n-1].Gone != gone {
			size += len(from) + entryOverhead // there may be as many Links as entries
			links = append(links, crawl.Links{FoundOn: from, Depth: 1, Source: crawl.SourceRUP, Gone: gone})
		}
		l := &links[len(links)-1]
		l.URLs, l.Mods = append(l.URLs, u), append(l.Mods, changed(e.Date, received))
	}
	parts = append(parts, crawl.Report{Links: links})
	for i := range parts {
		p := &parts[i]
		p.Origin, p.Number, p.Part, p.Parts, p.Received = site, uint64(read.Sequence), i, len(parts), received
		p.Refused, p.Truncated = refused, read.Truncated
	}
	return site, parts, nil
}

// entryOverhead is approximately how many bytes a URL takes in an event in addition to its text.
const entryOverhead = 16

// changed returns the latest time at which a page in a report can have changed, in Unix seconds,
// rounded up. Most dates are days (formats §6.4), and a page that was fetched on the morning of
// that day may have changed in the afternoon.
func changed(date, received time.Time) int64 {
	if !date.IsZero() && date.Equal(date.Truncate(24*time.Hour)) {
		date = date.Add(24*time.Hour - time.Second)
	}
	if date.IsZero() || date.After(received) {
		date = received
	}
	return date.Add(time.Second - 1).Unix()
}
