package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/spf13/cobra"
)

// healthcheckCommand is for containers, which have no shell and no curl.
func (a *commands) healthcheckCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "healthcheck URL",
		Short: "Exit with 0 if a Curtsy process is ready",
		Long: `Request /readyz of a crawl or daemon at the address of its --listen, and exit with 0 if it is
ready. It is for containers, which have no shell and no curl.`,
		Annotations: cli.ExitCodes("0 The process is ready.", "1 It is not ready, or does not answer.", "2 The command line is wrong."),
		Example:     "  curtsy healthcheck http://127.0.0.1:8080",
		Args:        app.OneArg("URL", "http://127.0.0.1:8080"),
		RunE: func(cmd *cobra.Command, args []string) error {
			u, err := url.Parse(args[0])
			if err != nil || u.Host == "" {
				return app.Usage("%q is not a URL; use for example http://127.0.0.1:8080", args[0])
			}
			if strings.Trim(u.Path, "/") == "" {
				u.Path = "/readyz"
			}
			req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, u.String(), nil)
			if err != nil {
				return err
			}
			resp, err := (&http.Client{Timeout: timeout}).Do(req)
			if err != nil {
				return fmt.Errorf("%w; use the address of --listen of a running crawl or daemon", err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
				return fmt.Errorf("%s: %s: %s", u, resp.Status, strings.TrimSpace(string(body)))
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "give up after this `TIME`")
	return cmd
}
