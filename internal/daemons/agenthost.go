package daemons

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/curtsy/curtsy/internal/agenthost"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/internal/identity"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/botauth"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// agenthostUsage is the usage of agenthost after its name.
const agenthostUsage = "[check | runs | key FILE] --config FILE [flags]"

// agenthostCommand returns the command agenthost. Its subcommand key is for operators of robots.
func agenthostCommand(stderr io.Writer) *cobra.Command {
	cfg := config.NewAgenthost()
	cmd, loaded := command("agenthost", agenthostUsage, "Let mobile robots read a web site on its own machine", cfg)
	cmd.Long = `Let mobile robots read a web site on its own machine.

agenthost accepts small programs of crawlers that you allow, runs each in a sandbox that can do
nothing but read documents below the document root, and sends back what they found.

` + alsoSettings
	cmd.Example = `  curtsy agenthost check --config /etc/agenthost.yaml
  curtsy agenthost --config /etc/agenthost.yaml`
	cmd.RunE = loaded(func(cmd *cobra.Command, _ []string) error { return serveAgenthost(cmd.Context(), cfg, stderr) })
	cmd.AddCommand(
		&cobra.Command{
			Use: "check --config FILE [flags]", Short: "Check the settings, and show what robots will see", Args: cmd.Args, DisableFlagsInUseLine: true,
			Example: "  curtsy agenthost check --config /etc/agenthost.yaml",
			RunE: loaded(func(cmd *cobra.Command, _ []string) error {
				if err := scheme(cfg); err != nil {
					return err
				}
				return agenthost.Check(cmd.Context(), cfg.Host(stderr), cmd.OutOrStdout())
			}),
		},
		&cobra.Command{
			Use: "runs --config FILE [flags]", Short: "List the last runs of robots", Args: cmd.Args, DisableFlagsInUseLine: true,
			Example: "  curtsy agenthost runs --config /etc/agenthost.yaml",
			RunE:    loaded(func(cmd *cobra.Command, _ []string) error { return agenthost.Runs(cfg.Dir, cmd.OutOrStdout()) }),
		},
		robotKeyCommand(),
	)
	return cmd
}

// robotKeyCommand makes a key with which the operator of a robot signs tickets.
func robotKeyCommand() *cobra.Command {
	var name, subtree, entry string
	cmd := &cobra.Command{
		Use: "key FILE", Short: "Make a key for sending robots, and print its entry for hosts", DisableFlagsInUseLine: true,
		Long: `Make an Ed25519 key in FILE, with which tickets of robots are signed, and print an entry for
allow-robot in the settings of a host. The owner of the site fills in a name and a subtree. If FILE
exists, its key is used.`,
		Example: "  curtsy agenthost key robot.pem\n  curtsy agenthost key robot.pem --name example --subtree /docs/ --entry entries.txt",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return config.Errorf("agenthost key takes one file, for example: curtsy agenthost key robot.pem")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Lstat(args[0]); errors.Is(err, os.ErrNotExist) {
				key, err := botauth.NewKey(rand.Reader)
				if err != nil {
					return err
				}
				if err := identity.WriteKey(args[0], key); err != nil {
					return err
				}
			}
			key, err := config.ReadKey(args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			line := agenthost.RobotLine(name, mobile.KeyText(key.Public()), subtree)
			if entry != "" {
				if err := os.WriteFile(entry, []byte(line+"\n"), 0o644); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "  - %s\n", line)
			return err
		},
	}
	cmd.Flags().StringVar(&name, "name", "NAME", "`NAME` of the crawler in the entry")
	cmd.Flags().StringVar(&subtree, "subtree", "/PATH/", "`PATH` in the entry, below which robots may read")
	cmd.Flags().StringVar(&entry, "entry", "", "write the entry to `FILE` too; a host reads it with --allow-robot @FILE")
	return cmd
}

// scheme refuses an address whose scheme does not fit the certificate.
func scheme(cfg *config.Agenthost) error {
	secure, err := cfg.TLS()
	if err != nil {
		return err
	}
	if want := "atp://"; secure == nil && len(cfg.Address) >= len(want) && cfg.Address[:len(want)] != want {
		return config.Errorf("address %s needs a certificate: set tls-cert and tls-key, or use atp://", cfg.Address)
	}
	if want := "atps://"; secure != nil && (len(cfg.Address) < len(want) || cfg.Address[:len(want)] != want) {
		return config.Errorf("address %s is without TLS, but there is a certificate: use atps://, or remove tls-cert and tls-key", cfg.Address)
	}
	return nil
}

func serveAgenthost(ctx context.Context, cfg *config.Agenthost, stderr io.Writer) (err error) {
	if err := scheme(cfg); err != nil {
		return err
	}
	lock, err := service.LockDir(cfg.Dir, "agenthost.lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	o := cfg.Host(stderr)
	o.Registry = service.NewRegistry()
	host, err := agenthost.New(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	l, err := net.Listen("tcp", cfg.Serve)
	if err != nil {
		return err
	}
	serving := l.Addr().String()
	l = fair.Listener(l, fair.ListenerOptions{Most: agenthost.MaxConns, Log: o.Log})
	secure, err := cfg.TLS()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	g, ctx := errgroup.WithContext(ctx)
	if cfg.Listen != "off" {
		admin, err := service.NewAdmin(service.AdminOptions{Listen: cfg.Listen, Title: "agenthost for " + cfg.Base, Registry: o.Registry, Ready: func(context.Context) error { return nil }, Log: o.Log})
		if err != nil {
			return errors.Join(err, l.Close())
		}
		o.Log.Info("admin port open", "url", admin.URL())
		g.Go(func() error { return admin.Run(ctx) })
	}
	if len(o.Allowed) == 0 {
		o.Log.Warn("nobody may send robots", "setting", "allow-robot")
	}
	o.Log.Info("at work", "root", cfg.Root, "server", cfg.Server, "base", cfg.Base, "serve", serving)
	g.Go(func() error { return host.Run(ctx, l) })
	return g.Wait()
}
