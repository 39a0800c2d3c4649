package cli

import (
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/spf13/pflag"
)

// few is the number of flags up to which help shows all of them.
const few = 20

// folded is the text in help that replaces the less common flags of a group.
var folded = map[string]string{
	"Cluster": "--nats URL --crawl NAME selects a crawl on a NATS server (more: --help-all)",
}

// FlagGroup is a heading and the flags below it.
type FlagGroup struct {
	Name  string
	Flags []*pflag.Flag
	// Folded replaces flags that are not listed; "" if all are.
	Folded string
}

// GroupsOf groups flags by their headings. Without all, it leaves out the less common flags if
// there are more than a few. left counts them.
func GroupsOf(flags *pflag.FlagSet, all bool) (groups []FlagGroup, left int) {
	by := map[string][]*pflag.Flag{}
	unfolded := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		g := config.GroupOf(f)
		by[g] = append(by[g], f)
		if folded[g] == "" && g != config.HelpFlags {
			unfolded++
		}
	})
	for _, name := range config.Groups {
		g := FlagGroup{Name: name, Flags: by[name]}
		n := len(g.Flags)
		if !all && n > 0 && (unfolded > few || folded[name] != "") {
			g.Flags = slices.DeleteFunc(slices.Clone(g.Flags), func(f *pflag.Flag) bool { return !config.IsCommon(f) })
			if left += n - len(g.Flags); len(g.Flags) < n {
				g.Folded = folded[name]
			}
		}
		if len(g.Flags) > 0 || g.Folded != "" {
			groups = append(groups, g)
		}
	}
	return groups, left
}

// FlagLine returns a flag with the name of its value, and its usage with the default.
func FlagLine(f *pflag.Flag) (name, text string) {
	value, text := pflag.UnquoteUsage(f)
	name = "--" + f.Name
	if value != "" {
		name += " " + value
	}
	if d := DefaultOf(f); d != "" && !strings.Contains(text, "(default") {
		text += " (default " + d + ")"
	}
	return name, text
}

// DefaultOf returns the default of a flag as a person types it, or "" if it is empty, zero or
// false.
func DefaultOf(f *pflag.Flag) string {
	switch d := strings.Trim(f.DefValue, "[]"); d {
	case "false", "0", "0s":
		return ""
	default:
		return d
	}
}
