package control

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
)

func (a *commands) setCommand() *cobra.Command {
	cfg := config.NewSet()
	var preview bool
	cmd := &cobra.Command{
		Use:   "set",
		Short: "Change scope, limits or delay of a running crawl",
		Long: `Change the scope, the limits or the delay of a running crawl. Flags that are not given keep
their values. --preview shows what would be added to the queue and removed from it, and changes
nothing; links of the added URLs come on top. Pages that are stored stay stored, also when they are
no longer in scope.

A longer delay that a site demands or that errors have caused stays in force. The crawl log
(crawl.jsonl) records who changed what and when. To change a crawl that is not running, use curtsy
crawl with the new flags.`,
		Example: `  curtsy set --scope domain --max-pages 5000 --preview
  curtsy set --delay 3s`,
		Args: app.NoArgs,
	}
	cmd.Flags().BoolVar(&preview, "preview", false, "show the effect without changing anything")
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, _ []string, src *config.Source) error {
		if !cfg.Any(src.Given) {
			return app.Usage("%w", control.ErrNoSetting)
		}
		l, err := a.Reach(cmd.Context(), &config.Reader{Common: cfg.Common, NATS: cfg.NATS, Dir: cfg.Dir})
		if err != nil {
			return err
		}
		defer l.Close()
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		return a.PrintLine(set(ctx, l, preview, func(s crawl.Spec) (crawl.Spec, error) { return cfg.Spec(s, src.Given), nil }))
	})
}

// set changes the settings of a crawl, or shows the effect of that.
func set(ctx context.Context, l *asker.Crawl, preview bool, to control.Settings) (string, error) {
	if preview {
		return control.PreviewSet(ctx, l, to)
	}
	return control.Set(ctx, l, app.Me(), to)
}
