package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/curtsy/curtsy/internal/asker"
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
	cmd := &cobra.Command{Use: what, Short: about, Args: no}
	cmd.Flags().StringVar(&format, "format", formats[0], "one of `"+join(formats)+"`")
	completes(cmd, "format", formats...)
	return a.reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		if !slices.Contains(formats, format) {
			return usage("--format %q: use %s", format, join(formats))
		}
		w := bufio.NewWriterSize(a.stdout, 64<<10)
		left, err := from.Export(cmd.Context(), what, format, w)
		err = errors.Join(err, w.Flush())
		for _, why := range slices.Sorted(maps.Keys(left.Pages)) {
			fmt.Fprintf(a.stderr, "%s without content: %s\n", count(left.Pages[why], "page"), why)
		}
		return err
	})
}

func join(words []string) string {
	s := words[0]
	for _, w := range words[1:] {
		s += "|" + w
	}
	return s
}
