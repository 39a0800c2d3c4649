package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
)

// handOut takes visits as fast as possible and ends each at once, with a clock of its own that
// advances by a delay whenever nothing is due.
func handOut(ctx context.Context, s settings, a *frontier.Alone, out io.Writer) error {
	const most = 2_000_000 // URLs
	at := time.Now().Add(time.Hour)
	var grants, ends meter
	urls, visits := 0, 0
	for urls < most && ctx.Err() == nil {
		began := now()
		vs, err := a.Grant(8, at)
		if err != nil {
			return err
		}
		granted := now()
		grants.add(granted.sub(began))
		if len(vs) == 0 {
			if at = at.Add(time.Second); time.Until(at) > 24*time.Hour {
				break
			}
			continue
		}
		var events [][]byte
		for i := range vs {
			events = append(events, crawl.AppendEvent(nil, ended(&vs[i])))
			visits++
			urls += len(vs[i].URLs)
		}
		began = now()
		for _, e := range events {
			if err := a.Apply(e); err != nil {
				return err
			}
		}
		ends.add(now().sub(began))
	}
	fmt.Fprintf(out, "\nhanded out %d URLs in %d visits: %.2f µs of CPU a URL to grant, %.2f to apply its outcome; %.0f URLs a second granted, %.0f with outcomes\n",
		urls, visits, micros(grants.cpu)/float64(urls), micros(ends.cpu)/float64(urls),
		float64(urls)/grants.wall.Seconds(), float64(urls)/(grants.wall+ends.wall).Seconds())
	return nil
}

// ended returns the event of a visit in which each page was stored.
func ended(v *crawl.Visit) *crawl.Event {
	o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.URLs)}
	for _, u := range v.URLs {
		o.Results = append(o.Results, crawl.Result{URL: u.URL, Class: crawl.Stored, Status: 200, FetchedAt: time.Now()})
	}
	e := &crawl.Event{Visit: v.ID, Outcome: o}
	for _, r := range v.Robots {
		e.Robots = append(e.Robots, crawl.Robots{Origin: r.Origin, State: crawl.RobotsUnavailable, Status: 404, Fresh: 24 * time.Hour})
	}
	return e
}
