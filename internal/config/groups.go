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

// Annotations of the flag of a setting: its heading in help, whether it is common, the environment
// variable that sets it, and a value that it accepts.
const (
	noteGroup  = "curtsy-group"
	noteCommon = "curtsy-common"
	noteEnv    = "curtsy-env"
	noteTry    = "curtsy-example"
)

// describe annotates a flag with what help shows about its setting.
func describe(flag *pflag.Flag, f field) {
	flag.Annotations = map[string][]string{noteGroup: {f.group}, noteEnv: {envName(f.key)}, noteTry: {f.try()}}
	if f.common {
		flag.Annotations[noteCommon] = []string{"true"}
	}
}

// GroupOf returns the heading of a flag in help, which is one of Groups.
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

// IsCommon reports whether help shows a flag without --help-all, even if the command has many
// flags.
func IsCommon(f *pflag.Flag) bool { return EnvOf(f) == "" || f.Annotations[noteCommon] != nil }

// EnvOf returns the environment variable that sets a flag, or "" if none does.
func EnvOf(f *pflag.Flag) string { return strings.Join(f.Annotations[noteEnv], "") }

// ExampleOf returns a value that a flag accepts.
func ExampleOf(f *pflag.Flag) string {
	if e := f.Annotations[noteTry]; len(e) > 0 {
		return e[0]
	}
	return f.DefValue
}
