package check

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/spf13/cobra"
)

func (a *commands) simwebCommand() *cobra.Command {
	var listen, log, login, certificate string
	cmd := &cobra.Command{
		Use:   "simweb",
		Short: "Serve the simulated web of the demo, to test crawlers",
		Long: `Serve the simulated web of the demo until ^C, to test crawlers on it. The command prints how to
crawl it.`,
		Example: "  curtsy simweb\n  curtsy simweb --listen 127.0.0.1:8000 --log requests.jsonl",
		Args:    app.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg := simweb.Demo()
			cfg.Addr, cfg.LogFile, cfg.Login, cfg.TLS = listen, log, login, certificate != ""
			if log == "" {
				cfg.LogLimit = -1 // the log is not read
			}
			web, err := simweb.Start(cfg)
			if errors.Is(err, syscall.EADDRINUSE) {
				return fmt.Errorf("%w; to use any free port: --listen 127.0.0.1:0", err)
			}
			if err != nil {
				return err
			}
			defer web.Close()
			if certificate != "" {
				if err := os.WriteFile(certificate, web.Certificate(), 0o644); err != nil {
					return err
				}
			}
			fmt.Fprintf(a.Stdout, "serving %d hosts on %s; crawl them with:\n%s\n", len(web.Hosts()), web.Addr(), SimwebHint(web))
			<-cmd.Context().Done()
			return nil
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8000", "serve on `ADDR`")
	cmd.Flags().StringVar(&log, "log", "", "append every request to `FILE` as JSON lines")
	cmd.Flags().StringVar(&login, "login", "", "ask every client for this `USER:PASSWORD`")
	cmd.Flags().StringVar(&certificate, "certificate", "", "serve https too, and write the certificate to `FILE`")
	return cmd
}

// SimwebHint is a command that crawls a simulated web.
func SimwebHint(web *simweb.Server) string {
	return fmt.Sprintf("  curtsy crawl --allow-private --delay 100ms --resolve '%s' %s", web.Resolve(), web.Seeds()[0])
}
