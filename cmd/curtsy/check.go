package main

import (
	"fmt"
	"io"
	"os"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/spf13/cobra"
)

// checkCommand gathers the checkers: what the files and headers of a site say, read exactly as the
// crawler reads them.
func (a *app) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check what a robots.txt, Host line, robots tag, usage preference, data.txt, rupinfo.txt, RUP report or signed request says",
		Long: `Check what a site's files say, read exactly as the crawler reads them. Nothing is fetched: pass a file, or - for standard input.

  curl -s https://example.org/robots.txt | curtsy check robots --url https://example.org/shop -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no check %q; curtsy check --help lists them", args[0])
			}
			return cmd.Help()
		},
	}
	c := checks{a}
	cmd.AddCommand(c.robots(), c.host(), c.robotstag(), c.usage(), c.datatxt(), c.rupinfo(), c.rupreport(), c.signature())
	return cmd
}

// checks makes the checkers. They read what they are given, and ask nobody.
type checks struct{ app *app }

// readInput reads a file, or standard input for "-". What is longer than limit is cut.
func (c checks) readInput(name string, limit int64) ([]byte, error) {
	in := c.app.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, &exit{exitUsage, err}
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, limit))
	if err != nil {
		return nil, &exit{exitUsage, fmt.Errorf("read %s: %w", name, err)}
	}
	return body, nil
}

// parseOrigin reads an origin as a person writes one: a URL of it, whatever the case and however
// the host is spelled.
func parseOrigin(flag, raw string) (robots.Origin, error) {
	u, err := canon.Parse(raw)
	if err != nil {
		return robots.Origin{}, usage("%s %q: %v; use for example https://example.org/", flag, raw, err)
	}
	return robots.ParseOrigin(u.String())
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
