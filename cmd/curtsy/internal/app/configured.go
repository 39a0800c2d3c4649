package app

import (
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/spf13/cobra"
)

// Configured binds the settings of cfg to the flags of cmd when cmd is prepared, and makes cmd load
// them before it runs. The PreRunE of cmd is called before that.
func Configured(cmd *cobra.Command, cfg any, run func(cmd *cobra.Command, args []string, src *config.Source) error) *cobra.Command {
	var src *config.Source
	cli.Later(cmd, func() {
		src = config.Bind(cmd.Flags(), cfg)
		for flag, words := range src.Choices() {
			cli.Completes(cmd, flag, words...)
		}
		if reader, ok := cfg.(*config.Reader); ok {
			completesHosts(cmd, reader, src)
		}
	})
	// Wrong arguments are reported before a crawl is looked for.
	words := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if words != nil {
			if err := words(cmd, args); err != nil {
				return err
			}
		}
		return src.Load()
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, args, src) }
	return cmd
}
