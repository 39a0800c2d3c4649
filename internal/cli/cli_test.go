package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/spf13/cobra"
)

// tree is a program with commands whose flags are real ones.
func tree(stdout *bytes.Buffer) *cobra.Command {
	root := &cobra.Command{Use: "curtsy", SilenceErrors: true, SilenceUsage: true, Long: "A crawler."}
	root.AddGroup(&cobra.Group{ID: "Crawl", Title: "Crawl"})
	do := func(*cobra.Command, []string) error { return nil }
	crawl := &cobra.Command{Use: "crawl [flags] URL...", Short: "Crawl sites", RunE: do, GroupID: "Crawl", Example: "  curtsy crawl https://a.example/"}
	config.Bind(crawl.Flags(), config.NewCrawl())
	status := &cobra.Command{Use: "status", Short: "Show how far a crawl is", RunE: do, Annotations: ExitCodes("0 It is there.", "1 It is not.")}
	status.Flags().Int("lines", 0, "show `N` lines")
	status.Flags().Int("limit", 0, "show `N` of them")
	export := &cobra.Command{Use: "export", Short: "Write something"}
	pages := &cobra.Command{Use: "pages", Short: "Write pages", RunE: do}
	pages.Flags().String("format", "jsonl", "write this `FORMAT`")
	export.AddCommand(pages)
	root.AddCommand(crawl, status, export)
	root.SetOut(stdout)
	root.SetErr(stdout)
	Dress(root)
	return root
}

// typed returns the error for a command line.
func typed(words ...string) (said string, err error) {
	var out bytes.Buffer
	root := tree(&out)
	root.SetArgs(words)
	err = root.Execute()
	return out.String(), err
}

// Every flag of another crawler gets a hint: one of our flags with a value that it accepts, or a
// sentence. None of them is a flag of ours.
func TestForeignNames(t *testing.T) {
	n := 0
	for _, row := range foreignFlags {
		if name := row.flag(); name == "limit" || name == "json" || name == "follow" {
			continue // no flags of a crawl: TestHints
		}
		if row.ours == "" && row.say == "" {
			t.Errorf("%s says nothing", row.names)
		}
		if row.ours != "" {
			words := append([]string{"crawl"}, strings.SplitN(row.ours, " ", 2)...)
			for i := range words {
				words[i] = strings.Trim(words[i], "'")
			}
			if _, err := typed(words...); err != nil {
				t.Errorf("%s: %s cannot be typed: %v", row.names, row.ours, err)
			}
		}
		for name := range strings.FieldsSeq(row.names) {
			n++
			_, err := typed("crawl", name, "x")
			if err == nil {
				t.Errorf("%s is a flag of ours", name)
				continue
			}
			hint := row.ours
			if strings.HasPrefix(hint, "--dir ") {
				hint = "--dir ./"
			}
			var bad *config.Error
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), hint+row.say[:min(1, len(row.say))]) && !strings.Contains(err.Error(), row.say) && !strings.Contains(err.Error(), "two dashes") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d names", n)
	}
	for name := range strings.FieldsSeq("--user-agent --depth --level -l -r --recursive --wait --limit-rate --domains --accept --reject --header --cookie --output -O " +
		"--threads --concurrency --rate --exclude-dir --ignore-robots -e --workers --seed --url --timeout --retries --verbose -v -q") {
		if len(foreignOf(foreignFlags, name)) == 0 {
			t.Errorf("nobody answers for %s", name)
		}
	}
	seen := map[string]bool{}
	for _, row := range foreignCommands {
		for name := range strings.FieldsSeq(row.names) {
			if seen[name] {
				t.Errorf("the command %s stands in the table twice", name)
			}
			seen[name] = true
		}
	}
}

func TestHints(t *testing.T) {
	for line, want := range map[string]string{
		"crawl --max-pges 5":         "did you mean --max-pages?",
		"crawl -max-pages 5":         "flags have two dashes: --max-pages",
		"crawl -hurry x":             "flags have two dashes: --hurry",
		"crawl --max-pages":          "--max-pages needs a value; use for example --max-pages 500",
		"crawl --max-pages=x":        `--max-pages "x" is not a whole number; use for example 500`,
		"crawl --links=never":        "neither true nor false; use --links or --links=false",
		"status --lines x":           `--lines "x" is not a whole number; use for example --lines 10`,
		"status --depth 3":           "curtsy crawl has --max-depth 3",
		"status --format csv":        "it is a flag of curtsy export pages",
		"status -n 5":                "use --limit 10",
		"status --qqqq":              "curtsy status --help",
		"status -z":                  "curtsy status --help",
		"export":                     "use curtsy export pages",
		"export page":                "did you mean curtsy export pages?",
		"export --foo":               "curtsy export --help",
		"help":                       "",
		"help export page":           "did you mean curtsy export pages?",
		"help crawl now":             `curtsy crawl has no command "now"`,
		"crwl --max-pages 3":         "did you mean curtsy crawl?",
		"stats":                      "use curtsy status",
		"www.example.org":            "curtsy crawl --contact me@example.org https://www.example.org",
		"zzzzzzzzzz":                 "curtsy --help",
		"help crawl":                 "",
		"crawl --help-all":           "",
		"crawl --help-all --visits3": "did you mean --visits?",
	} {
		_, err := typed(strings.Fields(line)...)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("curtsy %s: %v, want %q", line, err, want)
		}
	}
}

func TestHelp(t *testing.T) {
	text, err := typed("status", "--help")
	want := `Show how far a crawl is.

Usage:
  curtsy status [flags]

Flags:
      --lines N              show N lines
      --limit N              show N of them

Help:
  -h, --help                 show this help

Exit codes:
  0    It is there.
  1    It is not.
`
	if err != nil || text != want {
		t.Errorf("%v\n%s", err, text)
	}
	text, err = typed("help")
	if want = "\nCrawl:\n  crawl       Crawl sites\n\nOther:\n  status      Show how far a crawl is\n"; err != nil || !strings.Contains(text, want) {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestFill(t *testing.T) {
	text := "One two\nthree four.\n\n  as it is,     with gaps\nFive.\n"
	if got, want := Fill(text, 10), "One two\nthree\nfour.\n\n  as it is,     with gaps\nFive."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Wrap("a bc d", 4, " "); got != " a\n bc\n d" {
		t.Errorf("%q", got)
	}
}

// cobra keeps completions for ever, so it gets them only when a shell asks.
func TestCompletions(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"__complete", "walk", "--by", "da"}, "day\nweek\n:4\n"},
		{[]string{"__complete", "walk", "--by", "day,"}, "day,day\nday,week\n:4\n"},
		{[]string{"__complete", "--by", ""}, "day\nweek\n:4\n"},
	} {
		root, walk := &cobra.Command{Use: "p"}, &cobra.Command{Use: "walk", Run: func(*cobra.Command, []string) {}}
		root.AddCommand(walk)
		root.PersistentFlags().String("by", "", "")
		Completes(root, "by", "day", "week")
		RegisterCompletions(root, []string{"walk"})
		if _, there := root.GetFlagCompletionFunc("by"); there {
			t.Error("registered although no shell asks")
		}
		RegisterCompletions(root, c.args)
		var out bytes.Buffer
		root.SetArgs(c.args)
		root.SetOut(&out)
		root.SetErr(io.Discard)
		if err := root.Execute(); err != nil || out.String() != c.want {
			t.Errorf("%q: %q (%v), want %q", c.args, &out, err, c.want)
		}
	}
}
