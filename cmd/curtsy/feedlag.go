package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/hooks"
)

// lagsAfter is how long changes must wait for a sink that accepts none until that is reported.
const lagsAfter = 10 * time.Minute

// lag knows whether a sink accepts what is sent to it. Its methods may be called concurrently.
type lag struct {
	name string

	mu     sync.Mutex // guards what follows
	since  time.Time  // since when changes wait and none was accepted; zero: none waits
	behind int64
	why    string // why the last attempt failed
}

// events are the events of a sink, which are counted as well.
func (l *lag) events(counted feed.Events) feed.Events {
	return feed.Events{
		Sent: func(changes, refused int) {
			counted.Sent(changes, refused)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.why = ""
			if !l.since.IsZero() {
				l.since = time.Now()
			}
		},
		Failed: func(err error) {
			counted.Failed(err)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.why = err.Error()
		},
		Behind: func(changes int64) {
			counted.Behind(changes)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.behind = changes
			switch {
			case changes == 0:
				l.since = time.Time{}
			case l.since.IsZero():
				l.since = time.Now()
			}
		},
	}
}

// cause is what an operator should know at a time; ok is false if all is well.
func (l *lag) cause(now time.Time) (c hooks.Cause, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() || now.Sub(l.since) < lagsAfter {
		return c, false
	}
	text := fmt.Sprintf("%d changes wait, and none was accepted for %s", l.behind, now.Sub(l.since).Round(time.Minute))
	if l.why != "" {
		text += ": " + l.why
	}
	return hooks.Cause{Kind: hooks.KindFeed, Subject: l.name, Text: text, Since: l.since}, true
}

// causes are those of all sinks.
func (f *feeds) causes(now time.Time) (all []hooks.Cause) {
	for _, l := range f.lags {
		if c, ok := l.cause(now); ok {
			all = append(all, c)
		}
	}
	return all
}
