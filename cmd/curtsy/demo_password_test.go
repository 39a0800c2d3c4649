package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
)

// With a password that is public, no crawl of the public web is created, nor made from that of the
// demo. With another password it is.
func TestSeedWithDemoPassword(t *testing.T) {
	for password, want := range map[string]int{"demo-operator": app.ExitUsage, "own": app.ExitOK} {
		serverWith(t, "operator", password)
		curtsy(t, app.ExitOK, "seed", "--allow-private", "--shards", "1", "http://a.sim.test/")
		for _, name := range []string{"default", "other"} {
			var out, said bytes.Buffer
			code := runs(t, t.Context(), []string{"seed", "--crawl", name, "--shards", "1", "--contact", "me@example.org", "http://b.sim.test/"}, strings.NewReader(""), &out, &said)
			if code != want || want == app.ExitUsage && !strings.Contains(said.String(), "\n    deploy/make-credentials\n") {
				t.Errorf("with %s, crawl %s: exit code %d, want %d\n%s", password, name, code, want, &said)
			}
		}
	}
}
