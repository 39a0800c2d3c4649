package check

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/uses"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	use "github.com/curtsy/curtsy/pkg/usage"
	"github.com/spf13/cobra"
)

// usageAnswer is what `curtsy check usage --json` prints.
type usageAnswer struct {
	Search      string            `json:"search"` // allow, disallow or unknown, as the next three
	AIInput     string            `json:"ai-input"`
	AITrain     string            `json:"ai-train"`
	TDM         string            `json:"tdm"`
	Sources     []usageSource     `json:"sources"`
	Terms       []usageTerms      `json:"terms"`
	Diagnostics []usageDiagnostic `json:"diagnostics"`
}

type usageSource struct {
	Purpose  string `json:"purpose"`
	Value    string `json:"value"`
	From     string `json:"from"`
	Line     int    `json:"line"`
	Text     string `json:"text"`
	Inferred bool   `json:"inferred,omitempty"`
}

type usageTerms struct {
	Kind string `json:"kind"`
	URL  string `json:"url"`
	From string `json:"from"`
	Line int    `json:"line"`
}

type usageDiagnostic struct {
	From   string `json:"from"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// usageInput is what the flags of check usage select.
type usageInput struct {
	robots, url, html, tdmrep, rsl, agent string
	headers                               []string
}

func (c checks) usage() *cobra.Command {
	var in usageInput
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Check what pages may be used for (search, AI, data mining)",
		Long: `Show what a page may be used for: search, AI answers, AI training, and text and data mining.
The rules of robots.txt, headers, the page itself, tdmrep.json and a licence document are combined;
the strictest one counts. Without --url, the root of the site is checked.`,
		Example: "  curtsy check usage --robots robots.txt --url https://example.org/a --header 'Content-Usage: train-ai=n'",
		Args:    app.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if in.robots == "" && in.html == "" && in.tdmrep == "" && in.rsl == "" && len(in.headers) == 0 {
				return app.Usage("%s needs --robots, --header, --html, --tdmrep or --rsl; use for example: %s --robots robots.txt", cmd.CommandPath(), cmd.CommandPath())
			}
			ans, err := c.askUsage(in)
			if err != nil {
				return err
			}
			if asJSON {
				return c.app.PrintJSON(ans)
			}
			c.printUsage(ans)
			return nil
		},
	}
	cmd.Flags().StringVar(&in.robots, "robots", "", "`FILE` with the robots.txt of the site")
	cmd.Flags().StringVar(&in.url, "url", "", "check this `URL` (default: the root of the site)")
	cmd.Flags().StringArrayVar(&in.headers, "header", nil, "a response header `LINE`, such as 'Content-Usage: train-ai=n' (repeatable)")
	cmd.Flags().StringVar(&in.html, "html", "", "`FILE` with the page")
	cmd.Flags().StringVar(&in.tdmrep, "tdmrep", "", "`FILE` with the /.well-known/tdmrep.json of the site")
	cmd.Flags().StringVar(&in.rsl, "rsl", "", "`FILE` with the licence document that applies")
	cmd.Flags().StringVar(&in.agent, "agent", "curtsy", "product `TOKEN` of the robot")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (c checks) askUsage(in usageInput) (usageAnswer, error) {
	var origin robots.Origin
	address, path := "/", "/"
	if in.url != "" {
		u, err := canon.Parse(in.url)
		if err != nil {
			return usageAnswer{}, app.Usage("--url %q: %v; use for example https://example.org/shop", in.url, err)
		}
		if origin, err = robots.ParseOrigin(u.String()); err != nil {
			return usageAnswer{}, err
		}
		address, path = u.String(), u.PathQuery()
	}
	var s use.Set
	if in.robots != "" {
		body, err := c.readInput(in.robots, robots.MaxBytes+2)
		if err != nil {
			return usageAnswer{}, err
		}
		addRobots(&s, body, in.agent, origin, path)
	}
	if in.tdmrep != "" {
		body, err := c.readInput(in.tdmrep, use.MaxTDMRep+1)
		if err != nil {
			return usageAnswer{}, err
		}
		if file, err := use.ParseTDMRep(body); err != nil {
			s.Odd(use.Position{From: "tdmrep.json", Line: 1}, err.Error(), "")
		} else {
			s.TDMRep(file, address)
		}
	}
	if in.rsl != "" {
		body, err := c.readInput(in.rsl, use.MaxRSL+1)
		if err != nil {
			return usageAnswer{}, err
		}
		if doc, err := use.ParseRSL(body); err != nil {
			s.Odd(use.Position{From: "rsl", Line: 1}, err.Error(), "")
		} else {
			s.RSL(doc, use.Position{From: "rsl", Line: 1}, address)
		}
	}
	if err := c.addAnswer(&s, in, address); err != nil {
		return usageAnswer{}, err
	}
	return usageOf(&s), nil
}

// addRobots adds the rules of a robots.txt, for us and for crawlers that train models, and its
// oddities.
func addRobots(s *use.Set, body []byte, agent string, origin robots.Origin, path string) {
	file := robots.Parse(body)
	rules := file.Rules(agent, origin)
	uses.Robots(s, rules, path)
	uses.Training(s, file, origin)
	if v := rules.Match(path); !v.Allowed {
		s.Odd(use.Position{From: "robots.txt", Line: v.Line}, "forbids "+agent+" the URL, so its Content-Usage does not apply", v.Rule)
	}
	for _, d := range file.Diagnostics {
		s.Odd(use.Position{From: "robots.txt", Line: d.Line}, d.Reason, d.Text)
	}
}

// addAnswer adds the rules in the headers and the page, read as the crawler reads them.
func (c checks) addAnswer(s *use.Set, in usageInput, address string) error {
	header := http.Header{}
	for _, h := range in.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return app.Usage("--header %q is not 'Name: value'; use for example --header 'Content-Usage: train-ai=n'", h)
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	page := htmlscan.Page{ContentType: header.Get("Content-Type"), Header: header, Token: in.agent}
	if in.html != "" {
		body, err := c.readInput(in.html, maxHTML)
		if err != nil {
			return err
		}
		page.Body, page.HTML = body, true
	}
	var scanner htmlscan.Scanner
	r := scanner.Scan(page)
	uses.Answer(s, header, &r, address)
	return nil
}

func usageOf(s *use.Set) usageAnswer {
	p := s.Concluded()
	ans := usageAnswer{Search: p[use.Search].String(), AIInput: p[use.AIInput].String(), AITrain: p[use.AITrain].String(), TDM: p[use.TDM].String(),
		Sources: []usageSource{}, Terms: []usageTerms{}, Diagnostics: []usageDiagnostic{}}
	for _, src := range s.Sources() {
		ans.Sources = append(ans.Sources, usageSource{src.Purpose.String(), src.Value.String(), src.From, src.Line, src.Text, src.Inferred})
	}
	for _, t := range s.Terms() {
		ans.Terms = append(ans.Terms, usageTerms{t.Kind, t.URL, t.From, t.Line})
	}
	for _, d := range s.Diagnostics() {
		ans.Diagnostics = append(ans.Diagnostics, usageDiagnostic{d.From, d.Line, d.Reason, d.Text})
	}
	return ans
}

func (c checks) printUsage(ans usageAnswer) {
	w := c.app.Stdout
	fmt.Fprintf(w, "search: %s\nai-input: %s\nai-train: %s\ntdm: %s\n", ans.Search, ans.AIInput, ans.AITrain, ans.TDM)
	for _, s := range ans.Sources {
		inferred := ""
		if s.Inferred {
			inferred = ", inferred from its rules for AI training"
		}
		fmt.Fprintf(w, "%s %s by %s, line %d%s: %s\n", s.Purpose, s.Value, s.From, s.Line, inferred, s.Text)
	}
	for _, t := range ans.Terms {
		fmt.Fprintf(w, "terms (%s) by %s, line %d: %s\n", t.Kind, t.From, t.Line, t.URL)
	}
	for _, d := range ans.Diagnostics {
		fmt.Fprintf(w, "%s, line %d: %s: %s\n", d.From, d.Line, d.Reason, d.Text)
	}
}
