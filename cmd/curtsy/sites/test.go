package sites

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/spf13/cobra"
)

// result is what `curtsy sites test --json` prints.
type result struct {
	Fields []fieldCount `json:"fields"`
	Pages  []pageResult `json:"pages"`
	Failed []string     `json:"failed"` // pages that cannot be read, and why
}

// fieldCount is how many of the pages have a field.
type fieldCount struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Pages int    `json:"pages"` // to which it applies
	Empty int    `json:"empty"`
}

// pageResult is what rules make of a page.
type pageResult struct {
	URL  string `json:"url"`
	From string `json:"from"` // "stored", "file" or "fetched"
	// Entry is the most specific one; empty: none is about the page.
	Entry       string              `json:"entry"`
	InScope     bool                `json:"in_scope"`
	Scope       string              `json:"scope,omitempty"`
	DelayS      float64             `json:"delay_s,omitempty"`
	Title       string              `json:"title,omitempty"`
	Description string              `json:"description,omitempty"`
	Fields      map[string][]string `json:"fields"`
	Empty       []string            `json:"empty"`
	Missing     []string            `json:"missing"`
	Skip        string              `json:"skip,omitempty"` // the condition
	Size        int                 `json:"size"`
	ContentSize int                 `json:"content_size"` // without what is dropped
	Cut         []string            `json:"cut,omitempty"`
}

// tester is a `curtsy sites test`.
type tester struct {
	pages
	rules  *siterules.Rules
	url    string
	asJSON bool
}

func (a *commands) testCommand() *cobra.Command {
	t := &tester{pages: pages{app: a.App, cfg: config.NewSitesTest()}}
	cmd := &cobra.Command{
		Use:   "test FILE [URL|PAGE]...",
		Short: "Show what a file of site rules makes of pages",
		Long: `Check a file of site rules, and show what its entries make of pages: their fields, the title, how
much of the content is left, whether the page would be skipped, and at the end on how many pages
each field was empty.

A page is a URL or a local file. A URL is read from the crawl in --dir if that has stored it, and
is otherwise requested as in a crawl: robots.txt is read first and obeyed, and so are delays.
Without pages only the file is checked.`,
		Annotations: cli.ExitCodes("0 The file is right, and all pages were read.", "1 A page cannot be read, or a required field is missing.",
			"2 The command line or the file of rules is wrong."),
		Example: `  curtsy sites test --contact me@example.org sites.yaml https://docs.example.org/intro.html
  curtsy sites test --url https://docs.example.org/intro.html sites.yaml intro.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return app.Usage("%s needs a file of site rules; use for example: %s sites.yaml https://docs.example.org/", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&t.url, "url", "", "`URL` of the page in a local file")
	cmd.Flags().BoolVar(&t.asJSON, "json", false, "print one JSON object")
	return app.Configured(cmd, t.cfg, func(cmd *cobra.Command, args []string, src *config.Source) error {
		return t.run(cmd.Context(), src, args)
	})
}

func (t *tester) run(ctx context.Context, src *config.Source, args []string) (err error) {
	if t.rules, err = readRules(args[0]); err != nil {
		return err
	}
	if t.url != "" && (len(args) != 2 || strings.Contains(args[1], "://")) {
		return app.Usage("--url is for exactly one local file; use for example: curtsy sites test --url https://docs.example.org/a.html sites.yaml a.html")
	}
	for _, arg := range args[1:] {
		if _, err := t.address(arg); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(args[1:], func(arg string) bool { return strings.Contains(arg, "://") }) {
		if err := t.open(ctx, src); err != nil {
			return err
		}
		defer t.close()
	}
	ctx, cancel := context.WithTimeout(ctx, app.RequestTime)
	defer cancel()
	res := result{Fields: []fieldCount{}, Pages: []pageResult{}, Failed: []string{}}
	for _, f := range t.rules.Schema() {
		res.Fields = append(res.Fields, fieldCount{Name: f.Name, Type: f.Type.String()})
	}
	missing := false
	for _, arg := range args[1:] {
		p, err := t.page(ctx, arg)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			res.Failed = append(res.Failed, err.Error())
			continue
		}
		r := t.apply(p)
		res.add(r)
		missing = missing || len(r.Missing) > 0
		if !t.asJSON {
			printPage(t.app.Stdout, &r)
		}
	}
	if t.asJSON {
		err = t.app.PrintJSON(res)
	} else {
		t.printEnd(args, &res)
	}
	if err == nil && (missing || len(res.Failed) > 0) {
		return app.Exit(app.ExitFailed, nil)
	}
	return err
}

// readRules reads a file of site rules.
func readRules(name string) (*siterules.Rules, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, app.Usage("%v; name a file of site rules, or write a first one: curtsy sites init https://docs.example.org/ > sites.yaml", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, siterules.MaxFile+1))
	if err != nil {
		return nil, err
	}
	rules, err := siterules.Parse(filepath.Base(name), string(text))
	if err != nil {
		return nil, app.Usage("%s has mistakes:\n%v", name, err)
	}
	return rules, nil
}

// address is the URL of the page that an argument names.
func (t *tester) address(arg string) (canon.URL, error) {
	raw := arg
	if !strings.Contains(arg, "://") {
		raw = t.url
	}
	u, err := canon.Parse(raw)
	switch {
	case err == nil:
		return u, nil
	case raw == arg:
		return "", app.Usage("%q: %v; use for example https://docs.example.org/", arg, err)
	}
	return "", app.Usage("%s is a local file, so its address is needed; use for example --url https://docs.example.org/%s", arg, filepath.Base(arg))
}

// page finds the page that an argument names.
func (t *tester) page(ctx context.Context, arg string) (*page, error) {
	u, err := t.address(arg)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(arg, "://") {
		return t.file(arg, u)
	}
	s := t.rules.For(u)
	if s == nil {
		return t.of(ctx, u, 0)
	}
	return t.of(ctx, u, s.Delay)
}

// apply applies the rules to a page.
func (t *tester) apply(p *page) pageResult {
	r := pageResult{URL: string(p.url), From: p.from, InScope: true, Fields: map[string][]string{}, Empty: []string{}, Missing: []string{}, Size: len(p.body), ContentSize: len(p.body)}
	s := t.rules.For(p.url)
	if s == nil {
		return r
	}
	r.Entry = s.Entry()
	r.InScope, r.Scope = s.Scope(p.url)
	r.DelayS = s.Delay.Seconds()
	out := s.Read(siterules.Input{URL: p.url, ContentType: p.contentType, Charset: p.charset, Header: p.header, Body: p.body})
	r.Title, r.Description = out.Ruled.Title, out.Ruled.Description
	for _, f := range out.Ruled.Fields {
		r.Fields[f.Name] = f.Values
	}
	r.Empty, r.Missing = append(r.Empty, out.Empty...), append(r.Missing, out.Missing...)
	r.Cut = out.Cut
	if out.Skip {
		r.Skip = out.Why
	}
	content, _ := s.Content(p.contentType, p.charset, p.body)
	r.ContentSize = len(content)
	return r
}

// add counts the fields of a page.
func (res *result) add(r pageResult) {
	res.Pages = append(res.Pages, r)
	for i := range res.Fields {
		f := &res.Fields[i]
		if r.Fields[f.Name] != nil {
			f.Pages++
		} else if slices.Contains(r.Empty, f.Name) {
			f.Pages++
			f.Empty++
		}
	}
}

func printPage(w io.Writer, r *pageResult) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-14s %s\n", name, term.Clean(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintf(w, "%s (%s)\n", term.Clean(r.URL), r.From)
	if r.Entry == "" {
		line("entry", "none is about this page")
		return
	}
	line("entry", "%s", r.Entry)
	if !r.InScope {
		line("scope", "out: %s", r.Scope)
	} else if r.Scope != "" {
		line("scope", "in: %s", r.Scope)
	}
	if r.DelayS > 0 {
		line("delay", "%gs", r.DelayS)
	}
	if r.Skip != "" {
		line("skip", "%s", r.Skip)
	}
	if r.Title != "" {
		line("title", "%s", term.Short(r.Title, 100))
	}
	if r.Description != "" {
		line("description", "%s", term.Short(r.Description, 100))
	}
	names := slices.Concat(r.Empty, keys(r.Fields))
	slices.Sort(names)
	for _, name := range names {
		switch values := r.Fields[name]; {
		case values != nil:
			line(name, "%s", term.Short(strings.Join(values, " | "), 200))
		case slices.Contains(r.Missing, name):
			line(name, "(empty, and required)")
		default:
			line(name, "(empty)")
		}
	}
	line("content", "%s of %s", term.SizeText(int64(r.ContentSize)), term.SizeText(int64(r.Size)))
	for _, c := range r.Cut {
		line("limit", "%s", c)
	}
}

func keys(m map[string][]string) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	return names
}

// printEnd prints what is about all pages.
func (t *tester) printEnd(args []string, res *result) {
	w := t.app.Stdout
	if len(args) == 1 {
		fmt.Fprintf(w, "%s is right: %s\n", term.Clean(args[0]), term.Count(int64(len(res.Fields)), "field"))
		return
	}
	for _, f := range res.Fields {
		if f.Pages > 0 {
			fmt.Fprintf(w, "%s (%s): empty on %d of %s\n", f.Name, f.Type, f.Empty, term.Count(int64(f.Pages), "page"))
		}
	}
	for _, why := range res.Failed {
		fmt.Fprintln(t.app.Stderr, "curtsy:", term.Clean(why))
	}
}
