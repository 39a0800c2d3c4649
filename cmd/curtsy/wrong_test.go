package main

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	loose   bool              // instead needs files that are not there, or a crawl
}

func line(words string) []string { return strings.Fields(words) }

// wrongs are mistakes of all kinds: at least forty.
var wrongs = []wrong{
	// Commands
	{about: "misspelled command", args: line("crawll " + site), instead: line("crawl " + site)},
	{about: "misspelled command with flags", args: line("crawll --max-pages 5 " + site), instead: line("crawl --max-pages 5 " + site), unlike: "unknown flag"},
	{about: "help of a misspelled command", args: line("help crawll"), instead: line("help crawl")},
	{about: "help of a misspelled subcommand", args: line("help export page"), instead: line("help export pages")},
	{about: "command without its subcommand", args: line("export"), instead: line("export pages")},
	{about: "another one", args: line("archive"), instead: line("archive list ./warc"), loose: true},
	{about: "a third one", args: line("host"), instead: line("host pause docs.example.org"), loose: true},
	{about: "misspelled subcommand", args: line("export page"), instead: line("export pages")},
	{about: "unknown subcommand", args: line("check sitemap"), instead: line("check robots --url " + site + " -"), loose: true},
	{about: "a URL alone", args: line(site), instead: line("crawl --contact me@example.org " + site)},
	{about: "another program's command", args: line("mirror " + site), instead: line("crawl " + site)},
	{about: "another program's command for looking", args: line("list"), instead: line("pages")},
	{about: "help where a URL belongs", args: line("crawl help"), instead: line("crawl --help")},
	{about: "too many arguments", args: line("status " + site), instead: line("status")},
	{about: "an argument is missing", args: line("explain"), instead: line("explain " + site)},
	{about: "two arguments instead of one", args: line("refetch " + site + " " + site + "a"), instead: line("refetch " + site)},

	// Flags
	{about: "another crawler's flag", args: line("crawl --depth 3 " + site), instead: line("crawl --max-depth 3 " + site)},
	{about: "another crawler's short flag", args: line("crawl -l 3 " + site), instead: line("crawl --max-depth 3 " + site)},
	{about: "curl's name of the agent", args: line("crawl --user-agent bot " + site), instead: line("crawl --agent bot " + site)},
	{about: "wget's switch for links", args: line("crawl -r " + site), instead: line("crawl --max-depth 3 " + site), loose: true},
	{about: "to ignore robots.txt", args: line("crawl -e robots=off " + site), instead: line("explain " + site), loose: true},
	{about: "scrapy's log level", args: line("crawl --loglevel DEBUG " + site), instead: line("crawl --log-level debug " + site)},
	{about: "one dash", args: line("crawl -max-pages 5 " + site), instead: line("crawl --max-pages 5 " + site)},
	{about: "one dash and an h in front", args: line("crawl -hurry a.example " + site), instead: line("crawl --hurry a.example " + site)},
	{about: "no dash", args: line("crawl max-pages=5 " + site), instead: line("crawl --max-pages=5 " + site)},
	{about: "misspelled flag", args: line("crawl --max-page 5 " + site), instead: line("crawl --max-pages 5 " + site)},
	{about: "flag of another command", args: line("status --format csv"), instead: line("export pages --format csv"), loose: true},
	{about: "switch with a separate value", args: line("crawl --links false " + site), instead: line("crawl --links=false " + site)},
	{about: "switch with a wrong value", args: line("crawl --links=never " + site), instead: line("crawl --links=false " + site)},
	{about: "flags that exclude each other", args: line("search --page 2 --offset 10 word"), instead: line("search --page 2 word")},

	// Values
	{about: "time without a unit", args: line("crawl --delay 5 " + site), instead: line("crawl --delay 1s " + site)},
	{about: "number in words", args: line("crawl --max-pages many " + site), instead: line("crawl --max-pages 500 " + site)},
	{about: "size in words", args: line("crawl --max-bytes lots " + site), instead: line("crawl --max-bytes 1GiB " + site)},
	{about: "negative number", args: line("crawl --max-depth=-5 " + site), instead: line("crawl --max-depth 3 " + site)},
	{about: "misspelled word", args: line("crawl --scope domian " + site), instead: line("crawl --scope domain " + site)},
	{about: "contact that nobody can use", args: line("crawl --contact me " + site), instead: line("crawl --contact me@example.org " + site)},
	{about: "broken regular expression", args: line("crawl --include ( " + site), instead: line("crawl --include /docs/ " + site)},
	{about: "number flag of a command with a word", args: line("search --limit ten word"), instead: line("search --limit 10 word")},
	{about: "limit out of range", args: line("log --limit 0"), instead: line("log --limit 50")},
	{about: "unknown format", args: line("export pages --format xml"), instead: line("export pages --format jsonl")},
	{about: "time in words", args: line("export pages --since yesterday"), instead: line("export pages --since 24h")},
	{about: "unknown licence", args: line("datasets --license free"), instead: line("datasets --license CC-BY-4.0")},
	{about: "wrong time of a command", args: line("host delay docs.example.org slow"), instead: line("host delay docs.example.org 5s")},
	{about: "file to be packed without an ending", args: line("archive wacz --out docs ./warc"), instead: line("archive wacz --out docs.wacz ./warc")},

	// URLs and hosts
	{about: "URL without a scheme", args: line("crawl " + me2 + " docs.example.org"), instead: line("crawl " + me2 + " " + site)},
	{about: "URL of another protocol", args: line("crawl " + me2 + " file:///home/me/site"), instead: line("crawl --allow-private http://127.0.0.1:8000/")},
	{about: "URL with a password", args: line("crawl " + me2 + " https://me:secret@docs.example.org/"), instead: line("crawl " + me2 + " " + site), unlike: "secret"},
	{about: "file instead of a URL", args: line("crawl " + me2 + " seeds.txt"), files: map[string]string{"seeds.txt": site}, instead: line("crawl " + me2 + " --seeds seeds.txt")},
	{about: "URL instead of a host", args: line("timeline " + site), instead: line("timeline docs.example.org")},
	{about: "no host at all", args: []string{"hosts", "not a host"}, instead: line("hosts docs.example.org")},
	{about: "no URL", args: line("crawl " + me2), instead: line("crawl " + me2 + " https://example.org/")},
	{about: "no contact", args: line("crawl " + site), instead: line("crawl --contact me@example.org " + site)},

	// Files
	{about: "seeds that are not there", args: line("crawl " + me2 + " --seeds nowhere.txt"), instead: line("crawl " + me2 + " https://example.org/")},
	{about: "seed that is none", args: line("crawl " + me2 + " --seeds s.txt"), files: map[string]string{"s.txt": site + "\ndocs.example.org\n"}, instead: line("crawl " + me2 + " " + site)},
	{about: "settings that are not there", args: line("crawl --config curtsy.yml " + site), instead: line("crawl --config curtsy.yml " + site), loose: true},
	{about: "misspelled key", args: line("crawl --config c.yaml " + site), files: map[string]string{"c.yaml": "max-page: 5\n"}, instead: line("crawl --max-pages 5 " + site), loose: true},
	{about: "value of a key", args: line("crawl --config c.yaml " + site), files: map[string]string{"c.yaml": "max-pages: 5\ndelay: 3\n"}, instead: line("crawl --delay 1s " + site), loose: true},
	{about: "settings that are no mapping", args: line("crawl --config c.yaml " + site), files: map[string]string{"c.yaml": "- delay\n"}, instead: line("crawl --delay 1s " + site), loose: true},
	{about: "file to be checked that is not there", args: line("check robots nowhere.txt"), instead: line("check robots -")},

	// Environment
	{about: "misspelled variable", args: line("status"), env: map[string]string{"CURTSY_MAXPAGES": "5"}, instead: line("crawl --max-pages 5 " + site), loose: true},
	{about: "value of a variable", args: line("crawl " + site), env: map[string]string{"CURTSY_DELAY": "5"}, instead: line("crawl --delay 1s " + site), loose: true},

	// Order
	{about: "flag without its value", args: line("crawl " + site + " --max-pages"), instead: line("crawl " + site + " --max-pages 500")},
	{about: "search without words", args: line("search --limit 3"), instead: []string{"search", "--limit", "3", "event loop"}},
	{about: "wrong word where there is no crawl", args: line("hosts --sort size"), instead: line("hosts --sort host"), unlike: "no crawl"},
	{about: "another one", args: line("log --class broken"), instead: line("log --class failed"), unlike: "no crawl"},

	// A crawl that is missing, or elsewhere
	{about: "no crawl here", args: line("status"), code: exitFailed, instead: line("crawl --dir ./curtsy-data " + site)},
	{about: "no crawl to search", args: line("search word"), code: exitFailed, instead: line("crawl --dir ./curtsy-data " + site)},
	{about: "no crawl that runs", args: line("pause"), code: exitFailed, instead: line("pause --dir DIR")},
	{about: "directory of something else", args: line("pages --dir ."), files: map[string]string{"notes.txt": ""}, code: exitFailed, instead: line("crawl --dir . " + site)},
	{about: "export of no crawl", args: line("export links --dir elsewhere"), code: exitFailed, instead: line("crawl --dir elsewhere " + site)},

	// Permissions and ports
	{about: "key that others can read", args: line("crawl --sign-key k.pem --sign-agent https://bot.example.org " + site), files: map[string]string{"k.pem": "x"}, instead: line("identity --new-key k.pem"), loose: true},
	{about: "directory that cannot be made", args: line("crawl --allow-private --dir notes.txt/data http://127.0.0.1:1/"), files: map[string]string{"notes.txt": ""}, code: exitFailed,
		instead: line("crawl --allow-private --dir ./curtsy-data http://127.0.0.1:1/"), loose: true},
	{about: "port without an address", args: line("serve --listen 8080"), instead: line("serve --listen 127.0.0.1:7880")},
	{about: "port that there is not", args: line("dashboard --listen 127.0.0.1:99999"), instead: line("dashboard --listen 127.0.0.1:7890")},

	// NATS
	{about: "no NATS server there", args: line("status --nats nats://127.0.0.1:1"), code: exitFailed, instead: line("status")},
	{about: "name of no crawl", args: []string{"status", "--crawl", "my docs"}, instead: line("status --crawl docs")},
}

// Whatever a newcomer types wrong, the message names something to type that works, and the exit
// code is that for wrong input.
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
			if want := cmp.Or(w.code, exitUsage); code != want {
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

// works fails unless what a message says can be typed and would be accepted.
func (w wrong) works(t *testing.T, said string) {
	t.Helper()
	for _, word := range w.instead {
		if named := slices.Contains(w.args, word) || strings.Contains(said, word); !named && !(w.loose && strings.Contains(word, "example.org")) && word != site && word != "DIR" {
			t.Errorf("it does not say %q: %s", word, said)
		}
	}
	for name := range w.env {
		os.Unsetenv(name) // t.Setenv sets it back
	}
	if err := typed(!w.loose, w.instead...); err != nil {
		t.Errorf("curtsy %s does not work: %v", strings.Join(w.instead, " "), err)
	}
	t.Log(said)
}

// A directory in which a crawl runs is not taken by another one.
func TestCrawlBesideAnother(t *testing.T) {
	dir := t.TempDir()
	lock, err := engine.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"crawl", me2, "--dir", dir, site}, strings.NewReader(""), &stdout, &stderr)
	if want := "curtsy stop --dir " + dir; code != exitFailed || !strings.Contains(stderr.String(), want) {
		t.Errorf("%d, %s", code, &stderr)
	}
	if err := typed(true, "stop", "--dir", filepath.Clean(dir)); err != nil {
		t.Error(err)
	}
}

// What other programs call a command leads to one of ours that there is.
func TestForeignCommands(t *testing.T) {
	for name := range strings.FieldsSeq("start fetch mirror runspider dry-run inject add stats info find list dump why tail server ui domains output data kill suspend unpause " +
		"configure delete rm recrawl solrindex warc lint robots keygen assistant tutorial") {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{name, site}, strings.NewReader(""), &stdout, &stderr)
		_, ours, found := strings.Cut(strings.TrimSpace(stderr.String()), "; use curtsy ")
		if code != exitUsage || !found {
			t.Errorf("%s: %d, %s", name, code, &stderr)
		} else if err := typed(false, append([]string{"help"}, strings.Fields(ours)...)...); err != nil {
			t.Errorf("%s: there is no curtsy %s: %v", name, ours, err)
		} else if got := help(t, append([]string{"help"}, strings.Fields(ours)...)...); !strings.Contains(got, "curtsy "+ours) {
			t.Errorf("%s: help for %s:\n%s", name, ours, got)
		}
	}
}
