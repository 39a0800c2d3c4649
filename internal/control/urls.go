package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
)

// MaxSeedsAtOnce is the most seeds that one action can add.
const MaxSeedsAtOnce = 10_000

// AddSeeds adds URLs to the seeds of the crawl and submits them. This widens the scope, unless that
// is any. It returns when their shards have accepted them. URLs that are known already are not
// fetched again.
func AddSeeds(ctx context.Context, c *asker.Crawl, by By, texts []string) (string, error) {
	if c.Stopped() {
		return "", ErrNotRunning
	}
	if len(texts) == 0 || len(texts) > MaxSeedsAtOnce {
		return "", fmt.Errorf("%d URLs were given: use 1 to %d, for example https://docs.example.org/", len(texts), MaxSeedsAtOnce)
	}
	var seeds []canon.URL
	for _, text := range texts {
		u, err := canon.Parse(text)
		if err != nil {
			return "", fmt.Errorf("%q is not a URL that can be crawled (%w); use for example https://docs.example.org/", text, err)
		}
		if !slices.Contains(seeds, u) {
			seeds = append(seeds, u)
		}
	}
	a := seeding(seeds)
	changed, err := change(ctx, c, by, a, func(s crawl.Spec) (next crawl.Spec, changed bool, err error) {
		next = s
		next.Seeds = slices.Clone(s.Seeds)
		for _, u := range seeds {
			if !slices.Contains(next.Seeds, string(u)) {
				next.Seeds = append(next.Seeds, string(u))
			}
		}
		return next, len(next.Seeds) > len(s.Seeds), nil
	})
	if err != nil {
		return "", err
	}
	s := asker.Seeds(c.Spec, seeds)
	if changed { // the crawl log has the line already
		if err := asker.Submit(ctx, c.Queue, c.Spec, s); err != nil {
			return "", failed(ctx, c, by, a, err)
		}
	} else if err := SubmitSeeds(ctx, c, by, seeds); err != nil {
		return "", err
	}
	if err := applied(ctx, c, s); err != nil {
		return "", err
	}
	if len(seeds) == 1 {
		return string(seeds[0]) + " is a seed", nil
	}
	return fmt.Sprintf("%d URLs are seeds", len(seeds)), nil
}

// SubmitSeeds submits seeds that the spec of c contains already. It returns when they are
// acknowledged, whether or not a process of the crawl runs.
func SubmitSeeds(ctx context.Context, c *asker.Crawl, by By, seeds []canon.URL) error {
	if len(seeds) == 0 {
		return nil
	}
	return submit(ctx, c, by, seeding(seeds), asker.Seeds(c.Spec, seeds))
}

// nothingDone turns an error into one that says that nothing was submitted, if it means that the
// responsible frontier does not answer.
func nothingDone(what string, err error) error {
	if !errors.Is(err, ask.ErrIncomplete) && !errors.Is(err, ask.ErrNobody) {
		return err
	}
	return fmt.Errorf("nothing was done, because the frontier responsible for %s does not answer: try again when curtsy status shows no missing shard (%w)", what, err)
}

// applied waits until the shards have accepted what was submitted to them.
func applied(ctx context.Context, c *asker.Crawl, s asker.Submission) error {
	err := s.Applied(ctx, c.Queue, c.Spec)
	if err == nil {
		return nil
	}
	return fmt.Errorf("submitted, but not accepted yet: the frontier of its hosts does not answer and will accept it when it is back. There is no need to try "+
		"again; to see whether it answers, type: curtsy status (%w)", err)
}

func seeding(seeds []canon.URL) action {
	a := action{what: actionSeed, on: string(seeds[0]), host: seeds[0].Host()}
	if len(seeds) > 1 {
		a.more = fmt.Sprintf("and %d more", len(seeds)-1)
	}
	return a
}

// fits returns an error that says what to do if a spec is too large.
func fits(s crawl.Spec) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if len(b) > maxSpecBytes {
		return fmt.Errorf("the crawl's settings would have %d KiB; the limit is %d KiB: use a second crawl for the rest: curtsy crawl --dir DIR URL",
			len(b)>>10, maxSpecBytes>>10)
	}
	return nil
}

// Forget removes from the crawl a host ("d.example") or a URL and all URLs that begin with it. With
// undo they may be crawled again. It returns when they are no longer shown to anybody. The pages
// themselves are removed soon afterwards.
func Forget(ctx context.Context, c *asker.Crawl, by By, text string, undo bool) (string, error) {
	entry, err := crawl.ParseForgotten(text)
	if err != nil {
		return "", err
	}
	a := action{what: actionForget, on: entry, host: crawl.EntryHost(entry)}
	if undo {
		a.what = actionRemember
	}
	changed, err := change(ctx, c, by, a, func(s crawl.Spec) (crawl.Spec, bool, error) { return s.Forget(entry, undo) })
	switch {
	case err != nil:
		return "", err
	case undo && !changed:
		return entry + " was not forgotten", nil
	case undo:
		return entry + " may be crawled again", nil
	}
	err = await(ctx, entry+" is being forgotten", func() (bool, error) {
		spec, err := service.ReadSpec(ctx, c.Bucket) // somebody may have changed it since
		if err != nil {
			return false, err
		}
		hidden, _, err := asker.Forgotten(ctx, c.Queue, spec)
		return hidden, err
	})
	if err != nil {
		return "", err
	}
	if !changed {
		return entry + " was already forgotten", nil
	}
	return entry + " is forgotten", nil
}

// Refetch queues a URL that the crawl knows, so that it is fetched again, whatever its state is.
// The stored copy stays until then. Refetch returns when the URL is queued.
func Refetch(ctx context.Context, c *asker.Crawl, by By, text string) (string, error) {
	if c.Stopped() {
		return "", ErrNotRunning
	}
	x, err := c.Explain(ctx, text)
	if err != nil {
		return "", nothingDone(text, err)
	}
	if !x.Seen {
		return "", &UnknownError{Crawl: c.Spec.Name, What: x.Canonical, Hint: "to crawl it, type: curtsy seed " + webtext.ShellWord(x.Canonical)}
	}
	u := canon.URL(x.Canonical)
	a := action{what: actionRefetch, on: string(u)}
	s := asker.Refetches(c.Spec, []string{string(u)})
	if err := submit(ctx, c, by, a, s); err != nil {
		return "", err
	}
	if err := applied(ctx, c, s); err != nil {
		return "", err
	}
	// The action succeeded, even if its result cannot be described.
	if x, err = c.Explain(ctx, text); err == nil && x.State != crawl.Queued.String() && x.Reason != "" {
		return fmt.Sprintf("%s is %s (%s)", u, x.State, x.Reason), nil
	}
	return fmt.Sprintf("%s will be fetched again", u), nil
}

// Retry tries unreachable hosts again without waiting for the back-off of their failures. Delays
// and a Retry-After stay in force. It returns when the failed URLs of the hosts are queued again.
func Retry(ctx context.Context, c *asker.Crawl, by By, texts []string) (string, error) {
	if c.Stopped() {
		return "", ErrNotRunning
	}
	var hosts []string
	for _, text := range texts {
		h, err := known(ctx, c, text)
		if err != nil {
			return "", err
		}
		if !slices.Contains(hosts, string(h)) {
			hosts = append(hosts, string(h))
		}
	}
	if len(hosts) == 0 {
		return "", fmt.Errorf("no host was given; use for example docs.example.org")
	}
	a := action{what: actionRetry, on: strings.Join(hosts, " ")}
	s := asker.Retries(c.Spec, hosts)
	if err := submit(ctx, c, by, a, s); err != nil {
		return "", err
	}
	if err := applied(ctx, c, s); err != nil {
		return "", err
	}
	err := await(ctx, "the hosts will be tried again", func() (bool, error) {
		st, err := asker.Status(ctx, c.Queue, c.Spec)
		ready := 0
		for _, shard := range st.Shards {
			if _, concerned := s[shard.Shard]; concerned && !shard.Retrying {
				ready++
			}
		}
		if ready == len(s) { // an error may be about other shards
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return "", err
	}
	return "will be tried again: " + strings.Join(hosts, ", "), nil
}
