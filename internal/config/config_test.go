package config

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/spf13/pflag"
)

// load fills into as a command with these arguments would.
func load(t *testing.T, into any, args ...string) (*Source, error) {
	t.Helper()
	flags := pflag.NewFlagSet(t.Name(), pflag.ContinueOnError)
	src := Bind(flags, into)
	if err := flags.Parse(args); err != nil {
		return src, err
	}
	return src, src.Load()
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "curtsy.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDefaults(t *testing.T) {
	c := NewCrawl()
	if _, err := load(t, c); err != nil {
		t.Fatal(err)
	}
	if want := NewCrawl(); !equal(c, want) {
		t.Errorf("loaded %+v, want %+v", c, want)
	}
}

// equal compares settings; an empty list is no list.
func equal(a, b any) bool {
	fa, fb := fieldsOf(a), fieldsOf(b)
	for i := range fa {
		x, y := fa[i].value, fb[i].value
		if x.Kind() == reflect.Slice && x.Len() == 0 && y.Len() == 0 {
			continue
		}
		if !reflect.DeepEqual(x.Interface(), y.Interface()) {
			return false
		}
	}
	return true
}

func TestPrecedence(t *testing.T) {
	name := write(t, "delay: 5s\nmax-pages: 7\nmax-depth: 2\nscope: host\n")
	t.Setenv("CURTSY_CONFIG", name)
	t.Setenv("CURTSY_MAX_PAGES", "8")
	t.Setenv("CURTSY_MAX_DEPTH", "3")
	c := NewCrawl()
	src, err := load(t, c, "--max-depth", "4")
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxDepth != 4 || c.MaxPages != 8 || c.Delay != 5*time.Second || c.Scope != "host" || c.Agent != "curtsy" {
		t.Errorf("loaded %+v", c.Plan)
	}
	for key, want := range map[string]string{
		"max-depth": "from --max-depth", "max-pages": "from CURTSY_MAX_PAGES",
		"delay": "from " + name + " line 1", "scope": "from " + name + " line 4", "agent": "default",
	} {
		if got := src.Origin(key); got != want {
			t.Errorf("Origin(%s) = %q, want %q", key, got, want)
		}
	}
	if src.Given("agent") || !src.Given("delay") {
		t.Error("Given is wrong about agent or delay")
	}
}

func TestLists(t *testing.T) {
	odd := `[a-z]+\.html?$`
	c := NewCrawl()
	if _, err := load(t, c, "--include", odd, "--include", `a,"b" c]`); err != nil {
		t.Fatal(err)
	}
	if want := []string{odd, `a,"b" c]`}; !reflect.DeepEqual(c.Include, want) {
		t.Errorf("from flags: %q, want %q", c.Include, want)
	}
	t.Setenv("CURTSY_RESOLVE", "a.test=127.0.0.1:80  *.b.test=::1")
	c = NewCrawl()
	if _, err := load(t, c, "--config", write(t, "include:\n  - '/a b/'\n  - x{1,2}\nexclude: 'c d'\n")); err != nil {
		t.Fatal(err)
	}
	if want := []string{"/a b/", "x{1,2}"}; !reflect.DeepEqual(c.Include, want) {
		t.Errorf("from the file: %q, want %q", c.Include, want)
	}
	if want := []string{"c d"}; !reflect.DeepEqual(c.Exclude, want) {
		t.Errorf("a single value: %q, want %q", c.Exclude, want)
	}
	if want := []string{"a.test=127.0.0.1:80", "*.b.test=::1"}; !reflect.DeepEqual(c.Resolve, want) {
		t.Errorf("from the environment: %q, want %q", c.Resolve, want)
	}
}

func TestSizesAndDurations(t *testing.T) {
	c := NewCrawl()
	if _, err := load(t, c, "--max-bytes", "10MiB", "--delay", "250ms", "--hold-max=0s", "--config", write(t, "max-time: 0\n")); err != nil {
		t.Fatal(err)
	}
	if c.MaxBytes != 10<<20 || c.Delay != 250*time.Millisecond || c.HoldMax != 0 || c.MaxTime != 0 {
		t.Errorf("loaded %+v", c)
	}
}

// An error names the key, its value and origin, and what would be accepted.
func TestErrors(t *testing.T) {
	tests := map[string]struct {
		args []string
		file string
		env  [2]string
		want []string
	}{
		"flag without unit":  {args: []string{"--delay", "5"}, want: []string{"--delay", `"5"`, "has no unit", "1s"}},
		"flag value":         {args: []string{"--scope", "hots"}, want: []string{"scope", `"hots"`, "--scope", "did you mean host"}},
		"negative delay":     {args: []string{"--delay=-1s"}, want: []string{"delay", "-1s", "1s"}},
		"regexp":             {args: []string{"--include", "("}, want: []string{"include", "--include", "regular expression"}},
		"contact":            {args: []string{"--contact", "me"}, want: []string{"contact", `"me"`, "me@example.org"}},
		"resolve":            {args: []string{"--resolve", "a"}, want: []string{"resolve", `"a"`, "HOST=ADDR"}},
		"listen":             {args: []string{"--listen", "8080"}, want: []string{"listen", "127.0.0.1:8080"}},
		"hurry":              {args: []string{"--hurry", "a b"}, want: []string{"hurry", `"a b"`, "*.example.org"}},
		"hurry a suffix":     {args: []string{"--hurry", "*.org"}, want: []string{"hurry", `"*.org"`, "other people", "*.example.org"}},
		"hurry two labels":   {args: []string{"--hurry", "*.co.uk"}, want: []string{"hurry", `"*.co.uk"`, "other people", "*.example.org"}},
		"file value":         {file: "agent: a\nmax-pages: many\n", want: []string{"max-pages", `"many"`, "line 2", "500"}},
		"file duration":      {file: "delay: 3\n", want: []string{"delay", `"3"`, "line 1", "no unit", "1s"}},
		"file bool":          {file: "search: 2\n", want: []string{"search", `"2"`, "line 1"}},
		"unknown key":        {file: "a: 1\n\nmax-pages: 3\n", want: []string{"line 1", `"a"`}},
		"misspelt key":       {file: "\nmax_page: 3\n", want: []string{"line 2", "max_page", "max-pages"}},
		"nested":             {file: "delay:\n  a: 1s\n", want: []string{"line 1", "mapping"}},
		"twice":              {file: "delay: 1s\ndelay: 2s\n", want: []string{"delay"}},
		"no mapping":         {file: "- a\n", want: []string{"line 1"}},
		"environment":        {env: [2]string{"CURTSY_MAXPAGES", "3"}, want: []string{"CURTSY_MAXPAGES", "CURTSY_MAX_PAGES"}},
		"environment value":  {env: [2]string{"CURTSY_MAX_BYTES", "lots"}, want: []string{`CURTSY_MAX_BYTES="lots"`, "1GiB"}},
		"missing file":       {args: []string{"--config", "/nowhere.yaml"}, want: []string{"/nowhere.yaml"}},
		"several complaints": {args: []string{"--delay=-1s", "--listen=x"}, want: []string{"delay", "listen"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.file != "" {
				tt.args = append(tt.args, "--config", write(t, tt.file))
			}
			if tt.env[0] != "" {
				t.Setenv(tt.env[0], tt.env[1])
			}
			_, err := load(t, NewCrawl(), tt.args...)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not mention %q", err, w)
				}
			}
		})
	}
}

// A file may serve all commands. A command ignores the keys of other commands.
func TestForeignKeys(t *testing.T) {
	t.Setenv("CURTSY_MAX_PAGES", "3")
	if _, err := load(t, NewReader(), "--config", write(t, "delay: 1s\nvisits: 3\ndir: /d\n")); err != nil {
		t.Error(err)
	}
}

func TestSecrets(t *testing.T) {
	t.Setenv("CURTSY_NATS_PASSWORD", "hunter2")
	c := NewCrawl()
	if _, err := load(t, c); err != nil {
		t.Fatal(err)
	}
	if string(c.Password) != "hunter2" {
		t.Errorf("password from the environment: %q", string(c.Password))
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("loaded", "cfg", c, "password", c.Password)
	if strings.Contains(out.String(), "hunter2") {
		t.Error("the log shows the password: " + out.String())
	}
	name := write(t, "hunter3\n")
	if _, err := load(t, c, "--nats-password-file", name); err != nil || string(c.Password) != "hunter3" {
		t.Errorf("password from the file: %q, %v", string(c.Password), err)
	}
	if _, err := load(t, NewCrawl(), "--nats-password", "x"); err == nil {
		t.Error("--nats-password is a flag")
	}
}

func TestSpecKeepsWhatIsNotGiven(t *testing.T) {
	c := NewCrawl()
	old := crawl.Spec{Name: "docs", Shards: 7, Delay: 3 * time.Second, Scope: "host", Exclude: []string{"x"}, Seeds: []string{"https://a.test/"}}
	src, err := load(t, c, "--scope=any", "--max-pages=9")
	if err != nil {
		t.Fatal(err)
	}
	got := c.Plan.Spec(&old, src.Given)
	want := old
	want.Scope, want.MaxPages = "any", 9
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Spec = %+v, want %+v", got, want)
	}
	if s := c.Plan.Spec(nil, src.Given); s.Delay != time.Second || s.MaxDepth != -1 || !s.Search || !s.Sitemaps {
		t.Errorf("new Spec = %+v", s)
	}
}

// With a limit on the depth, sitemaps are read only if they are asked for, because their pages have
// no depth.
func TestSitemapsAndDepth(t *testing.T) {
	for _, tt := range []struct {
		args string
		want bool
	}{
		{"--max-pages=1", true}, {"--max-depth=3", false}, {"--max-depth=3 --sitemaps", true}, {"--sitemaps=false", false}, {"--max-depth=-1", true},
		{"--max-depth=3 --links=false", true}, {"--links=false", true}, {"--links=false --sitemaps=false", false}, {"--max-depth=3 --links", false},
	} {
		c := NewCrawl()
		src, err := load(t, c, strings.Fields(tt.args)...)
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Plan.Spec(nil, src.Given); s.Sitemaps != tt.want {
			t.Errorf("%s: sitemaps %v", tt.args, s.Sitemaps)
		}
		if s := c.Plan.Spec(&crawl.Spec{Sitemaps: true, MaxDepth: 2}, src.Given); s.Sitemaps == strings.Contains(tt.args, "--sitemaps=false") {
			t.Errorf("%s, given to a crawl that reads sitemaps: %v", tt.args, s.Sitemaps)
		}
		// Without links the crawl needs sitemaps.
		if s := c.Plan.Spec(&crawl.Spec{MaxDepth: 2}, src.Given); s.NoLinks != strings.Contains(tt.args, "--links=false") || s.NoLinks && s.Sitemaps == strings.Contains(tt.args, "--sitemaps=false") {
			t.Errorf("%s, given to a crawl without sitemaps: %+v", tt.args, s)
		}
	}
}

// A setting with choices refuses and describes the same words.
func TestChoices(t *testing.T) {
	n := 0
	for _, c := range []func() any{
		func() any { return NewCrawl() }, func() any { return NewReader() }, func() any { return NewRUP() }, func() any { return NewRupd() },
	} {
		for _, f := range fieldsOf(c()) {
			if len(f.choices) == 0 {
				continue
			}
			n++
			if !strings.Contains(f.usage, orWords(f.choices)) || strings.Contains(f.usage, "{}") {
				t.Errorf("%s: help says %q", f.key, f.usage)
			}
			if !slices.Contains(f.choices, f.text()) && f.text() != "" {
				t.Errorf("%s: the default %q is no choice", f.key, f.text())
			}
			for _, word := range append([]string{"nosuch"}, f.choices...) {
				args := []string{"--" + f.flag, word}
				if _, rupd := c().(*Rupd); rupd {
					args = append(args, "--base", "https://www.a.test/", "--mail-from", "rup@a.test")
				}
				_, err := load(t, c(), args...)
				if word != "nosuch" && err != nil || word == "nosuch" && (err == nil || !strings.Contains(err.Error(), orWords(f.choices))) {
					t.Errorf("--%s %s: %v", f.flag, word, err)
				}
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d settings have choices", n)
	}
}

// The flag of a setting may have another name: --data is the key dir, as in every other command.
func TestFlagOfAnotherName(t *testing.T) {
	t.Setenv("CURTSY_DIR", "/from/env")
	c := NewDownload()
	src, err := load(t, c, "--max-size", "1MiB")
	if err != nil || c.Dir != "/from/env" || src.Origin("dir") != "from CURTSY_DIR" || src.flags.Lookup("dir") != nil {
		t.Errorf("%+v, %v, %s", c, err, src.Origin("dir"))
	}
	if src, err = load(t, c, "--data", "x"); err != nil || c.Dir != "x" || src.Origin("dir") != "from --data" {
		t.Errorf("%+v, %v, %s", c, err, src.Origin("dir"))
	}
	if _, err := load(t, NewDownload(), "--hold-max", "0s"); err == nil || !strings.Contains(err.Error(), "10m") {
		t.Errorf("hold-max 0s: %v", err)
	}
}

// The example has every key with its default.
func TestExample(t *testing.T) {
	const name = "../../deploy/curtsy.example.yaml"
	body, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands() {
		switch c.(type) {
		case *Rupd, *Agenthost: // they have examples of their own
			continue
		}
		for _, f := range fieldsOf(c) {
			if f.key != "config" && !regexp.MustCompile(`(?m)^`+f.key+`:`).Match(body) {
				t.Errorf("%s lacks %s", name, f.key)
			}
		}
	}
	for _, fresh := range []func() any{
		func() any { return NewCrawl() }, func() any { return NewSeed() }, func() any { return NewReader() },
		func() any { return NewFrontier() }, func() any { return NewFetcher() }, func() any { return NewIndexer() }, func() any { return NewFeed() },
		func() any { return NewDownload() }, func() any { return NewServe() }, func() any { return NewRUP() },
	} {
		got, want := fresh(), fresh()
		args := []string{"--config", name}
		if fs := fieldsOf(got); slicesHas(fs, "instance") {
			args = append(args, "--nats", "nats://x")
		}
		if _, err := load(t, got, args...); err != nil {
			t.Errorf("%T: %v", got, err)
			continue
		}
		for i, f := range fieldsOf(got) {
			w := fieldsOf(want)[i]
			if f.key != "config" && f.key != "nats" && f.text() != w.text() {
				t.Errorf("%T: the example has %s: %s, the default is %s", got, f.key, f.text(), w.text())
			}
		}
	}
}

func slicesHas(fs []field, key string) bool {
	for _, f := range fs {
		if f.key == key {
			return true
		}
	}
	return false
}

// The flags that make another command use the same crawl are single words for a shell, and contain
// no secret.
func TestAbout(t *testing.T) {
	for _, tt := range []struct {
		dir  string
		n    NATS
		want string
	}{
		{defaultDir, NATS{Crawl: "default"}, ""}, {"/srv/my crawl", NATS{}, " --dir '/srv/my crawl'"}, {"/srv/x", NATS{}, " --dir /srv/x"},
		{"/srv/x", NATS{URL: "nats://n1:4222", Crawl: "docs"}, " --nats nats://n1:4222 --crawl docs"},
		{"/srv/x", NATS{URL: "nats://me:secret@n1:4222", Crawl: "docs"}, " --nats URL --crawl docs"},
	} {
		if got := About(tt.dir, tt.n); got != tt.want {
			t.Errorf("About(%q, %q): %q, want %q", tt.dir, tt.n.URL, got, tt.want)
		}
	}
	if got := About("data", NATS{}); !strings.HasPrefix(got, " --dir /") {
		t.Errorf("a directory beside us: %q", got)
	}
}
