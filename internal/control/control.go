// Package control changes a crawl that runs: it pauses and resumes the crawl or a host, slows a
// host down, adds seeds, forgets, fetches again, retries, changes scope and limits, has search
// indexes built anew, and has indexers give their shards away. Commands and the dashboard steer by
// these functions alone.
//
// Each act leaves a line in the crawl log: who did what, when, and from which address. An act that
// is an event carries its line with it. Where an act changes the spec, the line is acknowledged
// before the spec is changed, so that no act is without one; should the change fail, a second line
// says so. An act that would change nothing leaves none.
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

// By is who steers.
type By struct {
	Who  string // a user, for example ada@laptop, or dashboard
	From string // the address the wish came from; empty: this machine
}

// ErrNotRunning says that a crawl that does not run cannot be steered so.
var ErrNotRunning = errors.New("the crawl is not running; start it with: curtsy crawl --dir DIR, or use curtsy commands with its --dir")

// The acts, as the crawl log names them.
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

// pollEvery is how often it is looked whether those who work on the crawl follow it.
const pollEvery = 20 * time.Millisecond

// logPatience is how long an act waits for room in the log for a line that cannot be waited for any
// longer: whoever steers has no more time, or whoever makes room begins only after that.
const logPatience = 5 * time.Second

// action is what is done, for the crawl log.
type action struct {
	what string     // one of those above
	on   string     // a host, a URL, settings
	more string     // detail
	host canon.Host // in whose shard it is logged; empty: the first
}

func audit(by By, a action) crawl.Audit {
	return crawl.Audit{ID: rand.Text()[:12], At: time.Now(), Who: by.Who, From: by.From, Action: a.what, What: a.on, Detail: a.more}.Bounded()
}

// notify has a line written to the crawl log.
func notify(ctx context.Context, c *asker.Crawl, host canon.Host, line crawl.Audit) error {
	shard := 0
	if host != "" {
		shard = crawl.ShardOf(host, c.Spec.Shards)
	}
	return asker.Submit(ctx, c.Queue, c.Spec, asker.Submission{shard: {{Audits: []crawl.Audit{line}}}})
}

// submit submits events together with the line of the act that they are.
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

// maxSpecBytes bounds the spec, which is one message of at most crawl.MaxPayloadBytes: a crawl
// whose spec nobody can read any more could not even be paused.
const maxSpecBytes = crawl.MaxPayloadBytes - 64<<10

// change changes the spec, with a line in the crawl log. changed is false if f says that nothing
// would change. Once the line is there, that nothing is left to be changed means that it was: by
// us, and the acknowledgement was lost, or by somebody else at the same time.
func change(ctx context.Context, c *asker.Crawl, by By, a action, f func(crawl.Spec) (next crawl.Spec, changed bool, err error)) (changed bool, err error) {
	if c.Stopped() {
		return false, ErrNotRunning
	}
	told := false
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
		if err != nil || told {
			return next, err
		}
		told = true
		return next, notify(ctx, c, a.host, audit(by, a))
	})
	switch {
	case errors.Is(err, errSame):
		return told, nil
	case err != nil && told:
		return false, failed(ctx, c, by, a, err)
	}
	return err == nil, err
}

// failed has a second line say why what the first one tells of was not done, and returns why.
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

// await asks until those who work on the crawl follow it, or ctx ends.
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
