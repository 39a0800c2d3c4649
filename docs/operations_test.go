package docs_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/render/remote"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/internal/web/search"
	"github.com/curtsy/curtsy/pkg/queue"
)

// TestPagesAreTrue: the pages for operators and users name no metric, command, flag, variable, file
// or log message that is not there, and together every metric.
func TestPagesAreTrue(t *testing.T) {
	if testaid.RaceDetector {
		t.Skip("it asks a program built without the detector, and starts nothing beside that")
	}
	o := ops{metrics: ourMetrics(t), flags: flagsOf(t), literals: literals(t), root: "..", box: read(t, "../internal/web/search/search-box.js")}
	var all strings.Builder
	pages := []string{"../README.md", "operations.md", "webmasters.md"}
	for _, folder := range []string{"guides/*.md", "reference/*.md"} {
		more, err := filepath.Glob(folder)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	if len(pages) < 15 {
		t.Errorf("only %d pages found", len(pages))
	}
	for _, page := range pages {
		if page == "reference/commands.md" { // the commands wrote it: TestReference
			continue
		}
		text := read(t, page)
		all.WriteString(text)
		for _, p := range o.problems(text) {
			t.Errorf("%s: %s", page, p)
		}
	}
	for _, p := range o.left(all.String()) {
		t.Error(p)
	}
	if n := len(o.metrics); n < 30 {
		t.Errorf("only %d metrics found in the code", n)
	}
}

// ops is what the code has.
type ops struct {
	metrics  []string
	box      string              // the script of the search box
	flags    map[string][]string // by command: "curtsy status", "frontier"
	literals string              // all string literals of the code
	root     string
}

var (
	metricName = regexp.MustCompile(`\bcurtsy_[a-z_]+`)
	logMessage = regexp.MustCompile(`“([^”]+)”`)
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	variable   = regexp.MustCompile(`\bCURTSY_[A-Z_]+`)
	repoFile   = regexp.MustCompile(`^(deploy|docs|internal|bench)/[\w./-]+$`)
	flagName   = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]+)`)
)

// notMessages stand in the quotes of log messages, but are none of ours.
var notMessages = []string{"in these quotes", "Detected orphaned stream, will cleanup"}

// notVariables look like variables, and are buckets in NATS.
var notVariables = []string{"CURTSY_HOSTS"}

// problems says where the page names what is not there.
func (o ops) problems(text string) (bad []string) {
	add := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	for _, name := range metricName.FindAllString(text, -1) {
		if !slices.Contains(o.metrics, name) {
			add("metric %s does not exist", name)
		}
	}
	for _, m := range logMessage.FindAllStringSubmatch(text, -1) {
		if said := strings.Join(strings.Fields(m[1]), " "); !strings.Contains(o.literals, said) && !slices.Contains(notMessages, said) {
			add("nothing logs %q", said)
		}
	}
	keys := config.Keys()
	for _, name := range variable.FindAllString(text, -1) {
		if key := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "CURTSY_")), "_", "-"); !slices.Contains(keys, key) && !slices.Contains(notVariables, name) {
			add("variable %s does not exist", name)
		}
	}
	var code []string
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		code = append(code, m[1])
	}
	shell := false // in a fenced block of commands
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "```") {
			shell = line == "```sh"
			continue
		}
		if shell || strings.HasPrefix(line, "    ") {
			line, _, _ = strings.Cut(line, "#")
			code = append(code, strings.TrimSpace(line))
		}
	}
	for _, c := range code {
		bad = append(bad, o.inCode(c)...)
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

// left is which metrics no page mentions.
func (o ops) left(text string) (bad []string) {
	for _, name := range o.metrics {
		if !strings.Contains(text, name) && !slices.Contains(unmentioned, name) {
			bad = append(bad, "metric "+name+" is not mentioned")
		}
	}
	return bad
}

// unmentioned are metrics that an operator has no use for by themselves.
var unmentioned = []string{
	"curtsy_fetcher_errands_total", "curtsy_fetcher_stage_seconds_total", "curtsy_fetcher_visits_total", "curtsy_indexer_bytes_total",
	"curtsy_indexer_pages_deleted_total", "curtsy_indexer_pages_late_total", "curtsy_indexer_pages_unchanged_total",
}

// inCode checks a piece of code: a command with its flags, flags alone, or a file
// of the repository.
func (o ops) inCode(c string) (bad []string) {
	if repoFile.MatchString(c) {
		if _, err := os.Stat(filepath.Join(o.root, c)); err != nil {
			return []string{"file " + c + " does not exist"}
		}
		return nil
	}
	words := strings.Fields(c)
	if len(words) == 0 {
		return nil
	}
	command := filepath.Base(words[0])
	if command == "curtsy" {
		if len(words) == 1 {
			return nil
		}
		command += " " + words[1]
		// A command may have commands: export pages.
		if len(words) > 2 && o.flags[command+" "+words[2]] != nil {
			command += " " + words[2]
		}
		if words[1] != "URL" && words[1] != "completion" && o.flags[command] == nil {
			return []string{"command " + command + " does not exist"}
		}
	}
	flags := o.flags[command]
	if flags == nil { // flags alone
		for _, f := range o.flags {
			flags = append(flags, f...)
		}
		if !strings.HasPrefix(c, "--") {
			return nil // somebody else's command, or no command at all
		}
	}
	for _, m := range flagName.FindAllStringSubmatch(c, -1) {
		if strings.HasPrefix(m[1], "curtsy-") && strings.Contains(o.box, "--"+m[1]) {
			continue // a variable of the search box's style
		}
		if !slices.Contains(flags, m[1]) {
			bad = append(bad, fmt.Sprintf("flag --%s in %q does not exist", m[1], c))
		}
	}
	return bad
}

// collected is a Registerer that notes metrics.
type collected map[string]exporter

var (
	descName   = regexp.MustCompile(`fqName: "([^"]+)"`)
	descLabels = regexp.MustCompile(`variableLabels: \{([^}]*)\}`)
	descConst  = regexp.MustCompile(`constLabels: \{([^}]*)\}`)
)

func (c collected) Register(x prometheus.Collector) error {
	ch := make(chan *prometheus.Desc, 100)
	x.Describe(ch)
	close(ch)
	_, one := x.(prometheus.Histogram)
	_, many := x.(*prometheus.HistogramVec)
	for d := range ch {
		e := exporter{histogram: one || many}
		if l := descLabels.FindStringSubmatch(d.String()); l[1] != "" {
			e.labels = strings.Split(l[1], ",")
		}
		for _, l := range matcher.FindAllStringSubmatch(descConst.FindStringSubmatch(d.String())[1], -1) {
			e.labels = append(e.labels, l[1])
		}
		c[descName.FindStringSubmatch(d.String())[1]] = e
	}
	return nil
}

func (c collected) MustRegister(xs ...prometheus.Collector) {
	for _, x := range xs {
		_ = c.Register(x)
	}
}

func (c collected) Unregister(prometheus.Collector) bool { return false }

// ourMetrics are the names of all metrics that the services register.
func ourMetrics(t *testing.T) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(exported(t)))
}

// exported are all metrics that the services register.
func exported(t *testing.T) map[string]exporter {
	t.Helper()
	reg := collected{}
	spec := crawl.Spec{Name: "docs", Shards: 1, Scope: "any", Agent: "curtsy", MaxDepth: -1}
	if _, err := frontier.New(nil, spec, frontier.Options{Dir: "x", Instance: "x", Registry: reg}); err != nil {
		t.Fatal(err)
	}
	if _, err := fetcher.New(nil, spec, fetcher.Options{Registerer: reg}); err != nil {
		t.Fatal(err)
	}
	if _, err := indexer.New(nil, spec, indexer.Options{Dir: "x", Instance: "x", Registry: reg}); err != nil {
		t.Fatal(err)
	}
	if _, err := search.NewMetrics(reg); err != nil {
		t.Fatal(err)
	}
	_, err := updates.New(updates.Options{
		Addresses: updates.Addresses{Secret: make([]byte, 32)}, Shards: 1, Metrics: reg, Log: slog.New(slog.DiscardHandler),
		Append: func(context.Context, int, []byte) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := updates.NewIndexNow(1, nil, reg, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if _, err := updates.NewWebSub(nil, 1, nil, nil, reg, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	sinks, err := feed.NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	sinks.Events("search").Sent(0, 0)
	sinks.Events("search").Failed(nil)
	sinks.Events("search").Behind(0)
	if _, err := remote.Count(nil, func() int { return 0 }, reg); err != nil {
		t.Fatal(err)
	}
	if err := service.CountShards(reg, spec); err != nil {
		t.Fatal(err)
	}
	if err := service.WatchCertificates(reg, queue.Options{}, func() *nats.Conn { return nil }, nil); err != nil {
		t.Fatal(err)
	}
	service.RegisterBuild(reg)
	return reg
}

// flagsOf asks every command for its help, as an operator would. The daemons' are read
// from what fills them.
func flagsOf(t *testing.T) map[string][]string {
	t.Helper()
	flags := map[string][]string{}
	for name, cfg := range map[string]any{"frontier": config.NewFrontier(), "fetcher": config.NewFetcher(), "indexer": config.NewIndexer()} {
		fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
		config.Bind(fs, cfg)
		fs.VisitAll(func(f *pflag.Flag) { flags[name] = append(flags[name], f.Name) })
	}
	bin := filepath.Join(t.TempDir(), "curtsy")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, "../cmd/curtsy").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	subcommand := regexp.MustCompile(`(?m)^([a-z-]+)\t`) // as shells complete it
	flag := regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`)
	var ask func(path []string)
	ask = func(path []string) {
		run := func(args ...string) string {
			out, err := exec.Command(bin, args...).Output()
			if err != nil {
				t.Fatalf("curtsy %s: %v\n%s", strings.Join(args, " "), err, out)
			}
			return string(out)
		}
		out := run(append(slices.Clone(path), "--help")...)
		if strings.Contains(out, "--help-all") {
			out = run(append(slices.Clone(path), "--help-all")...)
		}
		name := strings.Join(append([]string{"curtsy"}, path...), " ")
		flags[name] = []string{}
		for _, m := range flag.FindAllStringSubmatch(out, -1) {
			flags[name] = append(flags[name], m[1])
		}
		list := run(append(append([]string{"__complete"}, path...), "")...)
		for _, m := range subcommand.FindAllStringSubmatch(list, -1) {
			if m[1] != "help" && m[1] != "completion" {
				ask(append(slices.Clone(path), m[1]))
			}
		}
	}
	ask(nil)
	return flags
}

// literals are the strings in the code of the module, tests left out, one a line. Parts that are
// joined with + are joined.
func literals(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"../cmd", "../internal", "../pkg"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if x, ok := n.(ast.Expr); ok {
					if s, ok := joined(x); ok {
						all.WriteString(s + "\n")
						return false
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// joined is the value of a string literal, or of literals joined with +.
func joined(x ast.Expr) (string, bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			s, err := strconv.Unquote(x.Value)
			return s, err == nil
		}
	case *ast.BinaryExpr:
		a, ok1 := joined(x.X)
		b, ok2 := joined(x.Y)
		return a + b, ok1 && ok2 && x.Op == token.ADD
	}
	return "", false
}

// A page made up for it, with one mistake of each kind.
func TestPagesAreTrueCanFail(t *testing.T) {
	o := ops{
		metrics: []string{"curtsy_a_total", "curtsy_fetcher_visits_total"}, literals: "the disk is full\nother\n", root: "..",
		flags: map[string][]string{"curtsy status": {"json", "dir"}, "curtsy export pages": {"dir"}, "curtsy export": {"help"}, "frontier": {"min-free"}},
	}
	const good = "## The end, now\n“the disk is full” `curtsy_a_total` `curtsy status --json` `CURTSY_MIN_FREE` `deploy/nats.conf`\n\n" +
		"    bin/frontier --min-free 1GiB   # --none\n    curtsy export pages --dir x > y\n    nats-server --js\n"
	for _, c := range []struct {
		page string
		want []string
	}{
		{good, nil},
		{strings.Replace(good, "curtsy_a_total", "x", 1), []string{"metric curtsy_a_total is not mentioned"}},
		{good + "`curtsy_b`", []string{"metric curtsy_b does not exist"}},
		{good + "“the disk\nis empty”", []string{`nothing logs "the disk is empty"`}},
		{good + "`curtsy walk`", []string{"command curtsy walk does not exist"}},
		{good + "`curtsy status --min-free 1`", []string{`flag --min-free in "curtsy status --min-free 1" does not exist`}},
		{good + "`--max-free`", []string{`flag --max-free in "--max-free" does not exist`}},
		{good + "\n```sh\ncurtsy status --max-free\n```\n", []string{`flag --max-free in "curtsy status --max-free" does not exist`}},
		{good + "\n```go\ncurtsy status --max-free\n```\n", nil},
		{good + "\n    frontier --json\n", []string{`flag --json in "frontier --json" does not exist`}},
		{good + "CURTSY_MAX_FREE", []string{"variable CURTSY_MAX_FREE does not exist"}},
		{good + "`deploy/none.conf`", []string{"file deploy/none.conf does not exist"}},
	} {
		if got := append(o.problems(c.page), o.left(c.page)...); !slices.Equal(got, c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.page, got, c.want)
		}
	}
}
