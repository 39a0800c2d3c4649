package check

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/spf13/cobra"
)

// robotsAnswer is what `curtsy check robots --json` prints.
type robotsAnswer struct {
	Allowed     *bool              `json:"allowed"` // null without --url
	Line        int                `json:"line"`
	Rule        string             `json:"rule"`
	CrawlDelay  *float64           `json:"crawl_delay"`
	Sitemaps    []string           `json:"sitemaps"`
	Cleaned     *string            `json:"cleaned,omitempty"`
	Host        robotsHostAnswer   `json:"host"`
	AgentServer *string            `json:"agent_server"`
	Diagnostics []robotsDiagnostic `json:"diagnostics"`
}

type robotsHostAnswer struct {
	Hint *string `json:"hint"`
	// Null if there is no hint, or no origin to compare it with.
	Matches         *bool `json:"matches"`
	ImpliedDisallow bool  `json:"implied_disallow"`
}

type robotsDiagnostic struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

func (c checks) robots() *cobra.Command {
	var agent, from, rawURL string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "robots FILE",
		Short: "Check the rules of a robots.txt",
		Long: `Show the rules of a robots.txt for the robot called --agent. With --url, show whether that URL
is allowed, and the line that decides.`,
		Annotations: cli.ExitCodes("0 The URL is allowed; without --url, the file was read.", "1 The URL is refused.", "2 The command line is wrong."),
		Example:     "  curtsy check robots --agent curtsy --url https://example.org/shop robots.txt",
		Args:        app.OneArg("FILE", "robots.txt"),
		RunE: func(_ *cobra.Command, args []string) error {
			body, err := c.readInput(args[0], robots.MaxBytes+2)
			if err != nil {
				return err
			}
			ans, err := askRobots(body, agent, from, rawURL)
			if err != nil {
				return err
			}
			if asJSON {
				err = c.app.PrintJSON(ans)
			} else {
				c.printRobots(ans, agent, rawURL)
			}
			if err == nil && ans.Allowed != nil && !*ans.Allowed {
				return app.Exit(app.ExitFailed, nil)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "curtsy", "product `TOKEN` of the robot")
	cmd.Flags().StringVar(&from, "from", "", "`URL` of the file (default: /robots.txt of the origin of --url)")
	cmd.Flags().StringVar(&rawURL, "url", "", "check this `URL`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func askRobots(body []byte, agent, from, rawURL string) (robotsAnswer, error) {
	var ans robotsAnswer
	var origin robots.Origin
	var u canon.URL
	var err error
	if rawURL != "" {
		if u, err = canon.Parse(rawURL); err != nil {
			return ans, app.Usage("--url %q: %v; use for example https://example.org/shop", rawURL, err)
		}
		if origin, err = robots.ParseOrigin(u.String()); err != nil {
			return ans, err
		}
	}
	base := origin.RobotsURL()
	if from != "" {
		asked := origin
		if origin, err = parseOrigin("--from", from); err != nil {
			return ans, err
		}
		if rawURL != "" && asked != origin {
			return ans, app.Usage("the robots.txt of %s does not apply to %s; each origin has its own: use --from %[2]s, or leave --from out", origin, asked)
		}
		base = from
	}
	file := robots.Parse(body)
	rules := file.Rules(agent, origin)
	if u != "" {
		v := rules.Match(u.PathQuery())
		ans.Allowed, ans.Line, ans.Rule = &v.Allowed, v.Line, v.Rule
		if cleaned := file.CleanURL(u.PathQuery()); len(file.CleanParams) > 0 {
			ans.Cleaned = ptr(strings.TrimSuffix(u.String(), u.PathQuery()) + cleaned)
		}
		if target, ok := rules.AgentServer(u.Path()); ok {
			ans.AgentServer = &target
		}
	}
	if d, ok := rules.CrawlDelay(); ok {
		ans.CrawlDelay = ptr(d.Seconds())
	}
	if ans.Sitemaps = file.SitemapURLs(base); origin == (robots.Origin{}) {
		ans.Sitemaps = file.Sitemaps // relative ones have nothing to be relative to
	}
	if ans.Sitemaps == nil {
		ans.Sitemaps = []string{}
	}
	ans.Host = askHost(file, rules, agent, origin)
	ans.Diagnostics = []robotsDiagnostic{}
	for _, d := range file.Diagnostics {
		ans.Diagnostics = append(ans.Diagnostics, robotsDiagnostic{d.Line, d.Reason, d.Text})
	}
	return ans, nil
}

func askHost(file *robots.File, rules *robots.Rules, agent string, origin robots.Origin) robotsHostAnswer {
	var h robotsHostAnswer
	if file.HostHint != "" {
		h.Hint = &file.HostHint
	}
	if origin == (robots.Origin{}) {
		return h
	}
	if claim := file.Claim(origin); claim.Kind != robots.ClaimNone {
		h.Matches = ptr(claim.Kind == robots.ClaimSelf)
	}
	// The origin changes the rules in one way only: a Host line with another name implies a
	// Disallow.
	h.ImpliedDisallow = !reflect.DeepEqual(rules, file.Rules(agent, robots.Origin{}))
	return h
}

func (c checks) printRobots(ans robotsAnswer, agent, rawURL string) {
	w := c.app.Stdout
	if ans.Allowed != nil {
		verdict := "may fetch"
		if !*ans.Allowed {
			verdict = "may not fetch"
		}
		why := "no rule matches"
		if ans.Line > 0 {
			why = fmt.Sprintf("line %d: %s", ans.Line, ans.Rule)
		}
		fmt.Fprintf(w, "%s %s %s (%s)\n", agent, verdict, rawURL, why)
	}
	if ans.CrawlDelay != nil {
		fmt.Fprintf(w, "crawl-delay: %gs\n", *ans.CrawlDelay)
	}
	for _, s := range ans.Sitemaps {
		fmt.Fprintln(w, "sitemap:", s)
	}
	if ans.Cleaned != nil {
		fmt.Fprintln(w, "cleaned:", *ans.Cleaned)
	}
	if h := ans.Host; h.Hint != nil {
		fmt.Fprintf(w, "host: %s", *h.Hint)
		if h.Matches != nil {
			fmt.Fprintf(w, " (this origin: %s; implied Disallow: %s)", term.YesNo(*h.Matches), term.YesNo(h.ImpliedDisallow))
		}
		fmt.Fprintln(w)
	}
	if ans.AgentServer != nil {
		target := *ans.AgentServer
		if target == "" {
			target = "none"
		}
		fmt.Fprintln(w, "agent server:", target)
	}
	for _, d := range ans.Diagnostics {
		fmt.Fprintf(w, "line %d: %s: %s\n", d.Line, d.Reason, d.Text)
	}
	if ans.Allowed == nil && len(ans.Diagnostics) == 0 {
		fmt.Fprintln(w, "the file is readable and has no errors")
	}
}

func ptr[T any](v T) *T { return &v }
