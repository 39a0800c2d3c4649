package app

import (
	"os"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/spf13/cobra"
)

// NoArgs refuses arguments. Its error contains a command that works.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage("%s takes no arguments, but got %q; without it: %[1]s", cmd.CommandPath(), args[0])
	}
	return nil
}

// OneArg accepts exactly one argument. what it is and an example are for its error.
func OneArg(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usage("%s needs one %s; use for example: %s %s", cmd.CommandPath(), what, cmd.CommandPath(), example)
		}
		return nil
	}
}

// OneURL accepts one URL and OneHost one host. They only count the arguments; IsURL and IsHost
// check what they are.
var (
	OneURL  = OneArg("URL", "https://docs.example.org/")
	OneHost = OneArg("host", "docs.example.org")
)

// IsURL refuses a first argument that is not a URL.
func IsURL(_ *cobra.Command, args []string) error {
	_, err := typedURL(args[0], "")
	return err
}

// IsHost refuses a first argument that is not a host.
func IsHost(_ *cobra.Command, args []string) error {
	_, err := TypedHost(args[0])
	return err
}

// TypedHost reads the name of a host that was typed; a URL stands for its host.
func TypedHost(arg string) (canon.Host, error) {
	h, err := canon.ParseHost(arg)
	if err == nil {
		return h, nil
	}
	if u, err := canon.Parse(arg); err == nil {
		return u.Host(), nil
	}
	return "", Usage("%q is not a host name (%v); use for example docs.example.org", arg, err)
}

// typedURL reads a URL that was typed, or that comes from a file; where is its place there.
func typedURL(raw, where string) (canon.URL, error) {
	if without, ok := cutUserinfo(raw); ok { // quoting it would show a password
		return "", Usage("%sa URL must not contain a user name or password, because other people could read it; write them into a file for "+
			"--credentials (docs/guides/credentials.md), and use %s", where, without)
	}
	u, err := canon.Parse(raw)
	if err != nil {
		hint := "https://example.org/"
		if advice := notURL(raw); advice != "" {
			return "", Usage("%s%q is not a URL; %s", where, raw, advice)
		}
		if guess, err := canon.Parse("https://" + raw); err == nil && !strings.Contains(raw, "://") {
			hint = guess.String()
		}
		return "", Usage("%s%q is not a URL to crawl (%v); use for example %s", where, raw, err, hint)
	}
	return u, nil
}

// cutUserinfo returns a URL without the name and password in it, and whether there were any.
// canon.Parse drops them, which is right for links, but a person who types them expects that they
// are used.
func cutUserinfo(raw string) (without string, ok bool) {
	i := strings.Index(raw, "://")
	if i < 0 {
		return raw, false
	}
	i += len("://")
	end := len(raw)
	if n := strings.IndexAny(raw[i:], `/\?#`); n >= 0 {
		end = i + n
	}
	at := strings.LastIndexByte(raw[i:end], '@')
	if at < 0 {
		return raw, false
	}
	return raw[:i] + raw[i+at+1:], true
}

// notURL advises a person who typed something else where a URL is expected.
func notURL(raw string) string {
	name, value, set := strings.Cut(raw, "=")
	switch raw {
	case "true", "yes", "on":
		return "a switch and its value are one word, for example --links=true"
	case "false", "no", "off":
		return "a switch and its value are one word, for example --links=false"
	case "help":
		return "for help: curtsy crawl --help"
	}
	if set && slices.Contains(config.Keys(), name) {
		return "flags begin with two dashes: --" + name + "=" + value
	}
	if strings.HasPrefix(raw, "file:") || strings.HasPrefix(raw, "ftp:") {
		return "only http and https are crawled; to crawl files, serve them: python3 -m http.server 8000, then curtsy crawl --allow-private http://127.0.0.1:8000/"
	}
	if _, err := os.Stat(raw); err == nil && !strings.Contains(raw, "://") {
		return "it is a file; to read URLs from it: --seeds " + webtext.ShellWord(raw)
	}
	return ""
}

// KnownWord refuses the value of a flag that is not among words; "" means that the flag was not
// given.
func KnownWord(flag, word string, words []string) error {
	if word == "" || slices.Contains(words, word) {
		return nil
	}
	hint := ""
	if n := config.Nearest(word, words); n != "" {
		hint = "; did you mean --" + flag + " " + n + "?"
	}
	return Usage("--%s %q is unknown; use %s%s", flag, word, strings.Join(words, ", "), hint)
}
