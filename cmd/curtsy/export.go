package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	use "github.com/curtsy/curtsy/pkg/usage"
	"github.com/spf13/cobra"
)

func (a *app) exportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write pages, links or datasets to standard output",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no export of %q; use curtsy export pages, links or datasets", args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(
		a.exportPages(),
		a.exportLinks(),
		a.exportDatasets(),
	)
	return cmd
}

func (a *app) exportPages() *cobra.Command {
	formats := []string{"jsonl", "markdown", "chunks", "text", "html"}
	q := crawl.ExportQuery{What: "pages"}
	var since string
	cmd := &cobra.Command{Use: "pages", Short: "Write all pages with their text", Args: no,
		Example: "  curtsy export pages > pages.jsonl\n  curtsy export pages --format chunks --for ai-input --since 24h > new.jsonl"}
	cmd.Flags().StringVar(&q.Format, "format", formats[0], "one of `"+strings.Join(formats, "|")+"`: markdown is jsonl with the main text, chunks that in pieces")
	completes(cmd, "format", formats...)
	cmd.Flags().IntVar(&q.ChunkSize, "chunk-size", pages.DefaultChunk, "with --format chunks, the most `characters` of one")
	cmd.Flags().StringVar(&since, "since", "", "only what has changed since a `time` (2026-11-30, 2026-11-30T08:00:00Z, or 24h for a day ago), and what is gone")
	return a.export(cmd, &q, formats, func() error {
		if q.ChunkSize < pages.MinChunk || q.ChunkSize > pages.MaxChunk {
			return usage("--chunk-size %d: use %d to %d", q.ChunkSize, pages.MinChunk, pages.MaxChunk)
		}
		if cmd.Flags().Changed("chunk-size") && q.Format != "chunks" {
			return usage("--chunk-size is for --format chunks")
		}
		if since != "" && (q.Format == "text" || q.Format == "html") {
			return usage("--since says what is gone, too, and %s has no place for that: use --format jsonl, markdown or chunks", q.Format)
		}
		var err error
		q.Since, err = parseSince(since, time.Now())
		return err
	})
}

func (a *app) exportLinks() *cobra.Command {
	q := crawl.ExportQuery{What: "links"}
	cmd := &cobra.Command{Use: "links", Short: "Write which page leads to which URL", Args: no, Example: "  curtsy export links > links.jsonl"}
	cmd.Flags().StringVar(&q.Format, "format", "jsonl", "`jsonl`")
	completes(cmd, "format", "jsonl")
	return a.export(cmd, &q, []string{"jsonl"}, func() error { return nil })
}

// export makes the command of one kind of export; check looks at its own flags.
func (a *app) export(cmd *cobra.Command, q *crawl.ExportQuery, formats []string, check func() error) *cobra.Command {
	var uses exportUses
	uses.flags(cmd)
	return a.reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		if !slices.Contains(formats, q.Format) {
			return usage("--format %q: use %s", q.Format, strings.Join(formats, "|"))
		}
		if err := errors.Join(check(), uses.check()); err != nil {
			return err
		}
		q.For, q.UnknownToo = uses.purposes, uses.unknownToo
		next := time.Now().Add(-sinceMargin).UTC().Truncate(time.Second)
		w := bufio.NewWriterSize(a.stdout, 64<<10)
		left, err := from.Export(cmd.Context(), *q, w)
		err = errors.Join(err, w.Flush())
		for _, why := range slices.Sorted(maps.Keys(left.Pages)) {
			fmt.Fprintf(a.stderr, "%s without content: %s\n", count(left.Pages[why], "page"), why)
		}
		a.tellUses(left.Usage, "page")
		if err == nil && !q.Since.IsZero() {
			fmt.Fprintf(a.stderr, "for what changes from now on:  --since %s\n", next.Format(time.RFC3339))
		}
		return err
	})
}

// sinceMargin is by how much an export must reach back before the one that came before it: what was
// being written then, and clocks that differ. What comes twice is the same twice.
const sinceMargin = 2 * time.Minute

// parseSince reads a time, a day, or how long ago; "" is the zero time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && 0 < n && n < 36500 {
			return now.AddDate(0, 0, -n).UTC(), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d).UTC(), nil
	}
	return time.Time{}, usage("--since %q: use a time such as 2026-11-30 or 2026-11-30T08:00:00Z (UTC), or how long ago, such as 24h or 7d", text)
}

// exportUses are the flags by which an export keeps to what sites say of its purpose.
type exportUses struct {
	purposes   []string
	unknownToo bool
}

func (u *exportUses) flags(cmd *cobra.Command) {
	names := strings.Join(use.PurposeNames(), "|")
	cmd.Flags().StringSliceVar(&u.purposes, "for", nil, "only what its site lets be used for `"+names+"` (repeatable: for each of them)")
	cmd.Flags().BoolVar(&u.unknownToo, "unknown-too", false, "with --for, also what its site says nothing of")
	completes(cmd, "for", use.PurposeNames()...)
}

func (u *exportUses) check() error {
	all, err := use.ParsePurposes(u.purposes)
	if err != nil {
		return usage("--for: %v", err)
	}
	u.purposes = use.Names(all)
	if u.unknownToo && len(u.purposes) == 0 {
		return usage("--unknown-too is for --for: curtsy export pages --for ai-train --unknown-too")
	}
	return nil
}

// against says which of the purposes keeps something out of the export, and by what: as the
// indexer decides of pages.
func (u *exportUses) against(said *crawl.Usage) string {
	for _, name := range u.purposes {
		p, err := use.ParsePurpose(name)
		if err != nil {
			continue // checked before
		}
		switch v := said.Of(p); {
		case v == use.Disallow.String(), v == use.Unknown.String() && p != use.Search && !u.unknownToo:
			return name + " " + v
		}
	}
	return ""
}

// tellUses says what an export left out for what sites say of its purposes.
func (a *app) tellUses(left map[string]int64, thing string) {
	unknown := false
	for _, why := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(a.stderr, "%s left out: %s\n", count(left[why], thing), why)
		unknown = unknown || strings.HasSuffix(why, " "+use.Unknown.String())
	}
	if unknown {
		fmt.Fprintln(a.stderr, "to have those of which nothing is said as well:  --unknown-too")
	}
}
