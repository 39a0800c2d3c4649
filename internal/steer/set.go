package steer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/internal/service"
)

// ErrNoSetting says that nothing was named to be changed.
var ErrNoSetting = errors.New("change what? for example --scope domain, --max-pages 500 or --delay 2s")

// MaxDelay is the most that the least delay of a crawl may be set to while it runs.
const MaxDelay = 10 * time.Minute

// Scopes are the words for a scope, narrowest first.
var Scopes = []string{"page", "prefix", "host", "domain", "any"}

// Settings changes the scope and the limits of a spec, and its least delay; it may do so more than
// once, on specs that others have changed meanwhile. It refuses what makes no sense.
type Settings func(crawl.Spec) (crawl.Spec, error)

// set is what a change of settings makes of a spec: nothing but scope, links, limits and delay.
func (to Settings) set(s crawl.Spec) (next crawl.Spec, what []string, err error) {
	wish, err := to(s)
	if err != nil {
		return s, nil, err
	}
	if wish.Delay != s.Delay && (wish.Delay < 0 || wish.Delay > MaxDelay) {
		return s, nil, fmt.Errorf("a delay of %v: use 0s to %v, for example 2s", wish.Delay, MaxDelay)
	}
	if !slices.Contains(Scopes, wish.Scope) {
		return s, nil, fmt.Errorf("the scope %q is not known; use one of %s", wish.Scope, strings.Join(Scopes, ", "))
	}
	if wish.MaxPages < 0 || wish.MaxBytes < 0 || wish.MaxPagesPerHost < 0 || wish.MaxDepth < -1 {
		return s, nil, errors.New("a limit is negative; use 0 for none, and -1 for none on the depth")
	}
	next = s
	next.Scope, next.Include, next.Exclude = wish.Scope, full(wish.Include), full(wish.Exclude)
	// Who follows no links any more needs sitemaps, which may be off because of a limit on the
	// depth.
	if next.NoLinks = wish.NoLinks; next.NoLinks && !s.NoLinks {
		next.Sitemaps = wish.Sitemaps
	}
	next.MaxPages, next.MaxBytes, next.MaxDepth, next.MaxPagesPerHost, next.Delay = wish.MaxPages, wish.MaxBytes, wish.MaxDepth, wish.MaxPagesPerHost, wish.Delay
	// A spec that services cannot follow would be followed by nobody.
	if _, err := scope.New(scope.Spec{Kind: next.Scope, Include: next.Include, Exclude: next.Exclude}); err != nil {
		return s, nil, err
	}
	return next, differences(&s, &next), nil
}

// full leaves out expressions that are empty: they match everything, and who types one means none.
func full(list []string) (out []string) {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
}

func followed(no bool) string {
	if no {
		return "not followed"
	}
	return "followed"
}

// differences says in words what is another setting.
func differences(was, is *crawl.Spec) (what []string) {
	differ := func(name, a, b string) {
		if a != b {
			what = append(what, fmt.Sprintf("%s %s → %s", name, a, b))
		}
	}
	limit := func(n int64) string {
		if n <= 0 {
			return "no limit"
		}
		return humanize.Comma(n)
	}
	depth := func(n int) string {
		if n < 0 {
			return "no limit"
		}
		return humanize.Comma(int64(n))
	}
	list := func(l []string) string {
		if len(l) == 0 {
			return "nothing"
		}
		return strings.Join(l, " ")
	}
	differ("scope", was.Scope, is.Scope)
	differ("include", list(was.Include), list(is.Include))
	differ("exclude", list(was.Exclude), list(is.Exclude))
	differ("links", followed(was.NoLinks), followed(is.NoLinks))
	differ("sitemaps", strconv.FormatBool(was.Sitemaps), strconv.FormatBool(is.Sitemaps))
	differ("max-pages", limit(was.MaxPages), limit(is.MaxPages))
	differ("max-bytes", limit(was.MaxBytes), limit(is.MaxBytes))
	differ("max-depth", depth(was.MaxDepth), depth(is.MaxDepth))
	differ("max-pages-per-host", limit(was.MaxPagesPerHost), limit(is.MaxPagesPerHost))
	differ("delay", was.Delay.String(), is.Delay.String())
	return what
}

// Set changes the scope, the limits and the least delay of a crawl that runs. A delay only adds:
// what a site asks for and what our back-off has come to are kept when they are more. It returns
// once that is written; those who work on the crawl follow it at once, URLs that are known already
// in a pass.
func Set(ctx context.Context, c *asker.Crawl, by By, to Settings) (string, error) {
	if c.AtRest() {
		return "", ErrAtRest
	}
	now, err := service.ReadSpec(ctx, c.Bucket)
	if err != nil {
		return "", err
	}
	_, what, err := to.set(now)
	if err != nil {
		return "", err
	}
	said := strings.Join(what, ", ")
	changed, err := change(ctx, c, by, act{what: actSettings, on: "settings", more: said}, func(s crawl.Spec) (crawl.Spec, bool, error) {
		next, what, err := to.set(s)
		return next, len(what) > 0, err
	})
	switch {
	case err != nil:
		return "", err
	case !changed:
		return "nothing changes by that", nil
	}
	return said, nil
}

// PreviewSet says what Set would do, and does nothing.
func PreviewSet(ctx context.Context, c *asker.Crawl, to Settings) (string, error) {
	if c.AtRest() {
		return "", ErrAtRest
	}
	now, err := service.ReadSpec(ctx, c.Bucket)
	if err != nil {
		return "", err
	}
	next, what, err := to.set(now)
	if err != nil {
		return "", err
	}
	if err := fits(next); err != nil {
		return "", err
	}
	if len(what) == 0 {
		return "nothing changes by that", nil
	}
	p, err := c.Preview(ctx, now, next)
	if err != nil {
		return "", err
	}
	st, err := c.Status(ctx)
	if err != nil {
		return "", err
	}
	return strings.Join(what, ", ") + ": " + foreseen(p, st, now, next), nil
}

// foreseen is a preview in words.
func foreseen(p crawl.Preview, st crawl.Status, now, next crawl.Spec) string {
	about := ""
	if p.About {
		about = "about "
	}
	text := fmt.Sprintf("adds %s%s, refuses %s%s queued now", about, queued(p.Adds), about, areQueued(p.Refuses))
	if p.LinksUncounted {
		text += "; links of stored pages are read again and add more"
	}
	if next.MaxPages != now.MaxPages && next.MaxPages > 0 {
		text += fmt.Sprintf("; ends at %s pages, %s are stored", humanize.Comma(next.MaxPages), humanize.Comma(st.Stored))
	}
	if next.MaxBytes != now.MaxBytes && next.MaxBytes > 0 {
		text += fmt.Sprintf("; ends at %s read, %s are", humanize.IBytes(uint64(next.MaxBytes)), humanize.IBytes(uint64(max(st.Bytes, 0))))
	}
	if next.Delay != now.Delay {
		text += "; delays that sites ask for are kept where they are more"
	}
	return text
}

func queued(n int64) string {
	if n == 1 {
		return "1 queued URL"
	}
	return humanize.Comma(n) + " queued URLs"
}

func areQueued(n int64) string {
	if n == 1 {
		return "1 that is"
	}
	return humanize.Comma(n) + " that are"
}
