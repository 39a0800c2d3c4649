package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
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
		a.export("pages", "Write all pages with their text", "jsonl", "text", "html"),
		a.export("links", "Write which page leads to which URL", "jsonl"),
		a.exportDatasets(),
	)
	return cmd
}

// export makes one kind of export; the first format is the default.
func (a *app) export(what, about string, formats ...string) *cobra.Command {
	var format string
	var uses exportUses
	cmd := &cobra.Command{Use: what, Short: about, Args: no, Example: "  curtsy export " + what + " --for ai-train > " + what + ".jsonl"}
	cmd.Flags().StringVar(&format, "format", formats[0], "one of `"+join(formats)+"`")
	completes(cmd, "format", formats...)
	uses.flags(cmd)
	return a.reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		if !slices.Contains(formats, format) {
			return usage("--format %q: use %s", format, join(formats))
		}
		if err := uses.check(); err != nil {
			return err
		}
		w := bufio.NewWriterSize(a.stdout, 64<<10)
		left, err := from.Export(cmd.Context(), crawl.ExportQuery{What: what, Format: format, For: uses.purposes, UnknownToo: uses.unknownToo}, w)
		err = errors.Join(err, w.Flush())
		for _, why := range slices.Sorted(maps.Keys(left.Pages)) {
			fmt.Fprintf(a.stderr, "%s without content: %s\n", count(left.Pages[why], "page"), why)
		}
		a.tellUses(left.Usage, "page")
		return err
	})
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

func join(words []string) string {
	s := words[0]
	for _, w := range words[1:] {
		s += "|" + w
	}
	return s
}
