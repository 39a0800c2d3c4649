// Package daemons has the services of a crawl, and rupd and agenthost for web sites, as commands.
// Each is a program of its own or a subcommand of curtsy.
package daemons

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/spf13/cobra"
)

// Commands returns a new command for each daemon. The daemons log to stderr.
func Commands(stderr io.Writer) []*cobra.Command {
	return []*cobra.Command{frontierCommand(stderr), fetcherCommand(stderr), indexerCommand(stderr), feederCommand(stderr), rendererCommand(stderr), rupdCommand(stderr), agenthostCommand(stderr)}
}

// CalledAs returns the program that a process started as argv0 should run: the name of a daemon,
// "nats-server", or "" for curtsy. So links to one file can be all programs.
func CalledAs(argv0 string) string {
	switch name := filepath.Base(argv0); name {
	case "frontier", "fetcher", "indexer", "feeder", "renderer", "rupd", "agenthost", "nats-server":
		return name
	default:
		return ""
	}
}

// Main runs the program called name until it ends or a signal ends it. It ends the process.
func Main(name string) {
	if name == "nats-server" {
		NATSServer(os.Args[1:])
		return
	}
	indexer.Trial()
	ctx, stop := service.Signals(context.Background())
	code := Run(ctx, name, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Run runs the daemon called name with arguments and returns its exit code.
func Run(ctx context.Context, name string, args []string, stdout, stderr io.Writer) int {
	for _, cmd := range Commands(stderr) {
		if cmd.Name() != name {
			continue
		}
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		cmd.CompletionOptions.DisableDefaultCmd = true
		cli.Dress(cmd)
		cli.RegisterCompletions(cmd, args)
		// With nil, cobra would use the arguments of the process.
		cmd.SetArgs(append([]string{}, args...))
		cmd.SetOut(stdout)
		cmd.SetErr(stderr)
		return config.Exit(name, cmd.ExecuteContext(ctx), stderr)
	}
	return config.Exit(name, errors.New("there is no such daemon"), stderr)
}

// daemonUsage is the usage of a daemon of a crawl after its name.
const daemonUsage = "--nats URL --crawl NAME [flags]"

// runs is the function of a command, which gets its arguments.
type runs = func(cmd *cobra.Command, args []string) error

// command returns the command of the daemon called name. Its settings are the fields of the struct
// that cfg points to. usage follows the name. loaded returns the function that fills cfg and then
// runs the daemon.
func command(name, usage, short string, cfg any) (cmd *cobra.Command, loaded func(run runs) runs) {
	cmd = &cobra.Command{
		Use: name + " " + usage, Short: short, DisableFlagsInUseLine: true,
		Long:    short + ".\n\n" + alsoSettings,
		Example: "  curtsy " + name + " --nats nats://127.0.0.1:4222 --crawl docs",
		Version: version.Get().String(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return config.Errorf("%s takes no arguments, got %q; use it as curtsy %s %s", name, args[0], name, usage)
			}
			return nil
		},
	}
	cmd.SetVersionTemplate(name + " {{.Version}}\n")
	var src *config.Source
	cli.Later(cmd, func() {
		// The flags are persistent, so that subcommands have them too.
		src = config.Bind(cmd.PersistentFlags(), cfg)
		cmd.Flags().SortFlags = false
		cmd.Flags().Bool("version", false, "print the version of "+name)
		for flag, words := range src.Choices() {
			cli.Completes(cmd, flag, words...)
		}
	})
	return cmd, func(run runs) runs {
		return func(cmd *cobra.Command, args []string) error {
			if err := src.Load(); err != nil {
				return err
			}
			return run(cmd, args)
		}
	}
}

// alsoSettings is part of the help of each daemon.
const alsoSettings = "Every flag is also a key of --config FILE and a variable such as CURTSY_LOG_LEVEL."
