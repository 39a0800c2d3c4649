// Command curtsy is the whole crawler in one process, and the tool to query and control crawls
// that run elsewhere.
//
//	curtsy crawl --contact me@example.org https://docs.example.org/
//	curtsy search "words"
//
// This package has the root of all commands and those that start a crawl. The others are in
// packages beside it: look, control, tune, data, archive, check, sites and atp. Each command has a
// file of its own. crawl.go is the place to start reading: it puts an embedded NATS server, a
// frontier, a fetcher and an indexer together. The daemons run the same packages one by one: curtsy
// frontier, or a link to this program that is called frontier.
package main

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/curtsy/curtsy/cmd/curtsy/archive"
	"github.com/curtsy/curtsy/cmd/curtsy/atp"
	"github.com/curtsy/curtsy/cmd/curtsy/check"
	"github.com/curtsy/curtsy/cmd/curtsy/control"
	"github.com/curtsy/curtsy/cmd/curtsy/data"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/look"
	"github.com/curtsy/curtsy/cmd/curtsy/sites"
	"github.com/curtsy/curtsy/cmd/curtsy/tune"
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

// run runs the command of a command line, and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return execute(ctx, app.New(stdin, stdout, stderr), args)
}

// execute runs a command of an app.
func execute(ctx context.Context, a *app.App, args []string) int {
	root := tree(a)
	cli.DressFor(root, args)
	if cmd, rest, err := root.Find(args); err == nil && cmd.Name() == "search" {
		cmd.InitDefaultHelpFlag()
		args = append([]string{cmd.Name()}, look.WordsLast(cmd.Flags(), rest)...)
	}
	return a.Run(ctx, root, args)
}

// newRoot makes the command curtsy with all others below it, and with all their flags.
func newRoot(a *app.App) *cobra.Command {
	root := tree(a)
	cli.Dress(root)
	return root
}

// tree makes the command curtsy with all others below it. Most of their flags are made later.
func tree(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:     "curtsy",
		Short:   "A polite web crawler with a search index",
		Version: version.Get().String(),
		Long:    rootHelp,
	}
	// As the version command prints it.
	root.SetVersionTemplate("curtsy {{.Version}}\n")
	for _, g := range commandGroups(a) {
		root.AddGroup(&cobra.Group{ID: g.name, Title: g.name})
		for _, cmd := range g.commands {
			cmd.GroupID = g.name
		}
		root.AddCommand(g.commands...)
	}
	c := &commands{a}
	root.AddCommand(c.manualCommand(), natsServerCommand(), c.versionCommand())
	return root
}

// commandGroup is a heading in the help of curtsy and the commands below it.
type commandGroup struct {
	name     string
	commands []*cobra.Command
}

// commands makes the commands of the group Crawl, and some of the group Cluster.
type commands struct{ *app.App }

func commandGroups(a *app.App) []commandGroup {
	c := &commands{a}
	return []commandGroup{
		{"Crawl", []*cobra.Command{c.crawlCommand(), c.planCommand(), c.demoCommand(), c.identityCommand()}},
		{"Look", look.Commands(a)},
		{"Control", slices.Concat(control.Commands(a), tune.Commands(a))},
		{"Data", data.Commands(a)},
		{"Archive", archive.Commands(a)},
		{"Check", slices.Concat(check.Commands(a), atp.Commands(a), sites.Commands(a))},
		{"Cluster", append(daemons.Commands(a.Stderr), c.retireCommand(), c.healthcheckCommand())},
	}
}

const rootHelp = `Curtsy crawls web sites politely and makes them searchable.

  curtsy demo                       try it without the internet
  curtsy crawl --contact me@example.org https://example.org/
                                    crawl a site; the same command resumes
  curtsy search "words"             search the stored pages

A flag can also be set in a file (--config FILE) or in the environment
(--max-pages is CURTSY_MAX_PAGES).`
