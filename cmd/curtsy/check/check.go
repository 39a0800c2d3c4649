package check

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/spf13/cobra"
)

// checkCommand gathers the commands that read files and headers of a site exactly as the crawler
// does.
func (a *commands) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check files and headers of a site as the crawler reads them",
		Long: `Check files and headers of a site exactly as the crawler reads them, and show the line that
decides. Nothing is fetched: name a file, or - for standard input. Only check mobile-agent also
accepts a URL.`,
		Example: `  curtsy check robots --url https://example.org/shop robots.txt
  curl -s https://example.org/robots.txt | curtsy check robots --url https://example.org/shop -`,
	}
	c := checks{a.App}
	cmd.AddCommand(c.robots(), c.host(), c.robotstag(), c.usage(), c.datatxt(), c.rupinfo(), c.rupreport(), c.signature(), c.mobileAgent())
	return cmd
}

// checks makes those commands. They read what they are given and send no request, except for
// mobileAgent.
type checks struct{ app *app.App }

// readInput reads a file, or standard input for "-". It reads no more than limit.
func (c checks) readInput(name string, limit int64) ([]byte, error) {
	in := c.app.Stdin
	if strings.Contains(name, "://") {
		return nil, app.Usage("%q is a URL, and curtsy check fetches nothing; fetch it first: curl -s %s > FILE", name, webtext.ShellWord(name))
	}
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, app.Usage("%v; use an existing file, or - for standard input", err)
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, limit))
	if err != nil {
		return nil, app.Exit(app.ExitUsage, fmt.Errorf("read %s: %w", name, err))
	}
	return body, nil
}

// parseOrigin reads an origin as people write it: any URL of it, in any case.
func parseOrigin(flag, raw string) (robots.Origin, error) {
	u, err := canon.Parse(raw)
	if err != nil {
		return robots.Origin{}, app.Usage("%s %q: %v; use for example https://example.org/", flag, raw, err)
	}
	return robots.ParseOrigin(u.String())
}
