// Command curtsy is the whole crawler in one process, and the tool to ask and steer crawls
// that run elsewhere.
//
//	curtsy crawl --contact me@example.org https://docs.example.org/
//	curtsy search "words"
//
// Each subcommand has a file of its own. crawl.go is the place to start reading: it puts an
// embedded NATS server, a frontier, a fetcher and an indexer together. The daemons run the same
// packages one by one: curtsy frontier, or a link to this program that is called frontier.
package main

import (
	"context"
	"io"
	"os"

	"github.com/curtsy/curtsy/internal/daemons"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/spf13/cobra"
)

func main() {
	indexer.Trial()
	if name := daemons.CalledAs(os.Args[0]); name != "" {
		daemons.Main(name)
		return
	}
	ctx, stop := service.Signals(context.Background())
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command line from arguments to exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newApp(stdin, stdout, stderr).run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	if cmd, rest, err := root.Find(args); err == nil && cmd.Name() == "search" {
		cmd.InitDefaultHelpFlag()
		args = append([]string{cmd.Name()}, wordsLast(cmd.Flags(), rest)...)
	}
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	return a.exitCode(ctx, root.ExecuteContext(ctx))
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "curtsy",
		Short:         "A polite web crawler with a search index",
		Version:       version.Get().String(),
		Long:          rootHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		// Whatever fails before this is called was typed wrong.
		PersistentPreRun: func(*cobra.Command, []string) { a.parsed = true },
	}
	root.SetFlagErrorFunc(suggestFlag)
	// As the version command says it.
	root.SetVersionTemplate("curtsy {{.Version}}\n")
	root.AddCommand(
		a.crawlCommand(), a.planCommand(), a.seedCommand(), a.demoCommand(),
		a.statusCommand(), a.pagesCommand(), a.datasetsCommand(), a.searchCommand(), a.serveCommand(), a.mcpCommand(), a.dashboardCommand(), a.hostsCommand(), a.timelineCommand(), a.mirrorsCommand(), a.updatesCommand(), a.explainCommand(), a.logCommand(), a.exportCommand(),
		a.stopCommand(), a.pauseCommand(), a.resumeCommand(), a.retireCommand(), a.setCommand(), a.hostCommand(), a.refetchCommand(), a.forgetCommand(), a.retryCommand(), a.reindexCommand(), a.archiveCommand(),
		a.checkCommand(), a.identityCommand(), a.rupCommand(), a.simwebCommand(), a.healthcheckCommand(), a.versionCommand(),
	)
	root.AddCommand(daemons.Commands(a.stderr)...)
	root.AddCommand(a.manualCommand(), natsServerCommand())
	return root
}

const rootHelp = `Curtsy crawls web sites politely and makes them searchable.

  curtsy demo                                              see all of it work, offline
  curtsy crawl --contact me@example.org https://example.org/   crawl a site; the same again resumes
  curtsy search "words"                                    look something up in it

Every flag can also stand in a file (--config FILE) or in the environment (CURTSY_MAX_PAGES=500).`
