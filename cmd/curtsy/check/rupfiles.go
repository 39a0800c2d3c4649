package check

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
	"github.com/spf13/cobra"
)

// rupinfoAnswer is what `curtsy check rupinfo --json` prints.
type rupinfoAnswer struct {
	RUPCGI       *string     `json:"rup_cgi"` // absolute; null if there is none to use
	Authentifier string      `json:"authentifier"`
	Latency      []string    `json:"latency"`
	Exclude      []string    `json:"exclude"`
	IncludeOnly  []string    `json:"include_only"`
	MaxQuerySpan *string     `json:"max_query_span"`
	Diagnostics  []rupOddity `json:"diagnostics"`
	Error        *string     `json:"error"`
}

// rupreportAnswer is what `curtsy check rupreport --json` and `curtsy rup index --json` print.
type rupreportAnswer struct {
	SequenceNumber *int64       `json:"sequence_number"`
	URLBase        *string      `json:"url_base"`
	Entries        []rupEntry   `json:"entries"`
	Refused        []rupRefused `json:"refused"`
	Truncated      bool         `json:"truncated"`
	Diagnostics    []rupOddity  `json:"diagnostics"`
	Error          *string      `json:"error"`
}

type rupEntry struct {
	URL  string  `json:"url"`
	Kind string  `json:"kind"` // New, Change, Delete
	Date *string `json:"date"` // RFC 3339; null if unknown
	Line int     `json:"line"`
}

type rupRefused struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

type rupOddity struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

func (c checks) rupinfo() *cobra.Command {
	var from string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rupinfo --from URL FILE",
		Short: "Check a rupinfo.txt (Remote Update Protocol)",
		Long:  `Show what a /rupinfo.txt offers to robots that want reports of changes (Remote Update Protocol).`,
		Annotations: cli.ExitCodes("0 A robot can register there.", "1 A robot can only query, because the authentifier is unknown.",
			"2 The command line is wrong, or the file offers no update server."),
		Example: "  curtsy check rupinfo --from https://www.example.org/rupinfo.txt rupinfo.txt",
		Args:    app.OneArg("FILE", "--from https://www.example.org/rupinfo.txt rupinfo.txt"),
		RunE: func(_ *cobra.Command, args []string) error {
			base, err := siteURL("--from", from, "https://www.example.org/rupinfo.txt")
			if err != nil {
				return err
			}
			body, err := c.readInput(args[0], rup.MaxInfo+1)
			if err != nil {
				return err
			}
			info, failed := rup.ParseInfo(body, base)
			if failed == nil {
				failed = info.CanRegister()
			}
			ans := rupinfoOf(info, failed)
			if asJSON {
				err = c.app.PrintJSON(ans)
			} else {
				printRupinfo(c.app.Stdout, ans)
			}
			switch {
			case err != nil:
				return err
			case errors.Is(failed, rup.ErrAuthentifier):
				return app.Exit(app.ExitFailed, nil)
			case failed != nil:
				return app.Exit(app.ExitUsage, nil)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "`URL` of the file (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (c checks) rupreport() *cobra.Command {
	var site string
	var asJSON bool
	cmd := &cobra.Command{
		Use:         "rupreport --site ORIGIN FILE",
		Short:       "Check a report of changes (Remote Update Protocol)",
		Long:        `Show the changes in a report of the Remote Update Protocol. FILE is the decoded text of the mail, without its header.`,
		Annotations: cli.ExitCodes("0 The report was read.", "2 The command line is wrong, or the report cannot be used."),
		Example:     "  curtsy check rupreport --site https://www.example.org/ report.txt",
		Args:        app.OneArg("FILE", "--site https://www.example.org/ report.txt"),
		RunE: func(_ *cobra.Command, args []string) error {
			origin, err := siteURL("--site", site, "https://www.example.org/")
			if err != nil {
				return err
			}
			text, err := c.readInput(args[0], rup.MaxReport+1)
			if err != nil {
				return err
			}
			report, failed := rup.ParseReport(text)
			if failed == nil {
				failed = report.CheckSite(origin)
			}
			ans := rupreportOf(report, failed)
			if asJSON {
				err = c.app.PrintJSON(ans)
			} else {
				printRupreport(c.app.Stdout, ans)
			}
			if err == nil && failed != nil {
				return app.Exit(app.ExitUsage, nil)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&site, "site", "", "`ORIGIN` that the report must come from (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// siteURL reads the URL of a site, or of a file there.
func siteURL(flag, raw, example string) (*url.URL, error) {
	u, err := canon.Parse(raw)
	if err != nil {
		return nil, app.Usage("%s %q is not an http or https URL; use for example %[1]s %[3]s", flag, raw, example)
	}
	return url.Parse(u.String())
}

func rupinfoOf(i *rup.Info, failed error) rupinfoAnswer {
	ans := rupinfoAnswer{
		Authentifier: i.Authentifier, Latency: []string{}, Exclude: append([]string{}, i.Exclude...), IncludeOnly: append([]string{}, i.IncludeOnly...),
		Diagnostics: odditiesOf(i.Notes), Error: errorText(failed),
	}
	if i.CGI != "" {
		ans.RUPCGI = &i.CGI
	}
	if ans.Authentifier == "" {
		ans.Authentifier = "none"
	}
	for _, unit := range i.Latency {
		ans.Latency = append(ans.Latency, string(unit))
	}
	if i.MaxQuerySpan != (rup.Span{}) {
		ans.MaxQuerySpan = ptr(i.MaxQuerySpan.String())
	}
	return ans
}

// rupreportOf describes a report. The entries of a report from another site are listed as refused.
func rupreportOf(r *rup.Report, failed error) rupreportAnswer {
	ans := rupreportAnswer{Entries: []rupEntry{}, Refused: []rupRefused{}, Diagnostics: []rupOddity{}, Error: errorText(failed)}
	if r == nil {
		return ans
	}
	ans.SequenceNumber, ans.URLBase, ans.Truncated, ans.Diagnostics = &r.Sequence, &r.Base, r.Truncated, odditiesOf(r.Notes)
	for _, e := range r.Entries {
		if failed != nil {
			ans.Refused = append(ans.Refused, rupRefused{e.URL, string(e.Kind), e.Line, "the whole report is refused"})
			continue
		}
		entry := rupEntry{URL: e.URL, Kind: string(e.Kind), Line: e.Line}
		if !e.Date.IsZero() {
			entry.Date = ptr(e.Date.Format(time.RFC3339))
		}
		ans.Entries = append(ans.Entries, entry)
	}
	for _, f := range r.Refused {
		ans.Refused = append(ans.Refused, rupRefused{f.Path, string(f.Kind), f.Line, f.Reason})
	}
	return ans
}

func odditiesOf(n rup.Notes) []rupOddity {
	list := []rupOddity{}
	for _, d := range n.Diagnostics {
		list = append(list, rupOddity{d.Line, d.Reason})
	}
	return list
}

func errorText(err error) *string {
	if err == nil {
		return nil
	}
	return ptr(err.Error())
}

func printRupinfo(w io.Writer, ans rupinfoAnswer) {
	if ans.Error != nil {
		fmt.Fprintln(w, term.Clean(*ans.Error))
	}
	if ans.RUPCGI != nil {
		fmt.Fprintln(w, "query at:", term.Clean(*ans.RUPCGI))
	}
	list := func(name string, values []string) {
		if len(values) > 0 {
			fmt.Fprintf(w, "%s: %s\n", name, term.Clean(strings.Join(values, "  ")))
		}
	}
	list("latency", ans.Latency)
	list("exclude", ans.Exclude)
	list("include only", ans.IncludeOnly)
	if ans.MaxQuerySpan != nil {
		fmt.Fprintln(w, "changes stored for:", *ans.MaxQuerySpan)
	}
	printOddities(w, ans.Diagnostics)
}

func printRupreport(w io.Writer, ans rupreportAnswer) {
	if ans.Error != nil {
		fmt.Fprintln(w, "refused:", term.Clean(*ans.Error))
	}
	if ans.SequenceNumber != nil {
		fmt.Fprintf(w, "report %d of %s: %s\n", *ans.SequenceNumber, term.Clean(*ans.URLBase), term.Count(int64(len(ans.Entries)), "change"))
	}
	for _, e := range ans.Entries {
		date := "undated"
		if e.Date != nil {
			date = *e.Date
		}
		fmt.Fprintln(w, e.Kind, date, term.Clean(e.URL))
	}
	if ans.Truncated {
		fmt.Fprintln(w, "the report is longer than allowed; its end was ignored")
	}
	for _, f := range ans.Refused {
		fmt.Fprintf(w, "line %d: %s %s: %s\n", f.Line, f.Kind, term.Clean(f.Path), term.Clean(f.Reason))
	}
	printOddities(w, ans.Diagnostics)
}

func printOddities(w io.Writer, list []rupOddity) {
	for _, d := range list {
		fmt.Fprintf(w, "line %d: %s\n", d.Line, term.Clean(d.Reason))
	}
}
