// Package tune has the commands about search rules, with which a team tunes the search of a crawl:
// check a file, show the rules in force, preview what others would change, and apply them.
package tune

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/searchrules"
	"github.com/spf13/cobra"
)

// commands makes the commands of this group.
type commands struct{ *app.App }

// Commands are the commands of this group.
func Commands(a *app.App) []*cobra.Command {
	c := &commands{a}
	cmd := &cobra.Command{
		Use:   "search-rules",
		Short: "Tune search: synonyms, pinned and hidden results, weights",
		Long: `Check, preview and apply files of search rules: synonyms, results that are pinned or hidden for a
query, parts of sites that rank lower, and weights. They decide about ranks only; no page is
requested or read again because of them. docs/guides/search.md has an example.`,
		Example: `  curtsy search-rules check search.yaml
  curtsy search-rules preview search.yaml "install windows"
  curtsy search-rules apply search.yaml`,
	}
	cmd.AddCommand(c.checkCommand(), c.showCommand(), c.previewCommand(), c.applyCommand())
	return []*cobra.Command{cmd}
}

func (a *commands) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "check FILE",
		Short:       "Check a file of search rules",
		Annotations: cli.ExitCodes("0 The file is right.", "2 It has mistakes, which are listed."),
		Example:     "  curtsy search-rules check search.yaml",
		Args:        oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			rules, _, err := readRules(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s is right: %s\n", filepath.Base(args[0]), rules.Summary())
			return err
		},
	}
}

func (a *commands) showCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the search rules of a crawl",
		Long: `Print the file of search rules that a crawl has, as it was written. Without rules nothing is
printed but a note on standard error.`,
		Example: "  curtsy search-rules show > search.yaml",
		Args:    app.NoArgs,
	}
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		text, err := from.SearchRules(cmd.Context())
		if err != nil {
			return err
		}
		if text == "" {
			fmt.Fprintf(a.Stderr, "the crawl has no search rules; to give it some: curtsy search-rules apply%s search.yaml\n", a.About)
		}
		_, err = io.WriteString(a.Stdout, text)
		return err
	})
}

// oneFile requires the name of a file of search rules.
var oneFile = app.OneArg("file of search rules", "search.yaml")

// readRules reads a file of search rules, and returns its text, too.
func readRules(name string) (rules *searchrules.Rules, text string, err error) {
	b, err := readFile(name, searchrules.MaxFile)
	if err != nil {
		return nil, "", err
	}
	if rules, err = searchrules.ParseFile(filepath.Base(name), string(b)); err != nil {
		return nil, "", app.Usage("%s has mistakes:\n%v", name, err)
	}
	return rules, string(b), nil
}

// readFile reads a file, and one byte more than limit if it has more.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, app.Usage("%w", err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}
