package daemons

import (
	"bytes"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/version"
)

// Each daemon prints its version and its flags on standard output without reading its settings.
func TestVersionAndHelp(t *testing.T) {
	for _, cmd := range Commands(nil) {
		name := cmd.Name()
		if CalledAs("/usr/lib/curtsy/"+name) != name || CalledAs(name) != name {
			t.Errorf("a program called %s is %q", name, CalledAs(name))
		}
		var stdout, stderr bytes.Buffer
		code := Run(t.Context(), name, []string{"--version"}, &stdout, &stderr)
		if want := name + " " + version.Get().String() + "\n"; code != 0 || stdout.String() != want || stderr.Len() != 0 {
			t.Errorf("%s --version: exit %d, prints %q and %q, want %q", name, code, &stdout, &stderr, want)
		}
		stdout.Reset()
		code = Run(t.Context(), name, []string{"--help"}, &stdout, &stderr)
		for _, want := range []string{"--version", "--config", "--listen", "CURTSY_LOG_LEVEL", name + " " + cmd.UseLine()[len(name)+1:]} {
			if code != 0 || !strings.Contains(stdout.String(), want) {
				t.Errorf("%s --help: exit %d, has no %q:\n%s%s", name, code, want, &stdout, &stderr)
			}
		}
	}
	for _, other := range []string{"curtsy", "/bin/sh", "daemons.test", ""} {
		if name := CalledAs(other); name != "" {
			t.Errorf("a program called %q is %s", other, name)
		}
	}
}

// A wrong command line ends with 2 and says what to type. A failure ends with 1.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		line string
		exit int
		want string
	}{
		{"frontier", 2, "frontier: --nats"},
		{"fetcher --nats nats://127.0.0.1:1 --visits none", 2, `fetcher: --visits "none" is not a whole number`},
		{"indexer --colour", 2, "indexer: unknown flag: --colour"},
		{"indexer now", 2, "use it as curtsy indexer --nats URL --crawl NAME"},
		{"frontier --nats nats://127.0.0.1:1 --crawl docs --dir /dev/null/x", 1, "frontier: "},
		{"walker", 1, "no such daemon"},
	} {
		var stdout, stderr bytes.Buffer
		args := strings.Fields(c.line)
		if code := Run(t.Context(), args[0], args[1:], &stdout, &stderr); code != c.exit || !strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 {
			t.Errorf("%s: exit %d, want %d and %q: %s%s", c.line, code, c.exit, c.want, &stderr, &stdout)
		}
	}
}
