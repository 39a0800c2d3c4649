package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/steer"
)

func (a *app) setCommand() *cobra.Command {
	cfg := config.NewSet()
	var preview bool
	cmd := &cobra.Command{
		Use:   "set",
		Short: "Change scope, limits or delay of a crawl that runs",
		Long: `Change the scope, the limits or the least delay of a crawl that runs. What is not given stays as it is. --preview says what that would
do to the queue and changes nothing; what URLs let in lead to comes on top. What is refused stays stored where it was stored.

A delay only adds: what a site asks for, and what our back-off has come to, are kept when they are more. Who changed what, and when, stands
in the crawl log (crawl.jsonl). A crawl at rest is changed by curtsy crawl, which goes on with it.`,
		Example: `  curtsy set --scope domain --max-pages 5000 --preview
  curtsy set --delay 3s`,
		Args: no,
	}
	cmd.Flags().BoolVar(&preview, "preview", false, "say what it would do, and do nothing")
	return configured(cmd, cfg, func(cmd *cobra.Command, _ []string, src *config.Source) error {
		if !cfg.Any(src.Given) {
			return usage("%w", steer.ErrNoSetting)
		}
		l, err := a.reach(cmd.Context(), &config.Reader{Common: cfg.Common, NATS: cfg.NATS, Dir: cfg.Dir})
		if err != nil {
			return err
		}
		defer l.Close()
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		return a.say(set(ctx, l, preview, func(s crawl.Spec) (crawl.Spec, error) { return cfg.Spec(s, src.Given), nil }))
	})
}

func set(ctx context.Context, l *asker.Crawl, preview bool, to steer.Settings) (string, error) {
	if preview {
		return steer.PreviewSet(ctx, l, to)
	}
	return steer.Set(ctx, l, me(), to)
}
