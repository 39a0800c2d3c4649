package check

import (
	"fmt"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/spf13/cobra"
)

// hostAnswer is what `curtsy check host --json` prints.
type hostAnswer struct {
	Result string `json:"result"` // match, nomatch, ignored
	Reason string `json:"reason"`
}

func (c checks) host() *cobra.Command {
	var from string
	var asJSON bool
	cmd := &cobra.Command{
		Use:         "host --from ORIGIN -- ARGUMENT",
		Short:       "Check a Host line of a robots.txt",
		Long:        `Show what the line "Host: ARGUMENT" of a robots.txt means for the origin that the file belongs to.`,
		Annotations: cli.ExitCodes("0 The line matches the origin, or is ignored.", "1 The line names another host.", "2 The command line is wrong."),
		Example:     "  curtsy check host --from https://www.example.org/ -- www.example.org",
		Args:        app.OneArg("ARGUMENT", "--from https://www.example.org/ -- www.example.org"),
		RunE: func(_ *cobra.Command, args []string) error {
			if from == "" {
				return app.Usage("--from is required; use for example --from https://www.example.org/")
			}
			origin, err := parseOrigin("--from", from)
			if err != nil {
				return err
			}
			result, reason := robots.CheckHost(args[0], origin)
			if asJSON {
				err = c.app.PrintJSON(hostAnswer{result.String(), reason})
			} else if reason == "" {
				_, err = fmt.Fprintln(c.app.Stdout, result)
			} else {
				_, err = fmt.Fprintf(c.app.Stdout, "%s: %s\n", result, reason)
			}
			if err == nil && result == robots.HostNoMatch {
				return app.Exit(app.ExitFailed, nil)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "`ORIGIN` of the robots.txt (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
