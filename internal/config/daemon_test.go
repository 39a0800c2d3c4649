package config

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/curtsy/curtsy/internal/version"
)

// Every command says which it is, on standard output, before it looks at its settings.
func TestVersion(t *testing.T) {
	for name, into := range map[string]any{"fetcher": NewFetcher(), "frontier": NewFrontier(), "indexer": NewIndexer(), "rupd": NewRupd()} {
		var stdout, stderr bytes.Buffer
		err := Parse(name, into, []string{"--version"}, &stdout, &stderr)
		if want := name + " " + version.Get().String() + "\n"; !errors.Is(err, pflag.ErrHelp) || stdout.String() != want || stderr.Len() != 0 || Exit(name, err, &stderr) != 0 {
			t.Errorf("%s --version says %q and %q (%v), want %q", name, &stdout, &stderr, err, want)
		}
		stdout.Reset()
		if err := Parse(name, into, []string{"--help"}, &stdout, &stderr); !errors.Is(err, pflag.ErrHelp) || !strings.Contains(stderr.String(), "--version") {
			t.Errorf("%s --help says nothing of --version: %s", name, &stderr)
		}
	}
}
