package dashboard

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
)

// hostView is what host.html shows.
type hostView struct {
	crawl.HostInfo
	Time         timelineView
	Updates      []crawl.UpdatesInfo
	MoreOrigins  int // that are not listed, like those below
	MobileRobots []robotRow
	MoreRobots   int
	MoreSitemaps int
	Before       bool // requests are shown before a time, and not the last
	CanControl   bool // a process runs that can be controlled
	MaxDelay     float64
}

// HasUsage reports whether a robots.txt of the host contains rules for the use of its pages.
func (v hostView) HasUsage() bool {
	return slices.ContainsFunc(v.Robots, func(o crawl.RobotsInfo) bool { return len(o.Usage) > 0 })
}

func (v hostView) title() string { return text(v.Host, 80) }

// How many rows of the lists of a host are shown.
const (
	originsShown  = 20
	nestedShown   = 10
	robotsShown   = 50
	sitemapsShown = 30
	updatesShown  = 10
)

func host(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	name, err := canon.ParseHost(r.PathValue("host"))
	if err != nil {
		return nil, web.NotFound("This is not a host name: %s.", text(r.PathValue("host"), 80))
	}
	var before time.Time
	if s := r.field("before"); s != "" {
		if before, err = time.Parse(time.RFC3339Nano, s); err != nil {
			return nil, web.Wrong("This is not a time: %s.", text(s, 40))
		}
	}
	v, found := hostView{Before: !before.IsZero(), CanControl: !c.Stopped(), MaxDelay: crawl.MaxHostDelay.Seconds()}, false
	err = c.HostsNamed(ctx, []string{string(name)}, func(h crawl.HostInfo) error {
		v.HostInfo, found = h, true
		return nil
	})
	switch {
	case !found && err != nil:
		return nil, err
	case !found:
		return nil, web.NotFound("The crawl knows no host of that name: %s.", name).With("curtsy seed " + webtext.ShellWord("https://"+string(name)+"/"))
	case err != nil && !errors.Is(err, ask.ErrIncomplete):
		return nil, err
	}
	// One more than is shown: from its end the first pause is counted.
	t, _, err := questions.Timeline.Ask(ctx, c, questions.TimelineRequest{Host: name, Before: before, Limit: requestsShown + 1})
	if err != nil && !errors.Is(err, ask.ErrIncomplete) {
		return nil, err
	}
	v.Time = drawTimeline(t)
	v.Robots, v.MoreOrigins = cut(v.Robots, originsShown)
	for i := range v.Robots {
		v.Robots[i].Nested, _ = cut(v.Robots[i].Nested, nestedShown)
	}
	v.MobileRobots, v.MoreRobots = cut(robotRows(v.HostInfo, &c.Spec), robotsShown)
	v.Sitemaps, v.MoreSitemaps = cut(v.Sitemaps, sitemapsShown)
	told, missing := questions.UpdatesPage.Ask(ctx, c, crawl.UpdatesQuery{Host: string(name), Filter: "://" + string(name), Paging: crawl.Paging{Limit: crawl.MaxLimit}})
	for _, u := range told.Rows {
		if at, err := canon.Parse(u.Site); err == nil && at.Host() == name && len(v.Updates) < updatesShown {
			v.Updates = append(v.Updates, u)
		}
	}
	if missing != nil && !errors.Is(missing, ask.ErrIncomplete) {
		return nil, missing
	}
	return v, nil // the shard that has the host has answered
}

// cut leaves n elements of a list, and returns how many it removed.
func cut[T any](all []T, n int) (some []T, more int) {
	if len(all) <= n {
		return all, 0
	}
	return all[:n:n], len(all) - n
}
