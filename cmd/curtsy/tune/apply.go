package tune

import (
	"context"
	"errors"
	"fmt"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/spf13/cobra"
)

func (a *commands) applyCommand() *cobra.Command {
	cfg := config.NewReader()
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Apply a file of search rules to a crawl",
		Long: `Replace the search rules of a crawl, whether it runs or not, by those in a file. The next search
uses them. No page is requested or read again. A file that contains only {} removes the rules.`,
		Annotations: cli.ExitCodes("0 The crawl has the rules.", "1 They could not be applied.", "2 The command line or the file is wrong. Nothing has changed."),
		Example: `  curtsy search-rules apply search.yaml
  curtsy search-rules apply --nats nats://127.0.0.1:4222 --crawl docs search.yaml`,
		Args: oneFile,
	}
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		rules, text, err := readRules(args[0])
		if err != nil {
			return err
		}
		a.About = config.About(cfg.Dir, cfg.NATS)
		changed, err := a.apply(cmd.Context(), cfg, text)
		switch {
		case err != nil:
			return err
		case !changed:
			_, err = fmt.Fprintln(a.Stdout, "the crawl has these search rules already")
		default:
			_, err = fmt.Fprintf(a.Stdout, "the crawl has these search rules now: %s\n", rules.Summary())
		}
		return err
	})
}

// apply changes the rules of a crawl. One that does not run is opened for that, without a fetcher,
// so that no request is sent.
func (a *commands) apply(ctx context.Context, cfg *config.Reader, text string) (changed bool, err error) {
	l, err := a.Running(ctx, cfg)
	if err == nil {
		changed, err = control.ApplySearchRules(ctx, l, app.Me(), text)
		return changed, errors.Join(err, l.Close())
	}
	if !errors.Is(err, engine.ErrNotRunning) {
		return false, err
	}
	e, err := a.OpenStopped(ctx, cfg)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	err = e.Run(ctx, func(ctx context.Context, _ crawl.Status) (err error) {
		changed, err = control.ApplySearchRules(ctx, e.Crawl(), app.Me(), text)
		return err
	})
	return changed, err
}
