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

// flagError is what a person reads about flags that cannot be understood: what to type instead.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		bad     *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		// The command may be wrong instead: curtsy crawll --max-pages 5.
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

// badValue is the error for a value that a flag cannot have.
func badValue(bad *pflag.InvalidValueError) error {
	f := bad.GetFlag()
	if config.EnvOf(f) != "" && f.Value.Type() != "bool" { // it says itself what would be accepted
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

// example is a value that a flag takes.
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

// unknownFlag is the error for a flag that a command does not have. What to use instead is, in this
// order, the same flag with two dashes, what another crawler's flag is called here, the command
// that has the flag, and the flag that is spelled most alike.
func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	typed := []string{"--" + err.GetSpecifiedName()}
	if group := err.GetSpecifiedShortnames(); group != "" {
		// An h in front was read as -h before.
		typed = []string{"-" + group, "-h" + group, "-" + group[:1]}
	}
	flags := FlagsOf(cmd)
	crawls := flags.Lookup("seeds") != nil // what is said about crawls applies
	elsewhere := commandsWith(cmd.Root(), strings.TrimLeft(typed[0], "-"))
	for _, name := range typed {
		long := strings.TrimLeft(name, "-")
		row := foreignOf(foreignFlags, name)
		if row == nil && len(long) > 1 {
			row = foreignOf(foreignFlags, "--"+long)
		}
		// The name may be ours, after all.
		if f := flags.Lookup(long); f != nil && len(long) > 1 {
			return config.Errorf("unknown flag: %s; flags have two dashes: --%s", name, long)
		}
		if row != nil && (crawls || len(elsewhere) == 0) {
			if hint := row.hint(cmd); hint != "" {
				return config.Errorf("unknown flag: %s%s", name, hint)
			}
		}
	}
	name := strings.TrimLeft(typed[0], "-")
	if len(elsewhere) > 0 {
		return config.Errorf("unknown flag: %s; %s has no such flag, but %s has it", typed[0], cmd.CommandPath(), orList(elsewhere))
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if n := config.Nearest(name, names); n != "" {
		return config.Errorf("unknown flag: %s; did you mean --%s?", typed[0], n)
	}
	return config.Errorf("unknown flag: %s; %s --help shows the flags", typed[0], cmd.CommandPath())
}

// hint says what a command has instead of another crawler's flag, behind the name of that flag. It
// is "" where nothing that could help is known.
func (r *foreign) hint(cmd *cobra.Command) string {
	if r.ours == "" {
		return ". " + r.say
	}
	name, value, _ := strings.Cut(strings.TrimPrefix(r.ours, "--"), " ")
	name, off, _ := strings.Cut(name, "=")
	f := FlagsOf(cmd).Lookup(name)
	use := "; use " + r.ours
	switch {
	case f == nil:
		elsewhere := commandsWith(cmd.Root(), name)
		if len(elsewhere) == 0 {
			return ""
		}
		return fmt.Sprintf("; %s has no such flag, but %s has %s", cmd.CommandPath(), orList(elsewhere), r.ours)
	case name == "dir" && off == "" && value != "":
		use = "; use --dir " + f.DefValue // each command has a directory of its own
	}
	if r.say != "" {
		use += ". " + r.say
	}
	return use
}

// mostNamed is how many commands are named that have a flag.
const mostNamed = 3

// commandsWith are commands that have a flag, "crawl" first.
func commandsWith(root *cobra.Command, flag string) (paths []string) {
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

// orList lists words as a sentence does: a, b or c.
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
