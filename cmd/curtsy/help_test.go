package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/look"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// visible calls each for the commands that help shows.
func visible(cmd *cobra.Command, each func(*cobra.Command)) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			each(sub)
			visible(sub, each)
		}
	}
}

// accepts parses a command line as the program does, up to the point at which it would act. With
// settings it also loads the settings, which may need files.
func accepts(settings bool, words ...string) error {
	root := newRoot(app.New(strings.NewReader(""), io.Discard, io.Discard))
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if cmd.Name() == "search" {
		rest = look.WordsLast(cmd.Flags(), rest)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return cmd.FlagErrorFunc()(cmd, err)
	}
	if help, _ := cmd.Flags().GetBool("help"); help {
		return nil
	}
	if !cmd.Runnable() {
		return errors.New(cmd.CommandPath() + " does nothing")
	}
	args := cmd.Flags().Args()
	if err := cmd.ValidateArgs(args); err != nil {
		return err
	}
	if settings && cmd.PreRunE != nil {
		return cmd.PreRunE(cmd, args)
	}
	return nil
}

// shellWords are the words of the first command in a line that a person types into a shell, from
// "curtsy" on, without that.
func shellWords(line string) (words []string) {
	_, line, found := strings.Cut(" "+line, " curtsy ")
	if !found {
		return nil
	}
	var word strings.Builder
	quote, begun := rune(0), false
	end := func() {
		if begun {
			words = append(words, word.String())
			word.Reset()
			begun = false
		}
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ':
			end()
		case strings.ContainsRune("|>&;", r):
			end()
			return words
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	return words
}

func TestShellWords(t *testing.T) {
	for line, want := range map[string][]string{
		`  curtsy search -- gcc '"-Wall"'`:          {"search", "--", "gcc", `"-Wall"`},
		`curl x | curtsy check robots --url u - >f`: {"check", "robots", "--url", "u", "-"},
		`echo`: nil,
	} {
		if got := shellWords(line); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// Each command in the help has a sentence about it and an example. The commands in the examples
// exist and are accepted.
func TestHelpOfEachCommand(t *testing.T) {
	root := newRoot(app.New(nil, io.Discard, io.Discard))
	n := 0
	visible(root, func(cmd *cobra.Command) {
		n++
		path := cmd.CommandPath()
		if s := cmd.Short; s == "" || strings.HasSuffix(s, ".") || len(s) > 62 {
			t.Errorf("%s: %q is no short sentence without a full stop", path, s)
		}
		if !cmd.HasExample() {
			t.Errorf("%s has no example", path)
		}
		if !cmd.HasParent() || cmd.Parent() == root && cmd.GroupID == "" && !slices.Contains([]string{"help", "completion", "version"}, cmd.Name()) {
			t.Errorf("%s is in no group", path)
		}
		for line := range strings.Lines(cmd.Example) {
			words := shellWords(strings.TrimSpace(line))
			if !strings.HasPrefix("curtsy "+strings.Join(words, " "), path) {
				t.Errorf("%s: the example is of another command: %s", path, line)
			} else if err := accepts(false, words...); err != nil {
				t.Errorf("%s: its example fails: %s%v", path, line, err)
			}
		}
	})
	if n < 50 {
		t.Errorf("only %d commands", n)
	}
}

// Every flag of every command is under exactly one heading.
func TestEveryFlagHasAGroup(t *testing.T) {
	visible(newRoot(app.New(nil, io.Discard, io.Discard)), func(cmd *cobra.Command) {
		shown := map[string]int{}
		groups, left := cli.GroupsOf(cli.FlagsOf(cmd), true)
		for _, g := range groups {
			for _, f := range g.Flags {
				shown[f.Name]++
			}
		}
		cli.FlagsOf(cmd).VisitAll(func(f *pflag.Flag) {
			want := 1
			if f.Hidden {
				want = 0
			}
			if shown[f.Name] != want {
				t.Errorf("%s --%s stands in help %d times; is its group %q one of config.Groups?", cmd.CommandPath(), f.Name, shown[f.Name], config.GroupOf(f))
			}
			// A setting has the same group everywhere; an empty group is missing in its struct.
			if config.EnvOf(f) != "" && config.GroupOf(f) == config.OwnFlags {
				t.Errorf("%s --%s has no group in internal/config", cmd.CommandPath(), f.Name)
			}
		})
		if left != 0 {
			t.Errorf("%s --help-all leaves %d flags out", cmd.CommandPath(), left)
		}
	})
}

// help is the help that a command line asks for.
func help(t *testing.T, words ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), words, strings.NewReader(""), &stdout, &stderr); code != app.ExitOK || stderr.Len() > 0 {
		t.Fatalf("curtsy %s: %d, %s", strings.Join(words, " "), code, &stderr)
	}
	return stdout.String()
}

// The first screen of crawl has the flags that most people need, and says how to see the others.
func TestHelpOfCrawl(t *testing.T) {
	short, long := help(t, "crawl", "--help"), help(t, "crawl", "--help-all")
	if n := strings.Count(short, "\n      --"); n < 15 || n > 26 {
		t.Errorf("crawl --help shows %d flags:\n%s", n, short)
	}
	for _, heading := range []string{"Scope:", "Limits:", "Politeness:", "What is kept:", "Freshness:", "Access:", "Output:", "Cluster:", "Exit codes:", "Examples:"} {
		if !strings.Contains(short, "\n"+heading+"\n") || !strings.Contains(long, "\n"+heading+"\n") {
			t.Errorf("crawl --help lacks %s", heading)
		}
	}
	if !strings.Contains(short, "more flags: curtsy crawl --help-all\n") || strings.Contains(long, "more flags") {
		t.Errorf("--help-all is named in the wrong place:\n%s", short)
	}
	if strings.Contains(short, "--nats-creds") || !strings.Contains(long, "--nats-creds") || strings.Count(long, "\n      --") < 75 {
		t.Errorf("crawl --help-all does not show all flags:\n%s", long)
	}
	for line := range strings.Lines(short + long + help(t, "--help") + help(t, "status", "--help")) {
		if n := len([]rune(line)) - 1; n > cli.Width && !strings.Contains(line, "curtsy ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// A command that only reads a crawl has one line about NATS, and not ten flags.
func TestHelpOfStatus(t *testing.T) {
	text := help(t, "status", "--help")
	if strings.Count(text, "--nats") != 1 || !strings.Contains(help(t, "help", "status"), "--nats URL --crawl NAME") {
		t.Errorf("status --help:\n%s", text)
	}
	if !strings.Contains(help(t, "status", "--help-all"), "--nats-key FILE") {
		t.Error("status --help-all lacks --nats-key")
	}
}

// The commands are in groups, in the order in which a newcomer needs them.
func TestHelpOfCurtsy(t *testing.T) {
	text := help(t, "--help")
	last := -1
	for _, group := range []string{"Crawl:", "Look:", "Control:", "Data:", "Archive:", "Check:", "Cluster:", "Other:"} {
		at := strings.Index(text, "\n"+group+"\n")
		if at <= last {
			t.Errorf("%s stands at %d, behind %d:\n%s", group, at, last, text)
		}
		last = at
	}
	if help(t) != text {
		t.Error("curtsy alone does not show its help")
	}
}
