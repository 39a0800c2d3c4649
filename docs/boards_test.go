package docs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestBoards: the alert rules, their tests and Grafana's board in deploy name no metric and no
// label that our exporters do not have.
func TestBoards(t *testing.T) {
	b := boards{metrics: exported(t), values: strings.Split(literals(t), "\n")}
	exprs := slices.Concat(ruleExprs(t, "../deploy/alerts.yml"), boardExprs(t, "../deploy/grafana/curtsy.json"), testSeries(t, "../deploy/alerts_test.yml"))
	if len(exprs) < 80 {
		t.Errorf("only %d expressions found", len(exprs))
	}
	for _, e := range exprs {
		for _, p := range b.problems(e) {
			t.Errorf("%s: %s", e, p)
		}
	}
}

// exporter is a metric as it is exported.
type exporter struct {
	labels    []string
	histogram bool
}

// boards is what expressions are compared with.
type boards struct {
	metrics map[string]exporter
	values  []string // that labels have: all string literals of the code
}

var (
	used     = regexp.MustCompile(`(\bcurtsy_[a-z_]+)(\{[^{}]*\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
	status   = regexp.MustCompile(`^[1-9]\d\d$`)
	// targetLabels are those that scraping adds, or a histogram has of its own.
	targetLabels = []string{"job", "instance", "crawl", "le"}
)

// problems says what an expression names that is not there.
func (b boards) problems(expr string) (bad []string) {
	var ofThese []string // labels that the metrics of the expression have
	for _, m := range used.FindAllStringSubmatch(expr, -1) {
		name := m[1]
		x, ok := b.metrics[name]
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			if h, has := b.metrics[strings.TrimSuffix(name, part)]; !ok && strings.HasSuffix(name, part) && has && h.histogram {
				x, ok = h, true
			}
		}
		if !ok || x.histogram && b.metrics[name].histogram {
			bad = append(bad, "no exporter has "+name)
			continue
		}
		ofThese = append(ofThese, x.labels...)
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			switch {
			case slices.Contains(targetLabels, l[1]):
			case !slices.Contains(x.labels, l[1]):
				bad = append(bad, name+" has no label "+l[1])
			case l[1] == "version" || l[1] == "revision":
			default:
				for value := range strings.SplitSeq(l[3], "|") {
					if !slices.Contains(b.values, value) && !(l[1] == "code" && status.MatchString(value)) {
						bad = append(bad, fmt.Sprintf("the label %s of %s is never %q", l[1], name, value))
					}
				}
			}
		}
	}
	if len(ofThese) == 0 {
		return bad // a metric of the process or of Prometheus, whose labels are not ours
	}
	for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(g[1], ",") {
			if l = strings.TrimSpace(l); l != "" && !slices.Contains(targetLabels, l) && !slices.Contains(ofThese, l) {
				bad = append(bad, "grouped by "+l+", which none of its metrics has")
			}
		}
	}
	return bad
}

// ruleExprs are the expressions of alert rules, each of which has a summary and a severity.
func ruleExprs(t *testing.T, file string) (exprs []string) {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	parse(t, file, yaml.Unmarshal, &rules)
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if !strings.HasPrefix(r.Alert, "Curtsy") || r.Annotations["summary"] == "" || r.Annotations["description"] == "" ||
				!slices.Contains([]string{"page", "ticket"}, r.Labels["severity"]) {
				t.Errorf("%s: %q lacks a name with Curtsy, a summary, a description or a severity", file, r.Alert)
			}
			exprs = append(exprs, r.Expr)
		}
	}
	return exprs
}

// boardExprs are the expressions of a board's panels, each of which says what it shows.
func boardExprs(t *testing.T, file string) (exprs []string) {
	t.Helper()
	var board struct {
		Panels []struct {
			Type, Title, Description string
			Targets                  []struct{ Expr string }
		}
	}
	parse(t, file, json.Unmarshal, &board)
	for _, p := range board.Panels {
		if p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("%s: the panel %q does not say what it shows, or shows nothing", file, p.Title)
		}
		for _, x := range p.Targets {
			exprs = append(exprs, x.Expr)
		}
	}
	return exprs
}

// testSeries are the series that tests of rules are made of.
func testSeries(t *testing.T, file string) (series []string) {
	t.Helper()
	var tests struct {
		Tests []struct {
			InputSeries []struct{ Series string } `yaml:"input_series"`
		}
	}
	parse(t, file, yaml.Unmarshal, &tests)
	for _, x := range tests.Tests {
		for _, s := range x.InputSeries {
			series = append(series, s.Series)
		}
	}
	return series
}

func parse(t *testing.T, file string, unmarshal func([]byte, any) error, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// Expressions made up for it, with one mistake of each kind.
func TestBoardsTestCanFail(t *testing.T) {
	b := boards{
		metrics: map[string]exporter{
			"curtsy_a_total": {labels: []string{"class", "code"}}, "curtsy_wait_seconds": {histogram: true}, "curtsy_build_info": {labels: []string{"version"}},
		},
		values: []string{"stored", "queued"},
	}
	for _, good := range []string{
		`sum by (class, instance) (rate(curtsy_a_total{class=~"stored|queued",code="503",job="x"}[5m]))`, `up{job="walrus"} == 0`,
		`histogram_quantile(0.9, sum by (le) (rate(curtsy_wait_seconds_bucket{crawl=~"$crawl"}[5m])))`, `curtsy_build_info{version="1"} or vector(0)`,
		`sum by (mode) (rate(node_cpu_seconds_total[5m]))`,
	} {
		if bad := b.problems(good); len(bad) != 0 {
			t.Errorf("%s: %v", good, bad)
		}
	}
	for _, bad := range []string{
		`curtsy_b_total`, `curtsy_a_total_bucket`, `curtsy_wait_seconds`, `curtsy_a_total{reason="x"}`, `curtsy_a_total{class="walrus"}`,
		`curtsy_a_total{class=~"stored|walrus"}`, `curtsy_a_total{code="2xy"}`, `sum by (reason) (curtsy_a_total)`, `curtsy_wait_seconds_bucket{step="a"}`,
	} {
		if n := len(b.problems(bad)); n != 1 {
			t.Errorf("%s has %d problems, want 1", bad, n)
		}
	}
}
