package look

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	use "github.com/curtsy/curtsy/pkg/usage"
	"github.com/spf13/cobra"
)

func (a *commands) explainCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "explain URL",
		Short:   "Explain what happened to a URL, and why",
		Example: "  curtsy explain https://example.org/private/",
		Args:    app.OneURL,
		PreRunE: app.IsURL,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, args []string) error {
		x, err := from.Explain(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if asJSON {
			return a.PrintJSON(x)
		}
		printExplanation(a.Stdout, x)
		return nil
	})
}

func printExplanation(w io.Writer, x crawl.Explanation) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, term.Clean(fmt.Sprintf(format, args...)))
	}
	line("url", "%s", x.Canonical)
	line("in scope", "%s (%s)", term.YesNo(x.InScope), x.ScopeRule)
	if r := x.Robots; r != nil {
		verdict := "refuses it"
		if r.Allowed {
			verdict = "allows it"
		}
		if r.Line > 0 {
			verdict += fmt.Sprintf(" by line %d, %q", r.Line, r.Rule)
		}
		if r.FetchedAt != nil {
			verdict += ", fetched " + r.FetchedAt.Local().Format(time.DateTime)
		}
		line("robots.txt", "%s: %s", robotsWords(r), verdict)
		if r.Usage != nil {
			printUse(line, "use", *r.Usage)
		}
		for _, l := range r.Licenses {
			line("licence", "%s, robots.txt line %d", l.Text, l.Line)
		}
	} else {
		line("robots.txt", "not requested yet")
	}
	line("state", "%s", Why(x))
	if !x.Seen {
		line("seen", "no: no crawled page links here, and it was no seed")
		return
	}
	switch {
	case x.FoundOn != nil:
		line("found on", "%s", *x.FoundOn)
	default:
		line("found on", "nothing: it is a seed")
	}
	switch after, by := x.FoundAfter, x.FoundBy; {
	case after != nil && by != nil:
		line("found", "from %s to %s", after.Local().Format(time.DateTime), by.Local().Format(time.DateTime))
	case by != nil:
		line("found", "by %s", by.Local().Format(time.DateTime))
	case after != nil:
		line("found", "after %s", after.Local().Format(time.DateTime))
	}
	if x.Depth != nil {
		line("depth", "%d", *x.Depth)
	}
	line("attempts", "%d", x.Attempts)
	if x.Location != "" {
		line("leads to", "%s", x.Location)
	}
	if x.FetchedAt != nil {
		line("fetched", "%s", x.FetchedAt.Local().Format(time.DateTime))
	}
	if x.Robot != nil {
		line("mobile robot", "%s", cameText(*x.Robot))
	}
	for _, l := range x.Life {
		line("log", "%s", logText(l, false))
	}
	if x.NextDue != nil {
		line("next due", "%s", x.NextDue.Local().Format(time.DateTime))
	}
	for _, q := range x.Quoting {
		line("snippets", "%s: %s in %s", q.Means(), q.Written(), q.Where())
	}
	if len(x.Quoting) == 0 && x.SnippetAllowed != nil && !*x.SnippetAllowed {
		line("snippets", "not allowed by the page")
	}
	printRendering(line, x)
	if x.Usage != nil {
		printUse(line, "kept for", *x.Usage)
	}
	if x.AgentServer != nil {
		line("robot server", "%s", *x.AgentServer)
	}
}

// printUse prints each purpose with a known value, and the line that sets it.
func printUse(line func(name, format string, args ...any), name string, u crawl.Usage) {
	for i := range (use.Preferences{}) {
		p := use.Purpose(i)
		value := u.Of(p)
		if value == use.Unknown.String() {
			continue
		}
		text := p.String() + ": " + value
		for _, s := range u.Sources {
			if s.Purpose != p.String() || s.Value != value {
				continue
			}
			text += fmt.Sprintf(" by %s line %d, %q", s.From, s.Line, s.Text)
			if s.Inferred {
				text += ", inferred from its rules for AI training"
			}
			break // the first that decides
		}
		line(name, "%s", text)
	}
}

// robotsWords describes the state of a robots.txt in words.
func robotsWords(r *crawl.ExplainRobots) string {
	if r.State != crawl.RobotsUnavailable.String() {
		return r.State
	}
	if r.Status != 0 {
		return fmt.Sprintf("there is none (HTTP %d)", r.Status)
	}
	return "there is none"
}

// Why is the state of a URL with its reason, in one line.
func Why(x crawl.Explanation) string {
	parts := []string{strings.ReplaceAll(x.State, "_", " ")}
	// While robots.txt is unreachable, no page of the origin is requested.
	if r := x.Robots; r != nil && r.State == crawl.RobotsUnreachable.String() {
		return strings.Join(append(parts, "robots.txt unreachable", r.Rule), ": ")
	}
	if x.Reason != "" {
		parts = append(parts, x.Reason)
	}
	if x.Status != 0 {
		parts = append(parts, fmt.Sprintf("HTTP %d", x.Status))
	}
	if x.Detail != "" && x.Detail != x.Location {
		parts = append(parts, x.Detail)
	}
	return strings.Join(parts, ": ")
}

// printRendering prints what scripts are to a stored page, if anything is known of it.
func printRendering(line func(name, format string, args ...any), x crawl.Explanation) {
	switch x.Rendering {
	case crawl.RenderingNeeded.String():
		line("scripts", "it has no text without JavaScript; run the crawl with --render auto")
	case crawl.RenderingDone.String():
		text := "rendered"
		if x.RenderNote != "" {
			text += "; " + x.RenderNote
		}
		line("scripts", "%s", text)
	case crawl.RenderingFailed.String():
		line("scripts", "%s", cmp.Or(x.RenderNote, "rendering failed"))
	}
}
