// Command curtsy is the whole crawler in one process, and the tool to query and control crawls
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

	"github.com/curtsy/curtsy/internal/cli"
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
	return execute(ctx, newApp(stdin, stdout, stderr), args)
}

// execute runs a command of an app.
func execute(ctx context.Context, a *app, args []string) int {
	root := newRoot(a)
	if cmd, rest, err := root.Find(args); err == nil && cmd.Name() == "search" {
		cmd.InitDefaultHelpFlag()
		args = append([]string{cmd.Name()}, wordsLast(cmd.Flags(), rest)...)
	}
	cli.RegisterCompletions(root, args)
	root.SetArgs(append([]string{}, args...)) // not nil, for which cobra takes those of the process
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	return a.exitCode(ctx, root.ExecuteContext(ctx))
}

// newRoot makes the command curtsy with all others below it.
func newRoot(a *app) *cobra.Command {
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
	// As the version command prints it.
	root.SetVersionTemplate("curtsy {{.Version}}\n")
	for _, g := range a.commandGroups() {
		root.AddGroup(&cobra.Group{ID: g.name, Title: g.name})
		for _, cmd := range g.commands {
			cmd.GroupID = g.name
		}
		root.AddCommand(g.commands...)
	}
	root.AddCommand(a.manualCommand(), natsServerCommand(), a.versionCommand())
	cli.Dress(root)
	return root
}

// commandGroup is a heading in the help of curtsy and the commands below it.
type commandGroup struct {
	name     string
	commands []*cobra.Command
}

func (a *app) commandGroups() []commandGroup {
	return []commandGroup{
		{"Crawl", []*cobra.Command{a.crawlCommand(), a.planCommand(), a.demoCommand(), a.identityCommand()}},
		{"Look", []*cobra.Command{
			a.statusCommand(), a.searchCommand(), a.pagesCommand(), a.hostsCommand(), a.explainCommand(), a.logCommand(), a.timelineCommand(),
			a.mirrorsCommand(), a.updatesCommand(), a.dashboardCommand(), a.serveCommand(), a.mcpCommand(),
		}},
		{"Control", append(actionsUnder(a, ""), a.setCommand(), a.seedCommand(), a.hostCommand(), a.forgetCommand(), a.reindexCommand())},
		{"Data", []*cobra.Command{a.datasetsCommand(), a.exportCommand()}},
		{"Archive", []*cobra.Command{a.archiveCommand()}},
		{"Check", []*cobra.Command{a.checkCommand(), a.rupCommand(), a.simwebCommand()}},
		{"Cluster", append(daemons.Commands(a.stderr), a.retireCommand(), a.healthcheckCommand())},
	}
}

const rootHelp = `Curtsy crawls web sites politely and makes them searchable.

  curtsy demo                       try it without the internet
  curtsy crawl --contact me@example.org https://example.org/
                                    crawl a site; the same command resumes
  curtsy search "words"             search the stored pages

A flag can also be set in a file (--config FILE) or in the environment
(--max-pages is CURTSY_MAX_PAGES).`
