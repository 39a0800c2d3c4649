package main

import (
	"bufio"
	"slices"

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
	return a.reading(cmd, func(cmd *cobra.Command, from answers, _ []string) error {
		if !slices.Contains(formats, format) {
			return usage("--format %q: use %s", format, join(formats))
		}
		w := bufio.NewWriterSize(a.stdout, 64<<10)
		if err := from.Export(cmd.Context(), what, format, w); err != nil {
			return err
		}
		return w.Flush()
	})
}

func join(words []string) string {
	s := words[0]
	for _, w := range words[1:] {
		s += "|" + w
	}
	return s
}
