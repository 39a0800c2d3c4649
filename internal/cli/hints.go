package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError returns the error for flags that cannot be understood. It says what to type instead.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		bad     *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		// The command may be what is wrong: curtsy crawll --max-pages 5.
		if cmd.Annotations[groupKey] != "" && cmd.Flags().NArg() > 0 {
			return unknownCommand(cmd, cmd.Flags().Arg(0))
		}
		return unknownFlag(cmd, unknown)
	case errors.As(err, &missing):
		f := missing.GetFlag()
		return config.Errorf("--%s needs a value; use for example --%s %s", f.Name, f.Name, example(f))
	case errors.As(err, &bad):
		return badValue(bad)
	}
	return config.Errorf("%v; %s --help shows all flags", err, cmd.CommandPath())
}

// badValue returns the error for a value that a flag cannot have.
func badValue(bad *pflag.InvalidValueError) error {
	f := bad.GetFlag()
	if config.EnvOf(f) != "" && f.Value.Type() != "bool" { // its error says what would be accepted
		return config.Errorf("--%s %q %v", f.Name, bad.GetValue(), bad.Unwrap())
	}
	why := "cannot be read"
	switch f.Value.Type() {
	case "bool":
		return config.Errorf("--%s=%s is neither true nor false; use --%[1]s or --%[1]s=false", f.Name, bad.GetValue())
	case "int", "int64":
		why = "is not a whole number"
	case "duration":
		why = "is not a time with its unit (ms, s, m, h)"
	}
	return config.Errorf("--%s %q %s; use for example --%s %s", f.Name, bad.GetValue(), why, f.Name, example(f))
}

// example returns a value that a flag accepts.
func example(f *pflag.Flag) string {
	if e := strings.Trim(config.ExampleOf(f), "[]"); e != "" && e != "0" {
		return e
	}
	switch f.Value.Type() {
	case "int", "int64":
		return "10"
	case "duration":
		return "5s"
	}
	value, _ := pflag.UnquoteUsage(f)
	return value
}

// unknownFlag returns the error for a flag that a command does not have. It says what to type
// instead.
func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	typed := []string{"--" + err.GetSpecifiedName()}
	if group := err.GetSpecifiedShortnames(); group != "" {
		// A leading h was read as -h before.
		typed = []string{"-" + group, "-h" + group, "-" + group[:1]}
	}
	flags := FlagsOf(cmd)
	var rows []*foreign
	for _, name := range typed {
		long := strings.TrimLeft(name, "-")
		if len(long) > 1 && flags.Lookup(long) != nil {
			return config.Errorf("unknown flag: %s; flags have two dashes: --%s", name, long)
		}
		if len(rows) > 0 {
			continue // -jc is a better clue than -j
		}
		if rows = foreignOf(foreignFlags, name); len(long) > 1 {
			rows = append(rows, foreignOf(foreignFlags, "--"+long)...)
		}
	}
	return config.Errorf("unknown flag: %s%s", typed[0], instead(cmd, strings.TrimLeft(typed[0], "-"), rows))
}

// instead suggests what to type instead of a flag that a command does not have. It looks for our
// name of a flag of other crawlers, then for a command that has the flag, then for the flag with
// the most similar spelling. The text follows the name of the flag.
func instead(cmd *cobra.Command, name string, rows []*foreign) string {
	flags := FlagsOf(cmd)
	for _, r := range rows {
		if r.ours != "" && flags.Lookup(r.flag()) != nil {
			return r.here(flags.Lookup(r.flag()))
		}
	}
	crawls := flags.Lookup("seeds") != nil // hints about crawls apply
	if i := slices.IndexFunc(rows, func(r *foreign) bool { return r.ours == "" }); i >= 0 && crawls {
		return ". " + rows[i].say
	}
	if list := commandsWith(cmd.Root(), name); len(list) > 0 {
		return fmt.Sprintf("; it is a flag of %s. %s --help shows the flags of this command", orList(list), cmd.CommandPath())
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if n := config.Nearest(name, names); n != "" {
		return fmt.Sprintf("; did you mean --%s?", n)
	}
	for _, r := range rows {
		if list := commandsWith(cmd.Root(), r.flag()); len(list) > 0 {
			return fmt.Sprintf("; %s has %s. %s --help shows the flags of this command", orList(list), r.ours, cmd.CommandPath())
		}
		if r.ours == "" {
			return ". " + r.say
		}
	}
	return fmt.Sprintf("; %s --help shows the flags", cmd.CommandPath())
}

// flag returns the name of our flag.
func (r *foreign) flag() string {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.ours, "--"), " ")
	name, _, _ = strings.Cut(name, "=")
	return name
}

// here describes our flag f of a command, which replaces a flag of another crawler.
func (r *foreign) here(f *pflag.Flag) string {
	use := "; use " + r.ours
	if f.Name == "dir" {
		use = "; use --dir " + f.DefValue // each command has a directory of its own
	}
	if r.say != "" {
		use += ". " + r.say
	}
	return use
}

// mostNamed is how many commands with a flag a hint names.
const mostNamed = 3

// commandsWith returns the commands that have a flag, "crawl" first.
func commandsWith(root *cobra.Command, flag string) (paths []string) {
	Prepare(root)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if f := FlagsOf(cmd).Lookup(flag); f != nil && !f.Hidden && cmd.Runnable() && cmd != root && !cmd.Hidden {
			paths = append(paths, cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if crawl := root.Name() + " crawl"; slices.Contains(paths, crawl) {
		return []string{crawl}
	}
	return paths[:min(len(paths), mostNamed)]
}

// orList joins words to a phrase: a, b or c.
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
