package look

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/cli"
)

// Words of the query are distinguished from flags by their first characters.
func TestWordsLast(t *testing.T) {
	a := commands{new(app.App)}
	cmd := a.searchCommand()
	cli.Dress(cmd)
	for typed, want := range map[string]string{
		"vacuum -full":                     "-- vacuum -full",
		"-full vacuum":                     "-- -full vacuum",
		"--limit 3 vacuum -full --json":    "--limit 3 --json -- vacuum -full",
		"vacuum --limit=3 -full":           "--limit=3 -- vacuum -full",
		"--json vacuum":                    "--json -- vacuum",
		"vacuum --dir -x -full":            "--dir -x -- vacuum -full",
		"a - b":                            "-- a - b",
		"a -- --limit -h":                  "-- a --limit -h",
		"-h":                               "-h --",
		"a -hx --help":                     "--help -- a -hx",
		"a --limti 3":                      "--limti -- a 3",
		"a --limit":                        "--limit",
		"a −full":                          "-- a −full",
		"":                                 "--",
		"site:example.org -lang:de -\"a b": "-- site:example.org -lang:de -\"a b",
	} {
		if got := strings.Join(WordsLast(cmd.Flags(), strings.Fields(typed)), " "); got != want {
			t.Errorf("%s: %s, want %s", typed, got, want)
		}
	}
}
