//go:build external

package deploytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/testaid"
)

// TestExternalSmokePrometheus checks the files of deploy with promtool of Prometheus: the alert
// rules and their tests, the scrape configuration, and the expressions of the Grafana dashboard.
func TestExternalSmokePrometheus(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"check", "rules", "deploy/alerts.yml"}, {"test", "rules", "deploy/alerts_test.yml"}, {"check", "config", "deploy/prometheus.yml"},
	} {
		run(t, "promtool", args...)
	}
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: board\n    rules:\n")
	for i, e := range boardExprs(t) {
		fmt.Fprintf(&rules, "      - {record: 'board:%d', expr: %q}\n", i, e)
	}
	file := filepath.Join(t.TempDir(), "board.yml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "promtool", "check", "rules", file)
}

// boardExprs returns the expressions of the Grafana dashboard, with its variables replaced like
// Grafana does.
func boardExprs(t *testing.T) (exprs []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "grafana", "curtsy.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, x := range p.Targets {
			exprs = append(exprs, strings.NewReplacer("$__rate_interval", "2m", "$crawl", ".*").Replace(x.Expr))
		}
	}
	if len(exprs) < 40 {
		t.Errorf("the board has only %d expressions", len(exprs))
	}
	return exprs
}

// prometheusImage makes an image of this machine's Prometheus, and returns its name: no image can
// be pulled where these tests run. It has what the compose profile expects of an image.
func prometheusImage(t *testing.T) string {
	t.Helper()
	var programs []string
	for _, name := range []string{"prometheus", "promtool"} {
		file, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, file)
	}
	const name = image + "-prometheus"
	scratchImage(t, name, "", programs...)
	return name
}

// mayBeEmpty are metrics that the demo does not have: it has no TLS, and no domain with too many
// names.
var mayBeEmpty = []string{"curtsy_certificate_expiry_timestamp_seconds", "curtsy_frontier_links_left_out_total"}

// checkBoard queries Prometheus for every expression of the dashboard, which must have a result for
// the crawl of the demo, and for its rules, none of which may be broken or firing.
func checkBoard(t *testing.T, at string) {
	t.Helper()
	began := time.Now()
	missing := boardExprs(t)
	// Rates need two scrapes, which are 15 s apart.
	testaid.Until(t, "the board has something to show for each of its expressions", func() bool {
		missing = slices.DeleteFunc(missing, func(expr string) bool {
			if slices.ContainsFunc(mayBeEmpty, func(name string) bool { return strings.Contains(expr, name) }) {
				return true
			}
			var answer struct{ Result []any }
			askPrometheus(t, at+"/api/v1/query?query="+url.QueryEscape(expr), &answer)
			return len(answer.Result) > 0
		})
		return len(missing) == 0
	}, func() string { return strings.Join(missing, "\n") })
	// The expressions may have a result with fewer daemons.
	var up struct{ Result []struct{ Value [2]any } }
	testaid.Until(t, "all five daemons are scraped", func() bool {
		askPrometheus(t, at+"/api/v1/query?query="+url.QueryEscape(`up{job=~"frontier|fetcher|indexer"}`), &up)
		return len(up.Result) == 5 && !slices.ContainsFunc(up.Result, func(r struct{ Value [2]any }) bool { return r.Value[1] != "1" })
	}, func() string { return fmt.Sprintf("these are: %v", up.Result) })
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, State, Health, LastError string }
		}
	}
	askPrometheus(t, at+"/api/v1/rules", &rules)
	n := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if n++; r.State == "firing" || r.Health == "err" {
				t.Errorf("rule %s: %s, %s %s", r.Name, r.State, r.Health, r.LastError)
			}
		}
	}
	if n < 15 {
		t.Errorf("Prometheus has %d rules", n)
	}
	t.Logf("the board had something to show after %.1fs", time.Since(began).Seconds())
}

// askPrometheus queries the API of Prometheus.
func askPrometheus(t *testing.T, at string, into any) {
	t.Helper()
	resp, err := http.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: into}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %s %s %v", at, answer.Status, answer.Error, err)
	}
}
