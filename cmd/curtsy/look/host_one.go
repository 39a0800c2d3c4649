package look

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/dustin/go-humanize"
)

// oneHost prints everything that is known about a host.
func (a *commands) oneHost(ctx context.Context, from *asker.Crawl, arg string, asJSON bool) error {
	name, err := app.TypedHost(arg)
	if err != nil {
		return err
	}
	found := false
	err = from.HostsNamed(ctx, []string{string(name)}, func(h crawl.HostInfo) error {
		found = true
		if asJSON {
			return a.PrintJSON(h)
		}
		printHost(a.Stdout, h)
		return nil
	})
	if !found && err == nil {
		add := "seed"
		if from.Stopped() {
			add = "crawl"
		}
		return fmt.Errorf("the crawl does not know the host %s; to add it: curtsy %s%s https://%s/", name, add, a.About, name)
	}
	return err
}

func printHost(w io.Writer, h crawl.HostInfo) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, term.Clean(fmt.Sprintf(format, args...)))
	}
	line("host", "%s", h.Host)
	state := strings.TrimSuffix(h.State+": "+h.Reason, ": ")
	if h.NextDue != nil {
		state += ", next " + h.NextDue.Local().Format(time.DateTime)
	}
	line("state", "%s", state)
	line("delay", "%gs (%s)", h.DelayS, h.DelaySource)
	line("queued", "%s", term.Count(h.Queued, "URL"))
	line("fetched", "%s", term.Count(h.Fetched, "request"))
	if h.MirrorOf != nil {
		line("mirror of", "%s", *h.MirrorOf)
	}
	for _, o := range h.Robots {
		text := strings.TrimSuffix(o.State+": "+o.Reason, ": ")
		if o.FetchedAt != nil {
			text += ", fetched " + o.FetchedAt.Local().Format(time.DateTime)
		}
		if o.HostHint != "" {
			text += ", names " + o.HostHint + " as the main mirror"
		}
		line("robots.txt", "%s: %s", o.Origin, text)
		for _, l := range o.Usage {
			line("use", "%s", usageText(l))
		}
		if o.UsageMore > 0 {
			line("use", "and %s", term.Count(int64(o.UsageMore), "more line"))
		}
	}
	for _, n := range fileNotes(h.Robots) {
		name, text, _ := strings.Cut(n, ": ")
		line(name, "%s", text)
	}
	for _, s := range h.AgentServers {
		line("robot server", "line %d, for %s: %s", s.Line, s.Path, s.Target)
	}
	for _, d := range h.Dispatches {
		line("mobile robot", "%s", robotText(d))
	}
	for _, s := range h.Sitemaps {
		text := s.URL
		switch {
		case s.Reason != "":
			text += ": " + s.Reason
		case s.ReadAt != nil:
			text += ": " + humanize.Comma(int64(s.Entries)) + " entries, read " + s.ReadAt.Local().Format(time.DateTime)
		}
		line("sitemap", "%s", text)
	}
}

// usageText is a line about use for people: its meaning, and where it is.
func usageText(l crawl.UsageLine) string {
	var said []string
	for _, purpose := range slices.Sorted(maps.Keys(l.Preferences)) {
		said = append(said, purpose+" "+l.Preferences[purpose])
	}
	text := strings.Join(said, ", ")
	if l.Inferred {
		text += ", inferred from its rules for AI training"
	}
	if l.Path != "" && text != "" {
		text += " for " + l.Path
	}
	if text != "" {
		text += ", "
	}
	return fmt.Sprintf("%sline %d: %s", text, l.Line, l.Text)
}

// usageNoted is how many lines about the use of pages the list of hosts shows for each.
const usageNoted = 3

// usageNote is what the robots.txt of a host contains about the use of its pages; "" means nothing.
func usageNote(origins []crawl.RobotsInfo) string {
	var lines []string
	for _, o := range origins {
		for _, l := range o.Usage {
			if text := "robots.txt line " + fmt.Sprint(l.Line) + " on use: " + l.Text; !slices.Contains(lines, text) {
				lines = append(lines, text)
			}
		}
	}
	if n := len(lines); n > usageNoted {
		lines = append(lines[:usageNoted], fmt.Sprintf("and %d more lines on use", n-usageNoted))
	}
	return strings.Join(lines, "; ")
}
