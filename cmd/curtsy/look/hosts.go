package look

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/spf13/cobra"
)

func (a *commands) hostsCommand() *cobra.Command {
	var asJSON bool
	var want hostsWanted
	cmd := &cobra.Command{
		Use:   "hosts [NAME]",
		Short: "List the hosts, or show one of them",
		Long: `List the hosts of a crawl with their state, delay, queue and robots.txt. With NAME, show
everything that is known about one host.`,
		Example: `  curtsy hosts --sort queued --desc --limit 20
  curtsy hosts --filter '*.example.org' --state held
  curtsy hosts --has usage
  curtsy hosts docs.example.org`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && want != (hostsWanted{}) {
				return app.Usage("%s needs one host name, or flags that select hosts; use for example: %s docs.example.org", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines, one host a line")
	want.flags(cmd)
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			_, err := app.TypedHost(args[0])
			return err
		}
		return want.check()
	}
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, args []string) error {
		if len(args) == 1 {
			return a.oneHost(cmd.Context(), from, args[0], asJSON)
		}
		if asJSON {
			return want.hosts(cmd.Context(), from, func(h crawl.HostInfo) error { return a.PrintJSON(h) })
		}
		t := term.NewTable(a.Stdout, "HOST", "STATE", "DELAY", "BY", "QUEUED", "FETCHED", "ROBOTS", "NOTE")
		err := want.hosts(cmd.Context(), from, func(h crawl.HostInfo) error {
			robots := "unknown"
			if h.Robot != nil {
				robots = h.Robot.State
			}
			return t.Row(h.Host, h.State, strconv.FormatFloat(h.DelayS, 'g', 4, 64)+"s", h.DelaySource,
				strconv.FormatInt(h.Queued, 10), strconv.FormatInt(h.Fetched, 10), robots, hostNote(h))
		})
		return errors.Join(err, t.Flush())
	})
}

// hostsWanted selects hosts and their order.
type hostsWanted struct {
	q     crawl.HostsQuery
	limit int
}

func (w *hostsWanted) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&w.q.Sort, "sort", "", "sort by `COLUMN`: "+strings.Join(questions.HostsPage.Sorts.Words(), ", "))
	f.BoolVar(&w.q.Descending, "desc", false, "sort in descending order")
	f.StringVar(&w.q.Filter, "filter", "", "only hosts whose names contain `TEXT` or match a pattern such as '*.example.org'")
	f.StringVar(&w.q.State, "state", "", "only hosts in this `STATE`: "+strings.Join(crawl.HostStates, ", "))
	f.StringVar(&w.q.Reason, "reason", "", "only hosts that wait for a reason that contains `TEXT`")
	f.StringVar(&w.q.Has, "has", "", "only hosts that have `WHAT`: "+strings.Join(crawl.HostHas, ", "))
	f.IntVar(&w.limit, "limit", 0, "show at most `N` hosts (0: all)")
	cli.Completes(cmd, "sort", questions.HostsPage.Sorts.Words()...)
	cli.Completes(cmd, "state", crawl.HostStates...)
	cli.Completes(cmd, "has", crawl.HostHas...)
}

// check refuses unknown values of flags.
func (w *hostsWanted) check() error {
	if w.limit < 0 {
		return app.Usage("--limit %d is negative; use for example --limit 20, or 0 for all", w.limit)
	}
	return cmp.Or(app.KnownWord("sort", w.q.Sort, questions.HostsPage.Sorts.Words()), app.KnownWord("state", w.q.State, crawl.HostStates), app.KnownWord("has", w.q.Has, crawl.HostHas))
}

// hosts calls each for the selected hosts. The list of all hosts comes as the shards send it. A
// selection is asked for page by page, and then the details of the hosts on each page.
func (w *hostsWanted) hosts(ctx context.Context, from *asker.Crawl, each func(crawl.HostInfo) error) error {
	if *w == (hostsWanted{}) {
		return questions.Hosts.Each(ctx, from, nil, each)
	}
	var missing error // set if some shards do not answer; the hosts of the others are shown
	for left := w.limit; ; {
		w.q.Limit = crawl.MaxLimit
		if w.limit > 0 {
			w.q.Limit = min(left, crawl.MaxLimit)
		}
		page, err := questions.HostsPage.Ask(ctx, from, w.q)
		if missing = cmp.Or(missing, err); err != nil && !errors.Is(err, ask.ErrIncomplete) {
			return err
		}
		var names []string
		for _, row := range page.Rows {
			names = append(names, row.Host)
		}
		infos := map[string]crawl.HostInfo{}
		if len(names) > 0 {
			err = from.HostsNamed(ctx, names, func(h crawl.HostInfo) error {
				infos[h.Host] = h
				return nil
			})
		}
		if missing = cmp.Or(missing, err); err != nil && !errors.Is(err, ask.ErrIncomplete) {
			return err
		}
		for _, name := range names {
			if h, ok := infos[name]; ok {
				if err := each(h); err != nil {
					return err
				}
			}
		}
		left -= len(names)
		if w.q.After = page.Next; page.Next == "" || w.limit > 0 && left <= 0 {
			return missing
		}
	}
}

// hostNote is what else is known about a host.
func hostNote(h crawl.HostInfo) string {
	var notes []string
	if h.Reason != "" {
		notes = append(notes, h.Reason)
	}
	if h.NextDue != nil && time.Until(*h.NextDue) > time.Minute {
		notes = append(notes, "next "+h.NextDue.Local().Format(time.DateTime))
	}
	if h.MirrorOf != nil {
		notes = append(notes, "mirror of "+*h.MirrorOf)
	}
	if h.Robot != nil && h.Robot.HostHint != "" {
		notes = append(notes, "names its main mirror: "+h.Robot.HostHint)
	}
	for _, s := range h.AgentServers {
		notes = append(notes, "mobile robots for "+s.Path+": "+s.Target)
	}
	if n := robotsNote(h.Dispatches); n != "" {
		notes = append(notes, n)
	}
	if n := sitemapsNote(h.Sitemaps); n != "" {
		notes = append(notes, n)
	}
	notes = append(notes, fileNotes(h.Robots)...)
	if n := usageNote(h.Robots); n != "" {
		notes = append(notes, n)
	}
	return strings.Join(notes, "; ")
}

// sitemapsNote is what the sitemaps of a host contain, as far as is known; "" means nothing.
func sitemapsNote(list []crawl.SitemapInfo) string {
	read, pages := 0, 0
	for _, s := range list {
		if s.ReadAt == nil || s.Form == "" {
			continue
		}
		if read++; s.Form != "index" {
			pages += s.Entries
		}
	}
	if read == 0 {
		return ""
	}
	return "sitemaps read: " + strconv.Itoa(read) + ", naming " + strconv.Itoa(pages) + " pages"
}

// fileNotes has a sentence for each kind of file that the spec may want: what the first origin of a
// host with such a file has, or else the first result of a request for it. The name of the file and
// a colon begin it.
func fileNotes(origins []crawl.RobotsInfo) (notes []string) {
	for i := range new(crawl.OriginFiles).Notes() {
		var best crawl.FileNote
		for _, o := range origins {
			if n := o.Notes()[i]; best.State == "" || n.State == crawl.FileFound && best.State != crawl.FileFound {
				best = n
			}
		}
		if best.State == "" {
			continue
		}
		note := best.Name + ": " + best.State
		if best.State == crawl.FileFound {
			note = best.Name + ": " + best.Found
		}
		if best.Reason != "" {
			note += " (" + best.Reason + ")"
		}
		notes = append(notes, note)
	}
	return notes
}
