package main

import (
	"fmt"

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
		Use:   "host --from ORIGIN -- ARGUMENT",
		Short: "What a Host line of a robots.txt means for an origin",
		Long: `What a robots.txt line "Host: ARGUMENT" means for the origin the file was asked for at.

Exits with 0 if the line matches the origin or is ignored, 1 if it names another one, 2 if there was nothing to work with.`,
		Example: "  curtsy check host --from https://www.example.org/ -- www.example.org",
		Args:    one("ARGUMENT", "--from https://www.example.org/ -- www.example.org"),
		RunE: func(_ *cobra.Command, args []string) error {
			if from == "" {
				return usage("which origin? use for example --from https://www.example.org/")
			}
			origin, err := parseOrigin("--from", from)
			if err != nil {
				return err
			}
			result, reason := robots.CheckHost(args[0], origin)
			if asJSON {
				err = c.app.printJSON(hostAnswer{result.String(), reason})
			} else if reason == "" {
				_, err = fmt.Fprintln(c.app.stdout, result)
			} else {
				_, err = fmt.Fprintf(c.app.stdout, "%s: %s\n", result, reason)
			}
			if err == nil && result == robots.HostNoMatch {
				return &exit{code: exitFailed}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the `ORIGIN` the robots.txt is asked for at")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return cmd
}
