package control

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
	"github.com/curtsy/curtsy/internal/settings"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
)

// ErrNoSetting says that nothing was named to be changed.
var ErrNoSetting = errors.New("nothing to change was given; use for example --scope domain, --max-pages 500 or --delay 2s")

// MaxDelay is the longest delay that a running crawl can be given.
const MaxDelay = 10 * time.Minute

// Settings changes settings of a spec. It may be called more than once, on specs that others have
// changed in the meantime. It returns an error for values that cannot be used.
type Settings func(crawl.Spec) (crawl.Spec, error)

// set applies a change of settings to a spec. It takes over only the settings that may change while
// a crawl runs. what describes each of them that is different now.
func (to Settings) set(s crawl.Spec) (next crawl.Spec, what []string, err error) {
	request, err := to(s)
	if err != nil {
		return s, nil, err
	}
	if request.Delay != s.Delay && (request.Delay < 0 || request.Delay > MaxDelay) {
		return s, nil, fmt.Errorf("a delay of %v is not possible: use 0s to %v, for example 2s", request.Delay, MaxDelay)
	}
	next = s
	for _, row := range settings.All() {
		if !row.Set {
			continue
		}
		row.Copy(&next, &request)
		if list, ok := row.Pointer(&next).(*[]string); ok {
			*list = full(*list)
		}
		if err := refusal(row, &next); err != nil {
			return s, nil, err
		}
	}
	// Without links the crawl needs sitemaps, which a limit on the depth may have turned off.
	if next.NoLinks && !s.NoLinks {
		next.Sitemaps = request.Sitemaps
	}
	// Services could not start with a scope that cannot be read.
	if _, err := scope.New(scope.Spec{Kind: next.Scope, Include: next.Include, Exclude: next.Exclude}); err != nil {
		return s, nil, err
	}
	if _, err := siterules.Of(&next); err != nil {
		return s, nil, err
	}
	if next.Sites != s.Sites {
		if next, err = withSeeds(next); err != nil {
			return s, nil, err
		}
	}
	return next, differences(&s, &next), nil
}

// withSeeds adds the seeds that the site rules of a spec name to its seeds, as curtsy crawl --sites
// does.
func withSeeds(s crawl.Spec) (crawl.Spec, error) {
	rules, err := siterules.Of(&s)
	if err != nil {
		return s, err
	}
	s.Seeds = slices.Clone(s.Seeds)
	for _, u := range rules.Seeds() {
		if !slices.Contains(s.Seeds, string(u)) {
			s.Seeds = append(s.Seeds, string(u))
		}
	}
	return s, nil
}

// submitRuleSeeds submits the seeds that site rules name. Those that are known already stay as they
// are.
func submitRuleSeeds(ctx context.Context, c *asker.Crawl, sites string) error {
	rules, err := siterules.Of(&crawl.Spec{Sites: sites})
	if err != nil || len(rules.Seeds()) == 0 {
		return err
	}
	return asker.Seed(ctx, c.Queue, c.Spec, rules.Seeds())
}

// refusal returns why a running crawl cannot be given the value that a setting has in s.
func refusal(row *settings.Setting, s *crawl.Spec) error {
	problem := row.Problem(s)
	switch {
	case problem == "":
		return nil
	case len(row.Choices) > 0:
		return fmt.Errorf("the %s %q is unknown; use one of %s", row.Name, row.Value(s), strings.Join(row.Choices, ", "))
	case row.Title != "":
		return errors.New("a limit is negative; use 0 for none, and -1 for none on the depth")
	}
	return fmt.Errorf("%s %s", row.Name, problem)
}

// full removes empty expressions. They match everything, but a person who types one means no
// expression.
func full(list []string) (out []string) {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
}

// differences describes each setting that differs between two specs, and whether the crawl is
// paused. It leaves out seeds and what other actions change, because they have lines of their own.
func differences(was, is *crawl.Spec) (what []string) {
	differ := func(name, a, b string) {
		if a != b {
			what = append(what, fmt.Sprintf("%s %s → %s", name, a, b))
		}
	}
	for _, row := range settings.All() {
		if !row.Fixed {
			differ(row.Name, row.Text(was), row.Text(is))
		}
	}
	differ("paused", strconv.FormatBool(was.Paused), strconv.FormatBool(is.Paused))
	return what
}

// Planned is a crawl that Plan has created or changed.
type Planned struct {
	Spec     crawl.Spec
	Settings string // the settings that changed, in words; "": none did
	Seeds    bool   // the crawl has new seeds, and Plan has written a line about them
	// Unlogged are lines for the crawl log that could not be queued, because the queue is full and
	// no process of the crawl runs to empty it. Notify submits them when one does.
	Unlogged []crawl.Audit
}

// Plan replaces the spec of a crawl by the one that to returns. to gets nil if the crawl does not
// exist yet. If it exists, lines about changed settings and new seeds are written to the crawl log
// before the spec is changed, whether or not a process of the crawl runs. The spec of c needs only
// name and shards.
func Plan(ctx context.Context, c *asker.Crawl, by By, to func(old *crawl.Spec) (crawl.Spec, error)) (p Planned, err error) {
	logged := false
	var actions []action
	p.Spec, err = service.ChangeSpec(ctx, c.Bucket, func(old *crawl.Spec) (crawl.Spec, error) {
		next, err := to(old)
		if err != nil || old == nil || logged {
			return next, err
		}
		logged = true
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
			p.Unlogged = lines
		}
		return next, nil
	})
	for i := 0; err != nil && i < len(actions); i++ {
		err = failed(ctx, c, by, actions[i], err)
	}
	return p, err
}

// Notify submits lines for the crawl log.
func Notify(ctx context.Context, c *asker.Crawl, lines []crawl.Audit) error {
	for _, line := range lines {
		if err := notify(ctx, c, "", line); err != nil {
			return err
		}
	}
	return nil
}

// added are the seeds in is that are not in was.
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

// Set changes settings of a running crawl and returns the changes in words. A longer delay that a
// site asks for or that errors have caused stays in force. Set returns when the spec is written.
// All processes of the crawl follow it at once. A pass decides again about the known URLs. Seeds
// that other site rules name are submitted.
func Set(ctx context.Context, c *asker.Crawl, by By, to Settings) (string, error) {
	if c.Stopped() {
		return "", ErrNotRunning
	}
	now, err := service.ReadSpec(ctx, c.Bucket)
	if err != nil {
		return "", err
	}
	planned, what, err := to.set(now)
	if err != nil {
		return "", err
	}
	text := strings.Join(what, ", ")
	changed, err := change(ctx, c, by, action{what: actionSettings, on: "settings", more: text}, func(s crawl.Spec) (crawl.Spec, bool, error) {
		next, what, err := to.set(s)
		return next, len(what) > 0, err
	})
	switch {
	case err != nil:
		return "", err
	case !changed:
		return "this changes nothing", nil
	case planned.Sites != now.Sites:
		return text, submitRuleSeeds(ctx, c, planned.Sites)
	}
	return text, nil
}

// PreviewSet returns in words what Set would do, and changes nothing.
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
