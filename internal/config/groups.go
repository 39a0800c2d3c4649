package config

import (
	"strings"

	"github.com/spf13/pflag"
)

// OwnFlags is the heading of the flags that a command declares itself.
const OwnFlags = "Flags"

// HelpFlags is the heading of the flags that show help or the version.
const HelpFlags = "Help"

// Groups are the headings under which help shows flags, in their order.
var Groups = []string{OwnFlags, "Site", "Offers", "Mail", "Scope", "Limits", "Politeness", "What is kept", "Freshness", "Access", "Output", "Cluster", HelpFlags}

// Annotations of a flag that is a setting: its heading in help, whether it is common, the variable
// that sets it, and a value that it accepts.
const (
	noteGroup  = "curtsy-group"
	noteCommon = "curtsy-common"
	noteEnv    = "curtsy-env"
	noteTry    = "curtsy-example"
)

// describe notes at a flag what its setting says about it.
func describe(flag *pflag.Flag, f field) {
	flag.Annotations = map[string][]string{noteGroup: {f.group}, noteEnv: {envName(f.key)}, noteTry: {f.try()}}
	if f.common {
		flag.Annotations[noteCommon] = []string{"true"}
	}
}

// GroupOf is the heading of a flag in help, one of Groups.
func GroupOf(f *pflag.Flag) string {
	if g := f.Annotations[noteGroup]; len(g) > 0 {
		return g[0]
	}
	switch f.Name {
	case "help", "help-all", "version":
		return HelpFlags
	}
	return OwnFlags
}

// IsCommon reports whether help shows a flag even where a command has many.
func IsCommon(f *pflag.Flag) bool { return EnvOf(f) == "" || f.Annotations[noteCommon] != nil }

// EnvOf is the environment variable that sets a flag, or "" for none.
func EnvOf(f *pflag.Flag) string { return strings.Join(f.Annotations[noteEnv], "") }

// ExampleOf is a value that a flag accepts.
func ExampleOf(f *pflag.Flag) string {
	if e := f.Annotations[noteTry]; len(e) > 0 {
		return e[0]
	}
	return f.DefValue
}
