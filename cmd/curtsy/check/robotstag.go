package check

import (
	"fmt"
	"mime"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/robotstag"
	"github.com/spf13/cobra"
)

// maxHTML is how much of a page is read for its meta elements: the limit that the crawler has for
// pages.
const maxHTML = 10 << 20

// robotstagAnswer is what `curtsy check robotstag --json` prints.
type robotstagAnswer struct {
	NoIndex          bool              `json:"noindex"`
	NoSnippet        bool              `json:"nosnippet"`
	MaxSnippet       int               `json:"max_snippet,omitempty"`
	NoFollow         bool              `json:"nofollow"`
	NoArchive        bool              `json:"noarchive"`
	UnavailableAfter *time.Time        `json:"unavailable_after"`
	Sources          []robotstagSource `json:"sources"`
	Diagnostics      []tagDiagnostic   `json:"diagnostics"`
}

type robotstagSource struct {
	Where string   `json:"where"` // header or meta
	Name  string   `json:"name"`
	Value string   `json:"value"`
	Rules []string `json:"rules"` // what it asks of the agent
}

type tagDiagnostic struct {
	Where  string `json:"where"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

func (c checks) robotstag() *cobra.Command {
	var agent, contentType, at string
	var headers []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "robotstag [HTML-FILE]",
		Short:   "Check robots headers and meta elements of a page",
		Long:    `Show which rules for indexing a page sets: in the header X-Robots-Tag and in its meta elements.`,
		Example: "  curtsy check robotstag --agent curtsy --header 'X-Robots-Tag: noindex' page.html",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && len(headers) == 0 {
				return app.Usage("%s needs a page, or --header, or both; use for example: %s --header 'X-Robots-Tag: noindex'", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			now := time.Now()
			if at != "" {
				var err error
				if now, err = time.Parse(time.RFC3339, at); err != nil {
					return app.Usage("--now %q is not a time; use for example 2026-01-31T12:00:00Z", at)
				}
			}
			set := robotstag.New(agent)
			for _, h := range headers {
				name, value, ok := strings.Cut(h, ":")
				if !ok {
					return app.Usage("--header %q is not 'Name: value'; use for example --header 'X-Robots-Tag: noindex'", h)
				}
				set.AddHeader(strings.TrimSpace(name), strings.TrimSpace(value))
			}
			if len(args) == 1 {
				page, err := c.readInput(args[0], maxHTML)
				if err != nil {
					return err
				}
				if err := scanPage(set, page, contentType); err != nil {
					return err
				}
			}
			ans := tagAnswer(set, now)
			if asJSON {
				return c.app.PrintJSON(ans)
			}
			c.printTags(ans, agent)
			return nil
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "curtsy", "product `TOKEN` of the robot")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "a response header `LINE`, such as 'X-Robots-Tag: noindex' (repeatable)")
	cmd.Flags().StringVar(&contentType, "type", "text/html", "Content-`TYPE` of the page")
	cmd.Flags().StringVar(&at, "now", "", "check as of this `TIME` (RFC 3339; default: now)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// scanPage adds the meta elements of a page. Only HTML and XHTML have any.
func scanPage(set *robotstag.Set, page []byte, contentType string) error {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return app.Usage("--type %q is not a content type; use for example text/html", contentType)
	}
	if media != "text/html" && media != "application/xhtml+xml" {
		return nil
	}
	set.ScanHTML(html.Decode(page, html.PageCharset(page, contentType)))
	return nil
}

func tagAnswer(set *robotstag.Set, now time.Time) robotstagAnswer {
	d := set.Directives().At(now)
	ans := robotstagAnswer{NoIndex: d.NoIndex, NoSnippet: d.NoSnippet, MaxSnippet: d.MaxSnippet, NoFollow: d.NoFollow, NoArchive: d.NoArchive,
		Sources: []robotstagSource{}, Diagnostics: []tagDiagnostic{}}
	if !d.UnavailableAfter.IsZero() {
		ans.UnavailableAfter = &d.UnavailableAfter
	}
	for _, s := range set.Sources() {
		src := robotstagSource{Where: s.Where, Name: s.Name, Value: s.Value, Rules: []string{}}
		for _, r := range s.Rules {
			rule := r.Name
			if !r.Until.IsZero() {
				rule += ": " + r.Until.Format(time.RFC3339)
			}
			if r.Limit > 0 {
				rule += ": " + strconv.Itoa(r.Limit)
			}
			src.Rules = append(src.Rules, rule)
		}
		ans.Sources = append(ans.Sources, src)
	}
	for _, d := range set.Diagnostics() {
		ans.Diagnostics = append(ans.Diagnostics, tagDiagnostic{d.Where, d.Line, d.Reason, d.Text})
	}
	return ans
}

func (c checks) printTags(ans robotstagAnswer, agent string) {
	var asks []string
	for _, d := range []struct {
		on   bool
		name string
	}{{ans.NoIndex, "noindex"}, {ans.NoSnippet, "nosnippet"}, {ans.NoFollow, "nofollow"}, {ans.NoArchive, "noarchive"}} {
		if d.on {
			asks = append(asks, d.name)
		}
	}
	if ans.MaxSnippet > 0 {
		asks = append(asks, "max-snippet "+strconv.Itoa(ans.MaxSnippet))
	}
	if ans.UnavailableAfter != nil {
		asks = append(asks, "unavailable_after "+ans.UnavailableAfter.Format(time.RFC3339))
	}
	if len(asks) == 0 {
		asks = []string{"none"}
	}
	fmt.Fprintf(c.app.Stdout, "rules for %s: %s\n", agent, strings.Join(asks, ", "))
	for _, s := range ans.Sources {
		rules := "no rule for it"
		if len(s.Rules) > 0 {
			rules = strings.Join(s.Rules, ", ")
		}
		fmt.Fprintf(c.app.Stdout, "%s %s: %s → %s\n", s.Where, s.Name, s.Value, rules)
	}
	for _, d := range ans.Diagnostics {
		fmt.Fprintf(c.app.Stdout, "%s %d: %s: %s\n", d.Where, d.Line, d.Reason, d.Text)
	}
}
