package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/spf13/cobra"
)

// patience is how long an action waits to see its effect.
const patience = 30 * time.Second

// action is something that an operator does to a crawl: one row of the table, and one command.
type action struct {
	under                     string // the command that this one belongs to; "": curtsy itself
	use, short, long, example string

	args cobra.PositionalArgs
	// check, if not nil, checks the arguments before a crawl is looked for.
	check func(cmd *cobra.Command, args []string) error
	words []string // to which a shell completes the second argument
	undo  string   // what --undo does; "": there is no such flag

	// stopped reports whether the action is also possible while the crawl does not run.
	stopped bool
	// do acts, and returns what to print. Its context ends after patience.
	do func(ctx context.Context, t target, args []string) (string, error)
}

// target is the crawl that an action changes.
type target struct {
	*asker.Crawl
	cfg     *config.Reader
	stopped bool // the crawl does not run: it was opened for this action only
	undo    bool // --undo was given
}

// ActionsUnder makes the commands of the actions that belong to the command of this name.
func ActionsUnder(a *app.App, name string) (cmds []*cobra.Command) {
	c := &commands{a}
	for _, act := range actions {
		if act.under == name {
			cmds = append(cmds, c.command(act))
		}
	}
	return cmds
}

// command makes the command of an action.
func (a *commands) command(act action) *cobra.Command {
	cmd := &cobra.Command{
		Use: act.use, Short: act.short, Long: act.long, Example: act.example, Args: act.args, PreRunE: act.check,
	}
	var undo bool
	if act.undo != "" {
		cmd.Flags().BoolVar(&undo, "undo", false, act.undo)
	}
	if len(act.words) > 0 {
		cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return act.words, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	cfg := config.NewReader()
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		do := func(ctx context.Context, l *asker.Crawl, stopped bool) error {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			text, err := act.do(ctx, target{l, cfg, stopped, undo}, args)
			var unknown *control.UnknownError
			if errors.As(err, &unknown) && strings.Contains(unknown.What, "://") {
				add := map[bool]string{false: "seed", true: "crawl"}[stopped]
				unknown.Hint = fmt.Sprintf("to crawl it, type: curtsy %s%s %s", add, config.About(cfg.Dir, cfg.NATS), webtext.ShellWord(unknown.What))
			}
			return a.PrintLine(text, err)
		}
		var onStopped func() error
		if act.stopped {
			onStopped = func() error {
				return a.onStopped(cmd.Context(), cfg, func(ctx context.Context, l *asker.Crawl) error { return do(ctx, l, true) })
			}
		}
		return a.onCrawl(cmd.Context(), cfg, func(l *asker.Crawl) error { return do(cmd.Context(), l, false) }, onStopped)
	})
}

// onCrawl finds the crawl that the settings name and calls running with it. If the crawl is in a
// directory and does not run, it calls stopped instead; without stopped that is an error.
func (a *commands) onCrawl(ctx context.Context, cfg *config.Reader, running func(*asker.Crawl) error, stopped func() error) error {
	find := a.Reach
	if stopped != nil {
		find = a.Running
	}
	l, err := find(ctx, cfg)
	if stopped != nil && errors.Is(err, engine.ErrNotRunning) {
		return stopped()
	}
	if err != nil {
		return err
	}
	defer l.Close()
	return running(l)
}

// onStopped opens the crawl in a directory for the time of an action: with its frontier and without
// a fetcher, so that no request is sent.
func (a *commands) onStopped(ctx context.Context, cfg *config.Reader, do func(context.Context, *asker.Crawl) error) (err error) {
	from, err := engine.OpenFiles(cfg.Dir) // its error says what to type when there is no crawl
	if err != nil {
		return err
	}
	if err := from.Close(); err != nil {
		return err
	}
	if engine.IsNew(cfg.Dir) {
		return app.Usage("the crawl in %s belongs to a NATS server; select it with --nats URL --crawl NAME", cfg.Dir)
	}
	o := a.StoppedOptions(cfg, a.Logger(cfg))
	o.NotIndexed = true
	e, err := a.OpenEngine(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.Run(ctx, func(ctx context.Context, _ crawl.Status) error { return do(ctx, e.Crawl()) })
}

// hostCommand gathers the actions on one host.
func (a *commands) hostCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Pause, resume or slow down one host",
		Long: `Pause, resume or slow down one host of a crawl. The setting stays in force until you undo it,
also when the crawl is stopped and resumed. The crawl log (crawl.jsonl) records who changed it and
when.`,
		Example: `  curtsy host pause docs.example.org
  curtsy host delay docs.example.org 5s`,
	}
	cmd.AddCommand(ActionsUnder(a.App, "host")...)
	return cmd
}
