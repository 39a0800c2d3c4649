package sites

import (
	"context"
	"fmt"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/siterules/draft"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/spf13/cobra"
)

// maxSample is the largest number of pages that are sampled.
const maxSample = 100

func (a *commands) initCommand() *cobra.Command {
	p := &pages{app: a.App, cfg: config.NewSitesTest()}
	sample := 12
	cmd := &cobra.Command{
		Use:   "init URL",
		Short: "Write a first file of site rules from a few pages",
		Long: `Write a first file of site rules to the standard output, from what a few pages of a site have: the
page of the URL, and pages that it links to in its folder. Fields are looked for in JSON-LD, in
<meta> elements, in the paths, and where the templates of manuals, wikis and blogs have them. A
comment states on how many pages each was found.

Pages are read from the crawl in --dir if it has stored them, and are otherwise requested as in a
crawl: robots.txt is read first and obeyed, and so are delays.`,
		Annotations: cli.ExitCodes("0 The file was written.", "1 The page cannot be read.", "2 The command line is wrong."),
		Example:     "  curtsy sites init --contact me@example.org https://docs.example.org/manual/ > sites.yaml",
		Args:        app.OneArg("URL", "https://docs.example.org/manual/"),
		PreRunE:     app.IsURL,
	}
	cmd.Flags().IntVar(&sample, "sample", sample, "sample this number of pages")
	return app.Configured(cmd, p.cfg, func(cmd *cobra.Command, args []string, src *config.Source) error {
		if sample < 1 || sample > maxSample {
			return app.Usage("--sample %d is not a number from 1 to %d; use for example --sample 12", sample, maxSample)
		}
		u, err := canon.Parse(args[0])
		if err != nil {
			return app.Usage("%q: %v; use for example https://docs.example.org/", args[0], err)
		}
		if err := p.open(cmd.Context(), src); err != nil {
			return err
		}
		defer p.close()
		ctx, cancel := context.WithTimeout(cmd.Context(), app.RequestTime)
		defer cancel()
		found, err := p.sample(ctx, u, sample)
		if err != nil {
			return err
		}
		d, err := draft.Of(found)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(a.Stdout, d.Text())
		return err
	})
}

// sample reads the first page of a site and n-1 others, or as many as there are.
func (p *pages) sample(ctx context.Context, first canon.URL, n int) (all []draft.Page, err error) {
	queue, seen := []canon.URL{first}, map[canon.URL]bool{first: true}
	for failed := 0; len(queue) > 0 && len(all) < n && failed <= n; {
		u := queue[0]
		queue = queue[1:]
		got, err := p.of(ctx, u, 0)
		if err != nil {
			if len(all) == 0 || ctx.Err() != nil {
				return nil, err
			}
			fmt.Fprintln(p.app.Stderr, "curtsy:", term.Clean(err.Error()))
			failed++
			continue
		}
		page := draft.Page{URL: got.url, ContentType: got.contentType, Charset: got.charset, Header: got.header, Body: got.body}
		all = append(all, page)
		if len(all) == 1 {
			first = got.url // behind redirects
		}
		if len(queue) >= n-len(all) {
			continue
		}
		var more []canon.URL
		for _, l := range draft.Links(page, first) {
			if !seen[l] {
				more = append(more, l)
			}
		}
		for _, l := range draft.Spread(more, n-len(all)-len(queue)) {
			seen[l] = true
			queue = append(queue, l)
		}
	}
	return all, nil
}
