// Package control has the actions by which an operator changes a running crawl: pause and resume
// the crawl or a host, slow a host down, add seeds, forget, fetch again, retry, change settings,
// rebuild search indexes, and retire indexers. Commands and the dashboard use only these functions.
//
// Each action writes a line to the crawl log: who did what, when, and from which address. An action
// that is an event carries its line in the event. An action that changes the spec waits until its
// line is acknowledged before it changes the spec, so no change is without a line. If the change
// then fails, a second line says so. An action that would change nothing writes no line.
package control

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/canon"
)

// By is the operator who requests an action.
type By struct {
	Who  string // a user, for example ada@laptop, or dashboard
	From string // the address from which the request came; empty: this machine
}

// ErrNotRunning says that the action needs a running crawl.
var ErrNotRunning = errors.New("the crawl is not running; start it with: curtsy crawl --dir DIR, or use curtsy commands with its --dir")

// The actions, as the crawl log names them.
const (
	actionPause      = "pause"
	actionResume     = "resume"
	actionPauseHost  = "pause-host"
	actionResumeHost = "resume-host"
	actionDelayHost  = "delay-host"
	actionSeed       = "seed"
	actionForget     = "forget"
	actionRemember   = "remember"
	actionRefetch    = "refetch"
	actionRetry      = "retry"
	actionSettings   = "settings"
	actionUpdates    = "updates"
	actionReindex    = "reindex"
	actionRetire     = "retire"
	actionUnretire   = "unretire"
)

// pollEvery is the interval at which an action checks whether all processes of the crawl follow it.
const pollEvery = 20 * time.Millisecond

// logPatience is how long an action waits when the queue of the crawl log is full. It applies to
// lines that must not delay their caller: the operator may be gone, or the process that would empty
// the queue starts only after the caller.
const logPatience = 5 * time.Second

// action describes an action for the crawl log.
type action struct {
	what string     // one of those above
	on   string     // a host, a URL, settings
	more string     // detail
	host canon.Host // the line goes to the shard of this host; empty: to the first shard
}

func audit(by By, a action) crawl.Audit {
	return crawl.Audit{ID: rand.Text()[:12], At: time.Now(), Who: by.Who, From: by.From, Action: a.what, What: a.on, Detail: a.more}.Bounded()
}

// notify submits a line for the crawl log.
func notify(ctx context.Context, c *asker.Crawl, host canon.Host, line crawl.Audit) error {
	shard := 0
	if host != "" {
		shard = crawl.ShardOf(host, c.Spec.Shards)
	}
	return asker.Submit(ctx, c.Queue, c.Spec, asker.Submission{shard: {{Audits: []crawl.Audit{line}}}})
}

// submit submits the events of an action together with its line.
func submit(ctx context.Context, c *asker.Crawl, by By, a action, s asker.Submission) error {
	first := -1
	for shard := range s {
		if first < 0 || shard < first {
			first = shard
		}
	}
	if first < 0 {
		return nil
	}
	s[first][0].Audits = []crawl.Audit{audit(by, a)}
	return asker.Submit(ctx, c.Queue, c.Spec, s)
}

// errSame says that a change would change nothing.
var errSame = errors.New("this changes nothing")

// maxSpecBytes bounds the spec, which is one message of at most crawl.MaxPayloadBytes. A crawl with
// an unreadable spec could not even be paused.
const maxSpecBytes = crawl.MaxPayloadBytes - 64<<10

// change changes the spec and writes a line to the crawl log before. changed is false if f reports
// that nothing would change. If that happens after the line was written, the change was made: by
// this call, whose acknowledgement was lost, or by somebody else at the same time.
func change(ctx context.Context, c *asker.Crawl, by By, a action, f func(crawl.Spec) (next crawl.Spec, changed bool, err error)) (changed bool, err error) {
	if c.Stopped() {
		return false, ErrNotRunning
	}
	logged := false
	_, err = service.ChangeSpec(ctx, c.Bucket, func(old *crawl.Spec) (crawl.Spec, error) {
		if old == nil {
			return crawl.Spec{}, service.ErrNoSpec
		}
		next, changed, err := f(*old)
		if err == nil && !changed {
			err = errSame
		}
		if err == nil {
			err = fits(next)
		}
		if err != nil || logged {
			return next, err
		}
		logged = true
		return next, notify(ctx, c, a.host, audit(by, a))
	})
	switch {
	case errors.Is(err, errSame):
		return logged, nil
	case err != nil && logged:
		return false, failed(ctx, c, by, a, err)
	}
	return err == nil, err
}

// failed writes a second line, which says why the action of the first line failed. It returns why.
func failed(ctx context.Context, c *asker.Crawl, by By, a action, why error) error {
	line := audit(by, a)
	line.Error = why.Error()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logPatience)
	defer cancel()
	if err := notify(ctx, c, a.host, line.Bounded()); err != nil {
		return fmt.Errorf("%w (and the crawl log could not be written: %w)", why, err)
	}
	return why
}

// await polls until all processes of the crawl follow an action, or until ctx ends.
func await(ctx context.Context, what string, ok func() (bool, error)) error {
	for {
		done, err := ok()
		if done && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s, but not all services of the crawl have confirmed it yet: %w", what, errors.Join(err, ctx.Err()))
		case <-time.After(pollEvery):
		}
	}
}
