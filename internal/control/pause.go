package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Pause stops the crawl until Resume: no visit is granted, and running visits end before their next
// request. It returns when the frontiers follow, or with the error of ctx. Like all actions it
// returns a sentence about the result.
func Pause(ctx context.Context, c *asker.Crawl, by By) (string, error) {
	return setPaused(ctx, c, by, true, "paused")
}

// Resume continues a paused crawl. It returns when the frontiers follow.
func Resume(ctx context.Context, c *asker.Crawl, by By) (string, error) {
	return setPaused(ctx, c, by, false, "running")
}

func setPaused(ctx context.Context, c *asker.Crawl, by By, paused bool, state string) (string, error) {
	a := action{what: actionResume}
	if paused {
		a.what = actionPause
	}
	_, err := change(ctx, c, by, a, func(s crawl.Spec) (crawl.Spec, bool, error) {
		changed := s.Paused != paused
		s.Paused = paused
		return s, changed, nil
	})
	if err != nil {
		return "", err
	}
	var st crawl.Status
	err = await(ctx, fmt.Sprintf("crawl %q is being set to %s", c.Spec.Name, state), func() (ok bool, err error) {
		st, err = c.Status(ctx)
		return !slices.ContainsFunc(st.Shards, func(s crawl.ShardStatus) bool { return s.Paused != paused }), err
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s queued, %d in flight", state, urls(st.Queued), st.InFlight), nil
}

// PauseHost stops all requests to a host until ResumeHost: the host gets no visit, and a running
// visit ends before its next request. Its URLs stay queued. It returns when the frontier of the
// host follows. Fetchers follow within a moment.
func PauseHost(ctx context.Context, c *asker.Crawl, by By, host string) (string, error) {
	h, err := known(ctx, c, host)
	if err != nil {
		return "", err
	}
	now, err := ruleHost(ctx, c, by, action{what: actionPauseHost}, h, func(r crawl.HostRule) crawl.HostRule { r.Paused = true; return r })
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is paused (%s queued)", h, urls(now.Queued)), nil
}

// ResumeHost continues a paused host as soon as its delay allows. It returns when the frontier of
// the host follows. A host that the crawl does not know is an error, unless it was paused.
func ResumeHost(ctx context.Context, c *asker.Crawl, by By, host string) (string, error) {
	h, err := parseHost(host)
	if err != nil {
		return "", err
	}
	was := false
	now, err := ruleHost(ctx, c, by, action{what: actionResumeHost}, h, func(r crawl.HostRule) crawl.HostRule {
		was = was || r.Paused
		r.Paused = false
		return r
	})
	switch {
	case err != nil:
		return "", err
	case now.Host == "" && was:
		return fmt.Sprintf("%s is no longer paused; the crawl does not know this host", h), nil
	case now.Host == "":
		return "", unknown(c, h)
	}
	return fmt.Sprintf("%s continues (%s queued, one request every %s)", h, urls(now.Queued), seconds(now.DelayS)), nil
}

// DelayHost sets the least delay between requests to a host, which is at most crawl.MaxHostDelay. 0
// removes it. A longer delay that the site, the settings or our back-off require stays in force. It
// returns when the frontier of the host follows.
func DelayHost(ctx context.Context, c *asker.Crawl, by By, host string, d time.Duration) (string, error) {
	h, err := known(ctx, c, host)
	if err != nil {
		return "", err
	}
	now, err := ruleHost(ctx, c, by, action{what: actionDelayHost, more: d.String()}, h, func(r crawl.HostRule) crawl.HostRule { r.Delay = d; return r })
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s: one request every %s", h, seconds(now.DelayS))
	if now.DelayS > d.Seconds() && d > 0 {
		text += fmt.Sprintf(", which is more than %v (%s)", d, now.DelaySource)
	}
	return text, nil
}

// urls is a number of URLs in words.
func urls(n int64) string {
	if n == 1 {
		return "1 URL"
	}
	return humanize.Comma(n) + " URLs"
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}

// ruleHost changes the rule of a host. It waits until the frontier of the host follows and returns
// what the frontier reports about the host: nothing if the crawl does not know the host.
func ruleHost(ctx context.Context, c *asker.Crawl, by By, a action, h canon.Host, to func(crawl.HostRule) crawl.HostRule) (now crawl.HostInfo, err error) {
	a.on, a.host = string(h), h
	var want crawl.HostRule
	_, err = change(ctx, c, by, a, func(s crawl.Spec) (crawl.Spec, bool, error) {
		next, changed, err := s.WithHost(h, to)
		want = next.Hosts[h]
		return next, changed, err
	})
	if err != nil {
		return now, err
	}
	err = await(ctx, fmt.Sprintf("the settings of %s were changed", h), func() (ok bool, err error) {
		found := false
		err = c.HostsNamed(ctx, []string{string(h)}, func(info crawl.HostInfo) error { now, found = info, true; return nil })
		return !found || now.Paused == want.Paused && now.OperatorDelayS == want.Delay.Seconds(), err
	})
	return now, err
}

// parseHost reads the name of a host, or a URL, which stands for its host.
func parseHost(text string) (canon.Host, error) {
	h, err := canon.ParseHost(text)
	if err == nil {
		return h, nil
	}
	u, uerr := canon.Parse(text)
	if uerr != nil {
		return "", fmt.Errorf("%q is not a host name (%w); use for example docs.example.org", text, err)
	}
	return u.Host(), nil
}

// known reads the name of a host and refuses it if the crawl does not know the host, because it is
// probably misspelled.
func known(ctx context.Context, c *asker.Crawl, text string) (canon.Host, error) {
	h, err := parseHost(text)
	if err != nil {
		return "", err
	}
	found := false
	err = c.HostsNamed(ctx, []string{string(h)}, func(crawl.HostInfo) error { found = true; return nil })
	switch {
	case found:
		return h, nil
	case err != nil:
		return "", nothingDone(text, err)
	}
	return "", unknown(c, h)
}

func unknown(c *asker.Crawl, h canon.Host) error {
	return &UnknownError{Crawl: c.Spec.Name, What: string(h), Hint: "to list the known hosts, type: curtsy hosts"}
}

// UnknownError says that the crawl does not know a host or a URL.
type UnknownError struct{ Crawl, What, Hint string }

// Error says what to type next.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("crawl %q does not know %s; %s", e.Crawl, e.What, e.Hint)
}
