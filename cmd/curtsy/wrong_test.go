package main

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/engine"
)

const (
	site = "https://docs.example.org/"
	me2  = "--contact=me@example.org"
)

// wrong is something that a newcomer types, and what works instead.
type wrong struct {
	about string
	args  []string
	// instead is a command line that works. What of it is not in args must be in the message.
	instead []string
	code    int               // exitUsage unless another one is named
	env     map[string]string // variables
	files   map[string]string // files in the working directory
	unlike  string            // must not be in the message
	plus    []string          // words of instead that the newcomer knows: files, addresses
	loose   bool              // instead needs files that are not there
	// says must be in the message where not the line is wrong, but a file or the environment. The
	// same line, or instead, works with these files and variables.
	says    string
	then    map[string]string
	thenEnv map[string]string
}

func fields(words string) []string { return strings.Fields(words) }

// wrongs are mistakes of all kinds: at least forty.
var wrongs = []wrong{
	// Commands
	{about: "misspelled command", args: fields("crawll " + site), instead: fields("crawl " + site)},
	{about: "misspelled command with flags", args: fields("crawll --max-pages 5 " + site), instead: fields("crawl --max-pages 5 " + site), unlike: "unknown flag"},
	{about: "help of a misspelled command", args: fields("help crawll"), instead: fields("help crawl")},
	{about: "help of a misspelled subcommand", args: fields("help export page"), instead: fields("help export pages")},
	{about: "command without its subcommand", args: fields("export"), instead: fields("export pages")},
	{about: "a command that needs another", args: fields("archive"), instead: fields("archive list ./warc"), plus: fields("./warc")},
	{about: "a third one", args: fields("host"), instead: fields("host pause docs.example.org"), plus: fields("docs.example.org")},
	{about: "misspelled subcommand", args: fields("export page"), instead: fields("export pages")},
	{about: "unknown subcommand", args: fields("check sitemap"), instead: fields("check robots robots.txt"), plus: fields("robots.txt")},
	{about: "a URL alone", args: fields(site), instead: fields("crawl --contact me@example.org " + site)},
	{about: "another program's command", args: fields("mirror " + site), instead: fields("crawl " + site)},
	{about: "another program's command for looking", args: fields("list"), instead: fields("pages")},
	{about: "help where a URL belongs", args: fields("crawl help"), instead: fields("crawl --help")},
	{about: "too many arguments", args: fields("status " + site), instead: fields("status")},
	{about: "an argument is missing", args: fields("explain"), instead: fields("explain " + site)},
	{about: "two arguments instead of one", args: fields("refetch " + site + " " + site + "a"), instead: fields("refetch " + site)},

	// Flags
	{about: "another crawler's flag", args: fields("crawl --depth 3 " + site), instead: fields("crawl --max-depth 3 " + site)},
	{about: "another crawler's short flag", args: fields("crawl -l 3 " + site), instead: fields("crawl --max-depth 3 " + site)},
	{about: "curl's name of the agent", args: fields("crawl --user-agent bot " + site), instead: fields("crawl --agent bot " + site)},
	{about: "wget's switch for links", args: fields("crawl -r " + site), instead: fields("crawl --max-depth 3 " + site), plus: fields("3")},
	{about: "to ignore robots.txt", args: fields("crawl -e robots=off " + site), instead: fields("explain " + site)},
	{about: "scrapy's log level", args: fields("crawl --loglevel DEBUG " + site), instead: fields("crawl --log-level debug " + site)},
	{about: "one dash", args: fields("crawl -max-pages 5 " + site), instead: fields("crawl --max-pages 5 " + site)},
	{about: "one dash and an h in front", args: fields("crawl -hurry a.example " + site), instead: fields("crawl --hurry a.example " + site)},
	{about: "no dash", args: fields("crawl max-pages=5 " + site), instead: fields("crawl --max-pages=5 " + site)},
	{about: "misspelled flag", args: fields("crawl --max-page 5 " + site), instead: fields("crawl --max-pages 5 " + site)},
	{about: "format of a status", args: fields("status --format csv"), instead: fields("status --json")},
	{about: "flag of another command", args: fields("pages --since 24h"), instead: fields("export pages --since 24h")},
	{about: "tail's flag", args: fields("log -n 5"), instead: fields("log --limit 5"), plus: fields("5")},
	{about: "flag of a subcommand", args: fields("export --format csv"), instead: fields("export pages --format csv")},
	{about: "switch with a separate value", args: fields("crawl --links false " + site), instead: fields("crawl --links=false " + site)},
	{about: "switch with a wrong value", args: fields("crawl --links=never " + site), instead: fields("crawl --links=false " + site)},
	{about: "flags that exclude each other", args: fields("search --page 2 --offset 10 word"), instead: fields("search --page 2 word")},

	// Values
	{about: "time without a unit", args: fields("crawl --delay 5 " + site), instead: fields("crawl --delay 1s " + site)},
	{about: "number in words", args: fields("crawl --max-pages many " + site), instead: fields("crawl --max-pages 500 " + site)},
	{about: "size in words", args: fields("crawl --max-bytes lots " + site), instead: fields("crawl --max-bytes 1GiB " + site)},
	{about: "negative number", args: fields("crawl --max-depth=-5 " + site), instead: fields("crawl --max-depth 3 " + site)},
	{about: "misspelled word", args: fields("crawl --scope domian " + site), instead: fields("crawl --scope domain " + site)},
	{about: "contact that nobody can use", args: fields("crawl --contact me " + site), instead: fields("crawl --contact me@example.org " + site)},
	{about: "broken regular expression", args: fields("crawl --include ( " + site), instead: fields("crawl --include /docs/ " + site)},
	{about: "number flag of a command with a word", args: fields("search --limit ten word"), instead: fields("search --limit 10 word")},
	{about: "limit out of range", args: fields("log --limit 0"), instead: fields("log --limit 50")},
	{about: "unknown format", args: fields("export pages --format xml"), instead: fields("export pages --format jsonl")},
	{about: "time in words", args: fields("export pages --since yesterday"), instead: fields("export pages --since 24h")},
	{about: "unknown licence", args: fields("datasets --license free"), instead: fields("datasets --license CC-BY-4.0")},
	{about: "wrong time of a command", args: fields("host delay docs.example.org slow"), instead: fields("host delay docs.example.org 5s")},
	{about: "file to be packed without an ending", args: fields("archive wacz --out docs ./warc"), instead: fields("archive wacz --out docs.wacz ./warc")},

	// URLs and hosts
	{about: "URL without a scheme", args: fields("crawl " + me2 + " docs.example.org"), instead: fields("crawl " + me2 + " " + site)},
	{about: "URL of another protocol", args: fields("crawl " + me2 + " file:///home/me/site"), instead: fields("crawl --allow-private http://127.0.0.1:8000/")},
	{about: "URL with a password", args: fields("crawl " + me2 + " https://me:secret@docs.example.org/"), instead: fields("crawl " + me2 + " " + site), unlike: "secret"},
	{about: "file instead of a URL", args: fields("crawl " + me2 + " seeds.txt"), files: map[string]string{"seeds.txt": site}, instead: fields("crawl " + me2 + " --seeds seeds.txt")},
	{about: "neither a host nor a URL", args: fields("timeline docs/example"), instead: fields("timeline docs.example.org")},
	{about: "no host at all", args: []string{"hosts", "not a host"}, instead: fields("hosts docs.example.org")},
	{about: "no URL", args: fields("crawl " + me2), instead: fields("crawl " + me2 + " https://example.org/")},
	{about: "no contact", args: fields("crawl " + site), instead: fields("crawl --contact me@example.org " + site)},

	// Files
	{about: "seeds that are not there", args: fields("crawl " + me2 + " --seeds nowhere.txt"), instead: fields("crawl " + me2 + " --seeds -")},
	{about: "seed that is none", args: fields("crawl " + me2 + " --seeds s.txt"), files: map[string]string{"s.txt": site + "\ndocs.example.org\n"}, instead: fields("crawl " + me2 + " " + site)},
	{about: "settings that are not there", args: fields("crawl --config curtsy.yml " + site), says: "echo 'max-pages: 500' > curtsy.yml", then: map[string]string{"curtsy.yml": "max-pages: 500\n"}},
	{about: "misspelled key", args: fields("crawl --config c.yaml " + site), files: map[string]string{"c.yaml": "max-page: 5\n"}, says: "max-pages", then: map[string]string{"c.yaml": "max-pages: 5\n"}},
	{about: "unknown key", args: fields("crawl --config c.yaml " + site), files: map[string]string{"c.yaml": "javascript-engine: v8\n"}, instead: fields("crawl --help-all")},
	{about: "value of a key", args: fields("crawl --config c.yaml " + site), files: map[string]string{"c.yaml": "max-pages: 5\ndelay: 3\n"}, says: `c.yaml line 2: delay: "3" has no unit (ms, s, m, h); use for example 1s`, then: map[string]string{"c.yaml": "max-pages: 5\ndelay: 1s\n"}},
	{about: "settings that are no mapping", args: fields("crawl --config c.yaml " + site), files: map[string]string{"c.yaml": "- delay\n"}, says: `"delay: 1s"`, then: map[string]string{"c.yaml": "delay: 1s\n"}},
	{about: "a folder of seeds", args: fields("crawl " + me2 + " --seeds ."), instead: fields("crawl " + me2 + " --seeds -")},
	{about: "a URL to be checked", args: fields("check robots " + site + "robots.txt"), says: "curl -s " + site + "robots.txt > FILE", instead: fields("check robots FILE")},
	{about: "file to be checked that is not there", args: fields("check robots nowhere.txt"), instead: fields("check robots -")},

	// Environment
	{about: "misspelled variable", args: fields("status"), env: map[string]string{"CURTSY_MAXPAGES": "5"}, says: "CURTSY_MAX_PAGES", thenEnv: map[string]string{"CURTSY_MAX_PAGES": "5"}},
	{about: "value of a variable", args: fields("crawl " + site), env: map[string]string{"CURTSY_DELAY": "5"}, says: "use for example 1s", thenEnv: map[string]string{"CURTSY_DELAY": "1s"}},

	// Order
	{about: "flag without its value", args: fields("crawl " + site + " --max-pages"), instead: fields("crawl " + site + " --max-pages 500")},
	{about: "search without words", args: fields("search --limit 3"), instead: []string{"search", "--limit", "3", "event loop"}},
	{about: "wrong word where there is no crawl", args: fields("hosts --sort size"), instead: fields("hosts --sort host"), unlike: "no crawl"},
	{about: "another wrong word", args: fields("log --class broken"), instead: fields("log --class failed"), unlike: "no crawl"},

	// A crawl that is missing, or elsewhere
	{about: "no crawl here", args: fields("status"), code: app.ExitFailed, instead: fields("crawl --dir ./curtsy-data " + site)},
	{about: "no crawl to search", args: fields("search word"), code: app.ExitFailed, instead: fields("crawl --dir ./curtsy-data " + site)},
	{about: "no crawl that runs", args: fields("pause"), code: app.ExitFailed, instead: fields("pause --dir DIR")},
	{about: "directory of something else", args: fields("pages --dir ."), files: map[string]string{"notes.txt": ""}, code: app.ExitFailed, instead: fields("crawl --dir . " + site)},
	{about: "export of no crawl", args: fields("export links --dir elsewhere"), code: app.ExitFailed, instead: fields("crawl --dir elsewhere " + site)},

	// Permissions and ports
	{about: "credentials that others can read", args: fields("crawl --credentials c.yaml " + site), files: map[string]string{"c.yaml": "{}\n"}, says: "chmod 600 c.yaml", then: map[string]string{"c.yaml": "{}\n"}},
	{about: "directory that cannot be made", args: fields("crawl --allow-private --dir notes.txt/data http://127.0.0.1:1/"), files: map[string]string{"notes.txt": ""}, code: app.ExitFailed,
		instead: fields("crawl --allow-private --dir ./curtsy-data http://127.0.0.1:1/")},
	{about: "port without an address", args: fields("serve --listen 8080"), instead: fields("serve --listen 127.0.0.1:7880")},
	{about: "port that there is not", args: fields("dashboard --listen 127.0.0.1:99999"), instead: fields("dashboard --listen 127.0.0.1:7890")},

	// NATS
	{about: "no NATS server there", args: fields("status --nats nats://127.0.0.1:1"), code: app.ExitFailed, instead: fields("status")},
	{about: "daemon without a server", args: fields("frontier"), instead: fields("frontier --nats nats://127.0.0.1:4222")},
	{about: "name of no crawl", args: []string{"status", "--crawl", "my docs"}, instead: fields("status --crawl docs")},
}

// Whatever a newcomer types wrong, the message contains a command that works, and the exit code is
// that for wrong input.
func TestWrongInputs(t *testing.T) {
	if len(wrongs) < 40 {
		t.Errorf("only %d wrong inputs", len(wrongs))
	}
	for _, w := range wrongs {
		t.Run(w.about+": curtsy "+strings.Join(w.args, " "), func(t *testing.T) {
			t.Chdir(t.TempDir())
			for name, text := range w.files {
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for name, value := range w.env {
				t.Setenv(name, value)
			}
			before, _ := os.ReadDir(".")
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), w.args, strings.NewReader(""), &stdout, &stderr)
			if want := cmp.Or(w.code, app.ExitUsage); code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
			said := stderr.String()
			if stdout.Len() > 0 || !strings.HasPrefix(said, "curtsy: ") {
				t.Errorf("standard output %q, standard error %q", &stdout, said)
			}
			if after, _ := os.ReadDir("."); len(after) != len(before) {
				t.Errorf("%d files are there, %d were", len(after), len(before))
			}
			if w.unlike != "" && strings.Contains(said, w.unlike) {
				t.Errorf("it speaks of %q: %s", w.unlike, said)
			}
			w.works(t, said)
		})
	}
}

// works fails unless the command in a message would be accepted.
func (w wrong) works(t *testing.T, said string) {
	t.Helper()
	if !strings.Contains(said, w.says) {
		t.Errorf("it does not say %q: %s", w.says, said)
	}
	for _, word := range w.instead {
		if word != site && !slices.Contains(w.args, word) && !slices.Contains(w.plus, word) && !strings.Contains(said, word) {
			t.Errorf("it does not say %q: %s", word, said)
		}
	}
	for name, text := range w.then {
		if err := errors.Join(os.RemoveAll(name), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name := range w.env {
		os.Unsetenv(name) // t.Setenv sets it back
	}
	for name, value := range w.thenEnv {
		t.Setenv(name, value)
	}
	line := w.instead
	if line == nil {
		line = w.args
	}
	if err := accepts(!w.loose, line...); err != nil {
		t.Errorf("curtsy %s does not work: %v", strings.Join(line, " "), err)
	}
}

// The directory of a running crawl is not used by another one.
func TestCrawlBesideAnother(t *testing.T) {
	dir := t.TempDir()
	lock, err := engine.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"crawl", me2, "--dir", dir, site}, strings.NewReader(""), &stdout, &stderr)
	if want := "curtsy stop --dir " + dir; code != app.ExitFailed || !strings.Contains(stderr.String(), want) {
		t.Errorf("%d, %s", code, &stderr)
	}
	if err := accepts(true, "stop", "--dir", filepath.Clean(dir)); err != nil {
		t.Error(err)
	}
}

// Commands of other programs lead to one of ours that exists.
func TestForeignCommands(t *testing.T) {
	for name := range strings.FieldsSeq("start fetch mirror runspider dry-run inject add stats info find list dump why tail server ui domains output data kill suspend unpause " +
		"configure delete rm recrawl solrindex warc lint robots keygen assistant tutorial") {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{name, site}, strings.NewReader(""), &stdout, &stderr)
		_, ours, found := strings.Cut(strings.TrimSpace(stderr.String()), "; use curtsy ")
		if code != app.ExitUsage || !found {
			t.Errorf("%s: %d, %s", name, code, &stderr)
		} else if err := accepts(false, append([]string{"help"}, strings.Fields(ours)...)...); err != nil {
			t.Errorf("%s: there is no curtsy %s: %v", name, ours, err)
		} else if got := help(t, append([]string{"help"}, strings.Fields(ours)...)...); !strings.Contains(got, "curtsy "+ours) {
			t.Errorf("%s: help for %s:\n%s", name, ours, got)
		}
	}
}
