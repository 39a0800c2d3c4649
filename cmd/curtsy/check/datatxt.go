package check

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
	"github.com/spf13/cobra"
)

// datatxtAnswer is what `curtsy check datatxt --json` prints.
type datatxtAnswer struct {
	Result      string          `json:"result"` // parsed, absent, error
	Form        *string         `json:"form"`   // records, yaml
	Allowed     *bool           `json:"allowed"`
	Line        int             `json:"line"` // that decided
	Datasets    []datasetAnswer `json:"datasets"`
	Diagnostics []datatxtOddity `json:"diagnostics"`
	Error       *string         `json:"error"`
}

type datasetAnswer struct {
	URLs        []string       `json:"urls"`
	Name        string         `json:"name"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	License     string         `json:"license"`
	Type        string         `json:"type"`
	Rows        *int64         `json:"rows"`
	Cols        *int64         `json:"cols"`
	RowsText    string         `json:"rows_text,omitempty"` // as written, when that is no number
	ColsText    string         `json:"cols_text,omitempty"`
	Columns     []columnAnswer `json:"columns"`
	Source      string         `json:"source"`
	Extra       map[string]any `json:"extra"`
	Line        int            `json:"line"`
	External    bool           `json:"external"`
	Allowed     bool           `json:"allowed"`
}

type columnAnswer struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
}

type datatxtOddity struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

func (c checks) datatxt() *cobra.Command {
	var agent, from, rawURL, contentType string
	var asJSON bool
	cmd := &cobra.Command{
		Use:         "datatxt FILE",
		Short:       "Check the datasets that a data.txt lists",
		Long:        `Show the datasets that a data.txt lists, in either of its forms. With --url, show whether that dataset may be fetched.`,
		Annotations: cli.ExitCodes("0 The file was read, and it allows --url.", "1 The file refuses --url.", "2 The command line is wrong, or the file cannot be used."),
		Example:     "  curtsy check datatxt --from https://data.example.org/data.txt data.txt",
		Args:        app.OneArg("FILE", "--from https://data.example.org/data.txt data.txt"),
		RunE: func(_ *cobra.Command, args []string) error {
			base, err := canon.Parse(from)
			if err != nil {
				return app.Usage("--from %q is not the URL of the file; use for example --from https://data.example.org/data.txt", from)
			}
			body, err := c.readInput(args[0], datatxt.MaxSize+1)
			if err != nil {
				return err
			}
			ans, err := askDatatxt(body, agent, base, rawURL, contentType)
			if err != nil {
				return err
			}
			if asJSON {
				err = c.app.PrintJSON(ans)
			} else {
				printDatatxt(c.app.Stdout, ans)
			}
			switch {
			case err != nil:
				return err
			case ans.Error != nil:
				return app.Exit(app.ExitUsage, nil)
			case ans.Allowed != nil && !*ans.Allowed:
				return app.Exit(app.ExitFailed, nil)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "curtsy", "product `TOKEN` of the robot")
	cmd.Flags().StringVar(&from, "from", "", "`URL` of the file; its paths are relative to it (required)")
	cmd.Flags().StringVar(&rawURL, "url", "", "check this `URL`")
	cmd.Flags().StringVar(&contentType, "type", "", "Content-`TYPE` of the response")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func askDatatxt(body []byte, agent string, from canon.URL, rawURL, contentType string) (datatxtAnswer, error) {
	ans := datatxtAnswer{Result: "parsed", Datasets: []datasetAnswer{}, Diagnostics: []datatxtOddity{}}
	base, err := url.Parse(from.String())
	if err != nil {
		return ans, err
	}
	var asked canon.URL
	if rawURL != "" {
		if asked, err = canon.Parse(rawURL); err != nil {
			return ans, app.Usage("--url %q: %v; use for example https://data.example.org/iris.csv", rawURL, err)
		}
		if asked.Origin() != from.Origin() {
			return ans, app.Usage("the data.txt of %s does not apply to %s; each origin has its own", from.Origin(), asked.Origin())
		}
	}
	if ok, reason := datatxt.Usable(contentType, body); !ok {
		ans.Result = "absent"
		ans.Diagnostics = append(ans.Diagnostics, datatxtOddity{Reason: reason})
		if asked != "" {
			ans.Allowed = ptr(true) // no statement
		}
		return ans, nil
	}
	file, err := datatxt.Parse(body, base, agent)
	if err != nil {
		ans.Result, ans.Error = "error", ptr(err.Error())
		return ans, nil
	}
	ans.Form = ptr(string(file.Form))
	if asked != "" {
		allowed, line := file.Allowed(asked.Path())
		ans.Allowed, ans.Line = &allowed, line
	}
	for _, d := range file.Datasets {
		ans.Datasets = append(ans.Datasets, datasetOf(d))
	}
	for _, d := range file.Diagnostics {
		ans.Diagnostics = append(ans.Diagnostics, datatxtOddity{d.Line, d.Reason})
	}
	return ans, nil
}

func datasetOf(d datatxt.Dataset) datasetAnswer {
	a := datasetAnswer{
		URLs: d.URLs, Name: d.Name, Title: d.Title, Description: d.Description, License: d.License, Type: d.Type,
		Rows: d.Rows, Cols: d.Cols, Source: d.Source, Line: d.Line, External: d.External, Allowed: d.Allowed,
		Columns: []columnAnswer{}, Extra: map[string]any{},
	}
	if d.Rows == nil {
		a.RowsText = d.RowsText
	}
	if d.Cols == nil {
		a.ColsText = d.ColsText
	}
	for _, c := range d.Columns {
		a.Columns = append(a.Columns, columnAnswer(c))
	}
	for _, f := range d.Extra {
		a.Extra[f.Name] = plainValue(f.Value)
	}
	return a
}

// plainValue is a value as JSON has it. A text stays a text.
func plainValue(v datatxt.Value) any {
	switch {
	case v.List != nil:
		list := make([]any, 0, len(v.List))
		for _, e := range v.List {
			list = append(list, plainValue(e))
		}
		return list
	case v.Map != nil:
		m := make(map[string]any, len(v.Map))
		for _, f := range v.Map {
			m[f.Name] = plainValue(f.Value)
		}
		return m
	}
	return v.Text
}

func printDatatxt(w io.Writer, ans datatxtAnswer) {
	switch {
	case ans.Error != nil:
		fmt.Fprintln(w, "refused:", term.Clean(*ans.Error))
	case ans.Form == nil:
		fmt.Fprintln(w, "no data.txt: the site makes no statement")
	default:
		fmt.Fprintf(w, "%s form, %s\n", *ans.Form, term.Count(int64(len(ans.Datasets)), "dataset"))
	}
	if ans.Allowed != nil {
		fmt.Fprintf(w, "allowed: %s", term.YesNo(*ans.Allowed))
		if ans.Line > 0 {
			fmt.Fprintf(w, " (line %d)", ans.Line)
		}
		fmt.Fprintln(w)
	}
	for _, d := range ans.Datasets {
		title := d.Title
		if title == "" {
			title = d.Name
		}
		fmt.Fprintf(w, "line %d: %s, %s\n  %s\n", d.Line, term.Clean(title), term.Clean(d.Type), term.Clean(strings.Join(d.URLs, " ")))
	}
	for _, d := range ans.Diagnostics {
		fmt.Fprintf(w, "line %d: %s\n", d.Line, term.Clean(d.Reason))
	}
}
