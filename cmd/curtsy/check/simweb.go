package check

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/spf13/cobra"
)

func (a *commands) simwebCommand() *cobra.Command {
	var listen, log, login, certificate, agents string
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
			if agents != "" {
				if f := robots.Parse([]byte(agentLine(agents))); len(f.AgentServers()) != 1 {
					return app.Usage("--agent-server %q is not an address; use for example atp://robots.sim.test:10434", agents)
				}
				first := cfg.Behaviors[0]
				first.Pages, first.Extra = manualPages, []string{agentLine(agents), "Sitemap: /" + pageList}
				cfg.Behaviors[0] = first
			}
			web, err := simweb.Start(cfg)
			if errors.Is(err, syscall.EADDRINUSE) {
				return fmt.Errorf("%w; to use any free port: --listen 127.0.0.1:0", err)
			}
			if err != nil {
				return err
			}
			defer web.Close()
			if agents != "" {
				list := strings.Join(web.PageURLs(web.Hosts()[0]), "\n")
				web.Override(web.Seeds()[0]+pageList, &simweb.Answer{ContentType: "text/plain; charset=utf-8", Body: list + "\n"})
			}
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
	cmd.Flags().StringVar(&agents, "agent-server", "", "let the robots.txt of the first host name `ADDRESS` as its server for mobile robots")
	cmd.Flags().StringVar(&certificate, "certificate", "", "serve https too, and write the certificate to `FILE`")
	return cmd
}

// With --agent-server, the first host has this many pages, and a sitemap of them, for an agenthost
// that asks the simulated web for them.
const (
	manualPages = 300
	pageList    = "pages.txt"
)

// agentLine is the line of a robots.txt that names a server for mobile robots.
func agentLine(address string) string { return "Mobile-agent-server: / " + address }

// SimwebHint is a command that crawls a simulated web.
func SimwebHint(web *simweb.Server) string {
	return fmt.Sprintf("  curtsy crawl --allow-private --delay 100ms --resolve '%s' %s", web.Resolve(), web.Seeds()[0])
}
