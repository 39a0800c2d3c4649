package look

import (
	"fmt"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// deepest is how many hits of a query can be asked for by their number.
	deepest      = 1000
	maxLanguages = 8
)

const searchHelp = `Search the stored pages. Words of the query and flags may be mixed. A word that begins with a
single - belongs to the query, and so does everything after --.

`

// syntax is the search language for the help: a table whose second column is wrapped. Its lines are
// indented, so that the help copies them as they are.
func syntax() string {
	const column, indent = 23, 2 // where the second column of query.Help begins
	var b strings.Builder
	for line := range strings.Lines(query.Help) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) <= column || line[column-1] != ' ' {
			fmt.Fprintf(&b, "\n%s\n", line)
			continue
		}
		text := cli.Wrap(line[column:], cli.Width, strings.Repeat(" ", indent+column))
		fmt.Fprintf(&b, "%*s%-*s%s\n", indent, "", column, line[:column], strings.TrimLeft(text, " "))
	}
	return b.String()
}

// asking is what the flags of a search select.
type asking struct {
	limit, offset, page, perSite    int
	json, explain, facets, verbatim bool
	sort, cursor, like              string
	languages                       []string
}

func (a *commands) searchCommand() *cobra.Command {
	var o asking
	cmd := &cobra.Command{
		Use:   "search WORDS",
		Short: "Search the stored pages",
		Long:  searchHelp + syntax(),
		Example: "  curtsy search vacuum -full\n  curtsy search --json --limit 3 '\"event loop\"' site:docs.example.org\n" +
			"  curtsy search -- gcc '\"-Wall\"'",
		Args: func(_ *cobra.Command, args []string) error { return o.check(strings.Join(args, " ")) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON Lines, one hit a line")
	cmd.Flags().IntVar(&o.limit, "limit", 10, "show at most `N` hits")
	cmd.Flags().IntVar(&o.page, "page", 0, "show the `N`th page of --limit hits")
	cmd.Flags().IntVar(&o.offset, "offset", 0, "skip the first `N` hits")
	cmd.Flags().BoolVar(&o.explain, "explain", false, "explain the rank of each hit")
	cmd.Flags().BoolVar(&o.facets, "facets", false, "show filters that narrow the answer, with the number of pages")
	cmd.Flags().StringVar(&o.sort, "sort", "", "sort by date or this `FIELD` of the site rules, lowest first; with - before it highest first: --sort=-date")
	cmd.Flags().StringVar(&o.cursor, "cursor", "", "show what follows the hits of an earlier answer, which printed this `TEXT`")
	cmd.Flags().StringVar(&o.like, "like", "", "show pages that are similar to the stored page at this `URL`, instead of those with words")
	cmd.Flags().IntVar(&o.perSite, "per-site", 0, "show at most `N` hits of a host; 0 means all")
	cmd.Flags().BoolVar(&o.verbatim, "verbatim", false, "use the words as typed: correct no spelling")
	cmd.Flags().StringSliceVar(&o.languages, "language", nil, "of translations show the one in the first of these `LANGUAGES`: de,fr")
	synonyms := cmd.Flags().String("synonyms", "", synonymsHelp)
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, args []string) error {
		change, err := readSynonyms(*synonyms)
		if err != nil {
			return err
		}
		typed := strings.Join(args, " ")
		fields, err := from.Fields(cmd.Context())
		if err != nil {
			return err
		}
		if _, err := fields.Sort(o.sort); err != nil {
			return app.Usage("--sort: %v", err)
		}
		q := fields.Parse(typed)
		if err := o.finds(q); err != nil {
			return err
		}
		if q.Cut {
			fmt.Fprintf(a.Stderr, "the query is longer than %d terms or %d bytes; its end is ignored\n", query.MaxTerms, query.MaxBytes)
		}
		req := crawl.SearchRequest{Query: typed, Like: o.like, Offset: o.offset, Limit: o.limit, Explain: o.explain, Sort: o.sort,
			Cursor: o.cursor, Languages: o.languages, PerSite: o.perSite, Verbatim: o.verbatim}
		ans, err := from.SearchBy(cmd.Context(), req, change)
		if err != nil && len(ans.Hits) == 0 {
			return err
		}
		a.printReading(ans)
		if !o.json {
			a.printAnswer(ans, o, fields)
			return err
		}
		for _, h := range ans.Hits {
			if err := a.PrintJSON(h); err != nil {
				return err
			}
		}
		if ans.Next != "" {
			fmt.Fprintln(a.Stderr, "the next: --cursor", term.Clean(ans.Next))
		}
		return err
	})
}

// check refuses a search that cannot be answered, and turns --page into an offset.
func (o *asking) check(typed string) error {
	if q := query.Parse(typed); !strings.Contains(typed, ":") { // fields are not known yet
		if err := o.finds(q); err != nil {
			return err
		}
	}
	switch {
	case o.limit < 1 || o.limit > deepest:
		return app.Usage("--limit %d is out of range; use 1 to %d, for example --limit 10", o.limit, deepest)
	case o.page < 0 || o.offset < 0:
		return app.Usage("--page and --offset cannot be negative; use for example --page 2")
	case o.page > 0 && o.offset > 0:
		return app.Usage("--page and --offset cannot be used together; use one of them, for example --page 2")
	case o.cursor != "" && (o.page > 0 || o.offset > 0):
		return app.Usage("--cursor and --page or --offset cannot be used together; use --cursor alone, as the earlier answer printed it")
	case len(o.cursor) > crawl.MaxCursor:
		return app.Usage("--cursor has %d bytes, and no answer has such a long one; copy it again, or use --page", len(o.cursor))
	case o.perSite < 0:
		return app.Usage("--per-site cannot be negative; use for example --per-site 2")
	case len(o.languages) > maxLanguages || slices.ContainsFunc(o.languages, notLanguage):
		return app.Usage("--language needs the codes of at most %d languages, best first, for example --language de,fr", maxLanguages)
	case o.page > deepest || max(o.offset, (o.page-1)*o.limit)+o.limit > deepest:
		return app.Usage("only the first %d hits have numbers; go on with --cursor, or use more words or a filter such as site:docs.example.org", deepest)
	case o.json && o.facets:
		return app.Usage("--json and --facets cannot be used together; use one of them")
	}
	if o.page > 0 {
		o.offset = (o.page - 1) * o.limit
	}
	return nil
}

// notLanguage reports that s is no code such as de, which pages are known by.
func notLanguage(s string) bool {
	return len(s) < 2 || len(s) > 3 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") != ""
}

// finds refuses a query that finds nothing, whatever is stored.
func (o *asking) finds(q query.Query) error {
	switch {
	case o.like != "" && len(q.Groups) > 0:
		return app.Usage("--like: %v", crawl.ErrLikeWords)
	case o.like != "":
		if _, err := canon.Parse(o.like); err != nil {
			return app.Usage("--like needs the URL of a page, for example --like https://example.org/")
		}
	case q.Empty() && len(q.Not) > 0:
		return app.Usage("the query only excludes words; add a word to find, for example: curtsy search vacuum -full")
	case q.Empty():
		return app.Usage("a search needs words; use for example: curtsy search \"event loop\"")
	}
	return nil
}

// WordsLast moves the words of the query behind a "--", where cobra reads nothing as a flag: all
// words that are not flags, and those that begin with a single "-" unless they are a short flag. An
// unknown --flag stays in front, so that a misspelled flag is reported.
func WordsLast(flags *pflag.FlagSet, args []string) []string {
	var known, words []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			words = append(words, args[i+1:]...)
			break
		}
		name, long := strings.CutPrefix(arg, "--")
		name, _, valued := strings.Cut(name, "=")
		switch {
		case long:
			known = append(known, arg)
			f := flags.Lookup(name)
			if f == nil || f.NoOptDefVal != "" || valued {
				continue
			}
			if i++; i == len(args) {
				return known // nothing stands behind a flag that lacks its value
			}
			known = append(known, args[i])
		case len(arg) == 2 && arg[0] == '-' && flags.ShorthandLookup(arg[1:]) != nil:
			known = append(known, arg)
		default:
			words = append(words, arg)
		}
	}
	return append(append(known, "--"), words...)
}
