package control

import (
	"cmp"
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
	"github.com/curtsy/curtsy/pkg/canon"
)

// ErrNoSetting says that nothing was named to be changed.
var ErrNoSetting = errors.New("nothing to change was given; use for example --scope domain, --max-pages 500 or --delay 2s")

// MaxDelay is the most that the least delay of a crawl may be set to while it runs.
const MaxDelay = 10 * time.Minute

// Scopes are the words for a scope, narrowest first.
var Scopes = []string{"page", "prefix", "host", "subdomains", "domain", "any"}

// Settings changes the scope and the limits of a spec, and its least delay; it may do so more than
// once, on specs that others have changed meanwhile. It refuses what makes no sense.
type Settings func(crawl.Spec) (crawl.Spec, error)

// set is what a change of settings makes of a spec: nothing but scope, links, limits and delay.
func (to Settings) set(s crawl.Spec) (next crawl.Spec, what []string, err error) {
	request, err := to(s)
	if err != nil {
		return s, nil, err
	}
	if request.Delay != s.Delay && (request.Delay < 0 || request.Delay > MaxDelay) {
		return s, nil, fmt.Errorf("a delay of %v is not possible: use 0s to %v, for example 2s", request.Delay, MaxDelay)
	}
	if p, err := canon.ParseHostPattern(request.Scope); !slices.Contains(Scopes, request.Scope) && (err != nil || !p.IsBelow()) {
		return s, nil, fmt.Errorf("the scope %q is unknown; use one of %s", request.Scope, strings.Join(Scopes, ", "))
	}
	if request.MaxPages < 0 || request.MaxBytes < 0 || request.MaxPagesPerHost < 0 || request.MaxDepth < -1 {
		return s, nil, errors.New("a limit is negative; use 0 for none, and -1 for none on the depth")
	}
	next = s
	next.Scope, next.Include, next.Exclude = request.Scope, full(request.Include), full(request.Exclude)
	// Who follows no links any more needs sitemaps, which may be off because of a limit on the
	// depth.
	if next.NoLinks = request.NoLinks; next.NoLinks && !s.NoLinks {
		next.Sitemaps = request.Sitemaps
	}
	next.MaxPages, next.MaxBytes, next.MaxDepth, next.MaxPagesPerHost, next.Delay = request.MaxPages, request.MaxBytes, request.MaxDepth, request.MaxPagesPerHost, request.Delay
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

// differences says in words what is another setting. What other acts change is not among them, nor
// are seeds, which have a line of their own.
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
	list := func(l []string) string { return cmp.Or(strings.Join(l, " "), "nothing") }
	text := func(s string) string { return cmp.Or(s, "nothing") }
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
	// The others change with the commands that make a crawl, and not while it runs in them.
	differ("paused", strconv.FormatBool(was.Paused), strconv.FormatBool(is.Paused))
	differ("agent", text(was.Agent), text(is.Agent))
	differ("contact", text(was.Contact), text(is.Contact))
	differ("hurry", list(was.Hurry), list(is.Hurry))
	differ("allow-private", strconv.FormatBool(was.AllowPrivate), strconv.FormatBool(is.AllowPrivate))
	differ("resolve", list(was.Resolve), list(is.Resolve))
	differ("max-hosts-per-domain", strconv.FormatInt(was.MaxHosts, 10), strconv.FormatInt(is.MaxHosts, 10))
	differ("hold-max", was.HoldMax.String(), is.HoldMax.String())
	differ("purpose", list(was.Purposes), list(is.Purposes))
	differ("types", list(was.Types), list(is.Types))
	differ("recrawl", strconv.FormatBool(was.Recrawl), strconv.FormatBool(is.Recrawl))
	differ("recrawl-min", was.RecrawlMin.String(), is.RecrawlMin.String())
	differ("recrawl-max", was.RecrawlMax.String(), is.RecrawlMax.String())
	differ("every", was.Every.String(), is.Every.String())
	differ("updates", strconv.FormatBool(was.Updates), strconv.FormatBool(is.Updates))
	differ("updates-mail", text(was.UpdatesMail), text(is.UpdatesMail))
	differ("updates-latency", text(was.UpdatesLatency), text(is.UpdatesLatency))
	differ("updates-websub-url", text(was.UpdatesWebSub), text(is.UpdatesWebSub))
	differ("feeds", strconv.FormatBool(was.Feeds), strconv.FormatBool(is.Feeds))
	differ("accept-markdown", strconv.FormatBool(was.AcceptMarkdown), strconv.FormatBool(is.AcceptMarkdown))
	differ("data-json", strconv.FormatBool(was.DataJSON), strconv.FormatBool(is.DataJSON))
	differ("llms-txt", strconv.FormatBool(was.LLMSTxt), strconv.FormatBool(is.LLMSTxt))
	differ("security-txt", strconv.FormatBool(was.SecurityTxt), strconv.FormatBool(is.SecurityTxt))
	differ("warc", text(was.WARC), text(is.WARC))
	differ("search", strconv.FormatBool(was.Search), strconv.FormatBool(is.Search))
	return what
}

// Planned is a crawl that Plan has made, or taken up.
type Planned struct {
	Spec     crawl.Spec
	Settings string // what is another setting than before, in words; "": nothing is
	Seeds    bool   // it has seeds that it did not have, and Plan has made a line of that
	// Untold are lines that the crawl's log had no room for, because nobody works on the crawl and
	// makes some. Tell submits them when somebody does.
	Untold []crawl.Audit
}

// Plan writes the spec that to makes of the one there is, or of nil when there is none yet. Of a
// crawl that is there the crawl log gets a line of what is another setting, and one of new seeds,
// before the spec is changed, whether or not anybody works on the crawl. c needs no more of its
// spec than name and shards.
func Plan(ctx context.Context, c *asker.Crawl, by By, to func(old *crawl.Spec) (crawl.Spec, error)) (p Planned, err error) {
	told := false
	var actions []action
	p.Spec, err = service.ChangeSpec(ctx, c.Bucket, func(old *crawl.Spec) (crawl.Spec, error) {
		next, err := to(old)
		if err != nil || old == nil || told {
			return next, err
		}
		told = true
		if p.Settings = strings.Join(differences(old, &next), ", "); p.Settings != "" {
			actions = append(actions, action{what: actionSettings, on: "settings", more: p.Settings})
		}
		if seeds := added(old.Seeds, next.Seeds); len(seeds) > 0 {
			p.Seeds = true
			actions = append(actions, seeding(seeds))
		}
		var lines []crawl.Audit
		for _, a := range actions {
			lines = append(lines, audit(by, a))
		}
		within, cancel := context.WithTimeout(ctx, logPatience)
		defer cancel()
		if err := Notify(within, c, lines); err != nil {
			if ctx.Err() != nil || within.Err() == nil {
				return next, err
			}
			p.Untold = lines
		}
		return next, nil
	})
	for i := 0; err != nil && i < len(actions); i++ {
		err = failed(ctx, c, by, actions[i], err)
	}
	return p, err
}

// Notify has lines written to the crawl log.
func Notify(ctx context.Context, c *asker.Crawl, lines []crawl.Audit) error {
	for _, line := range lines {
		if err := notify(ctx, c, "", line); err != nil {
			return err
		}
	}
	return nil
}

// added are the seeds that were not there.
func added(was, is []string) (more []canon.URL) {
	have := map[string]bool{}
	for _, s := range was {
		have[s] = true
	}
	for _, s := range is {
		if !have[s] {
			more = append(more, canon.URL(s))
		}
	}
	return more
}

// Set changes the scope, the limits and the least delay of a crawl that runs. A delay only adds:
// what a site asks for and what our back-off has come to are kept when they are more. It returns
// once that is written; those who work on the crawl follow it at once, URLs that are known already
// in a pass.
func Set(ctx context.Context, c *asker.Crawl, by By, to Settings) (string, error) {
	if c.Stopped() {
		return "", ErrNotRunning
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
	changed, err := change(ctx, c, by, action{what: actionSettings, on: "settings", more: said}, func(s crawl.Spec) (crawl.Spec, bool, error) {
		next, what, err := to.set(s)
		return next, len(what) > 0, err
	})
	switch {
	case err != nil:
		return "", err
	case !changed:
		return "this changes nothing", nil
	}
	return said, nil
}

// PreviewSet says what Set would do, and does nothing.
func PreviewSet(ctx context.Context, c *asker.Crawl, to Settings) (string, error) {
	if c.Stopped() {
		return "", ErrNotRunning
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
		return "this changes nothing", nil
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
		text += fmt.Sprintf("; ends at %s pages (%s are stored)", humanize.Comma(next.MaxPages), humanize.Comma(st.Stored))
	}
	if next.MaxBytes != now.MaxBytes && next.MaxBytes > 0 {
		text += fmt.Sprintf("; ends after reading %s (%s were read)", humanize.IBytes(uint64(next.MaxBytes)), humanize.IBytes(uint64(max(st.Bytes, 0))))
	}
	if next.Delay != now.Delay {
		text += "; longer delays that sites ask for stay in force"
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
