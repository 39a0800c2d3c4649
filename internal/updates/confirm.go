package updates

import (
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// question reads a mail that asks whether its address wants reports of a site (formats §6.5). Such
// a mail has two lines, anywhere in it: URLBase, as in a report, and the page at which to confirm,
// on the same host.
func question(text string, received time.Time) (asks crawl.Report, ok bool) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		u, err := canon.Parse(strings.TrimSpace(value))
		if err != nil {
			continue
		}
		switch {
		case strings.EqualFold(strings.TrimSpace(name), "URLBase"):
			asks.Origin = u.Origin()
		case strings.EqualFold(strings.TrimSpace(name), rup.ConfirmLine):
			asks.Confirm = u
		}
	}
	asks.Parts, asks.Received = 1, received
	return asks, asks.Confirm != "" && asks.Confirm.Host() == asks.Origin.Host
}
