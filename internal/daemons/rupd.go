package daemons

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/site"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// rupdUsage is the usage of rupd after its name.
const rupdUsage = "[check | robots | forget ADDRESS] --config FILE [flags]"

// rupdCommand returns the command rupd. Its subcommands robots and forget let the operator of a
// site help a robot that lost its key.
func rupdCommand(stderr io.Writer) *cobra.Command {
	cfg := config.NewRupd()
	cmd, loaded := command("rupd", rupdUsage, "Report to robots what changed on a web site", cfg)
	cmd.Long = `Report to robots what changed on a web site.

rupd watches the document root of a site. It answers robots that ask at the site's /rupinfo.txt and
CGI URL, and mails reports to those that registered (the Remote Update Protocol).

` + alsoSettings
	cmd.Example = `  curtsy rupd check --config /etc/rupd.yaml
  curtsy rupd --config /etc/rupd.yaml`
	cmd.RunE = loaded(func(cmd *cobra.Command, _ []string) error { return serveRupd(cmd.Context(), cfg, stderr) })
	cmd.AddCommand(
		&cobra.Command{
			Use: "check --config FILE [flags]", Short: "Check the settings, the document root and the mail relay", Args: cmd.Args, DisableFlagsInUseLine: true,
			Example: "  curtsy rupd check --config /etc/rupd.yaml",
			RunE: loaded(func(cmd *cobra.Command, _ []string) error {
				return site.Check(cmd.Context(), cfg.Site(stderr), cmd.OutOrStdout())
			}),
		},
		&cobra.Command{
			Use: "robots --config FILE [flags]", Short: "List the robots that are registered", Args: cmd.Args, DisableFlagsInUseLine: true,
			Example: "  curtsy rupd robots --config /etc/rupd.yaml",
			RunE:    loaded(func(cmd *cobra.Command, _ []string) error { return site.Robots(cfg.Dir, cmd.OutOrStdout()) }),
		},
		&cobra.Command{
			Use: "forget ADDRESS --config FILE [flags]", Short: "End the registration of a mail address", DisableFlagsInUseLine: true,
			Example: "  curtsy rupd forget robot@crawler.example --config /etc/rupd.yaml",
			Args: func(_ *cobra.Command, args []string) error {
				if len(args) != 1 {
					return config.Errorf("rupd forget takes one mail address, for example: curtsy rupd forget robot@crawler.example --config /etc/rupd.yaml")
				}
				return nil
			},
			RunE: loaded(func(cmd *cobra.Command, args []string) error { return site.Forget(cmd.Context(), cfg.Dir, args[0]) }),
		},
	)
	return cmd
}

func serveRupd(ctx context.Context, cfg *config.Rupd, stderr io.Writer) (err error) {
	lock, err := service.LockDir(cfg.Dir, "rupd.lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	o := cfg.Site(stderr)
	o.Registry = service.NewRegistry()
	s, err := site.New(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	g, ctx := errgroup.WithContext(ctx)
	if cfg.Listen != "off" {
		admin, err := service.NewAdmin(service.AdminOptions{Listen: cfg.Listen, Title: "rupd for " + cfg.Base, Registry: o.Registry, Ready: s.Ready, Log: o.Log})
		if err != nil {
			return err
		}
		o.Log.Info("admin port open", "url", admin.URL())
		g.Go(func() error { return admin.Run(ctx) })
	}
	o.Log.Info("at work", "root", cfg.Root, "base", cfg.Base, "serve", fmt.Sprint(s.Addr()))
	g.Go(func() error { return s.Run(ctx) })
	return g.Wait()
}
