package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/testaid"
)

// The README may not be longer.
const readmeLines, readmeWords = 120, 1200

// TestReadmeIsShort: a stranger reads it in a few minutes.
func TestReadmeIsShort(t *testing.T) {
	text := readmeText(t)
	if n := strings.Count(text, "\n"); n > readmeLines {
		t.Errorf("README.md has %d lines, want %d at most", n, readmeLines)
	}
	if n := len(strings.Fields(text)); n > readmeWords {
		t.Errorf("README.md has %d words, want %d at most", n, readmeWords)
	}
}

// readmeCommands is what TestReadme does with a command in the README, by its beginning. The first
// matching row counts.
var readmeCommands = []struct {
	begins string
	do     func(r *readme, line string)
}{
	// These need a network, root or Docker, or would run this test again. They are compared with
	// the repository. Tests with the build tag external run such commands:
	// TestExternalInstallDebian installs the package; TestExternalInstallDocker loads the image and
	// starts the compose file.
	{"sudo apt install ./curtsy_", compare("../../deploy/build-deb", `curtsy_\$`)},
	{"tar xzf curtsy_1.0.0-rc.1_", compare("../../internal/version/version.go", `Number = "1\.0\.0-rc\.1"`)},
	{"docker load -i curtsy_1.0.0-rc.1_", compare("../../deploy/release/main.go", `\.oci\.tar`)},
	{"go install github.com/curtsy/curtsy/cmd/curtsy@", compare("../../go.mod", `(?m)^module github\.com/curtsy/curtsy$`)},
	{"docker build -f deploy/Dockerfile ", compare("../../deploy/Dockerfile", `(?m)^FROM `)},
	{"docker-compose -f deploy/compose.yaml exec indexer curtsy ", compare("../../deploy/compose.yaml", `(?m)^  indexer:$`)},
	{"docker-compose -f deploy/compose.yaml ", compare("../../deploy/compose.yaml", `(?m)^services:$`)},
	{"go test ./...", compare("../../go.mod", `(?m)^module `)},
	// The demo runs in virtual time: TestVirtualScripts/demo.
	{"go run ./cmd/curtsy demo", compare("testdata/virtual/demo.txtar", `(?m)^exits 0 curtsy demo$`)},

	{"curtsy plan ", prints(`docs\.example\.org`)},
	{"curtsy crawl --dir docs --every ", (*readme).rounds},
	{"curtsy crawl ", prints(`\d pages? `)},
	{"curtsy search ", prints(`https://docs\.example\.org/start`)},
	{"curtsy explain ", prints(`robots`)},
	{"curtsy export pages --dir docs --format markdown > docs.jsonl", fills("docs.jsonl", `# Getting started`)},
	{"curtsy export pages > pages.jsonl", fills("pages.jsonl", `"https://docs\.example\.org/start"`)},
	{"curtsy export datasets --dir portal --format csv > catalogue.csv", fills("catalogue.csv", `Rivers`)},
	{"curtsy serve ", (*readme).serve},
	{"curtsy datasets get ", prints(`(?m)^done +.*rivers\.csv`)},
	{"curtsy datasets verify ", prints(`1 file `)},
	{"curtsy datasets ", prints(`Rivers`)},
	{"export CURTSY_NATS=", (*readme).cluster},
	{"curtsy frontier ", (*readme).daemon},
	{"curtsy fetcher", (*readme).daemon},
	{"curtsy indexer ", (*readme).daemon},
	{"curtsy seed ", prints(`submitted 1 URL`)},
	{"curtsy status", (*readme).status},
}

// TestReadme runs every command of README.md unchanged, in a shell. By settings in the environment,
// a site of this test replaces example.org, and its NATS server replaces n1.
func TestReadme(t *testing.T) {
	commands := shellCommands(readmeText(t))
	if len(commands) < 20 {
		t.Fatalf("only %d commands found: is the test looking at the page?", len(commands))
	}
	r := &readme{t: t, dir: t.TempDir()}
	r.settings()
	used := map[string]bool{}
	for _, line := range commands {
		i := slices.IndexFunc(readmeCommands, func(c struct {
			begins string
			do     func(r *readme, line string)
		}) bool {
			return strings.HasPrefix(line, c.begins)
		})
		if i < 0 {
			t.Errorf("README.md shows %q: add a row that runs it", line)
			continue
		}
		used[readmeCommands[i].begins] = true
		readmeCommands[i].do(r, line)
	}
	for _, c := range readmeCommands {
		if !used[c.begins] {
			t.Errorf("README.md shows no command %q", c.begins)
		}
	}
}

func readmeText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	shellBlock   = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	shellComment = regexp.MustCompile(`(^|\s+)# [^']*$`)
)

// shellCommands are the lines of a page's blocks of commands, without comments.
func shellCommands(page string) (commands []string) {
	for _, block := range shellBlock.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			if line = shellComment.ReplaceAllString(strings.TrimSpace(line), ""); line != "" {
				commands = append(commands, line)
			}
		}
	}
	return commands
}

func TestShellCommands(t *testing.T) {
	page := "text\n```sh\na 'b # c'  # d\n\n# e\nf > g\n```\n```yaml\nh: i\n```\n```sh\nj\n```\n"
	if got := shellCommands(page); !slices.Equal(got, []string{"a 'b # c'", "f > g", "j"}) {
		t.Errorf("got %q", got)
	}
}

// readme is what the commands of the README share.
type readme struct {
	t       *testing.T
	dir     string
	daemons []*exec.Cmd
}

// settings makes example.org lead to a site of this test, which may be requested without a delay.
func (r *readme) settings() {
	addr, ca := exampleSite(r.t)
	credentials := filepath.Join(r.dir, "credentials.yaml")
	for file, text := range map[string]string{
		filepath.Join(r.dir, "ca.pem"): ca,
		credentials:                    "sites:\n  https://docs.example.org: {ca: ca.pem}\n  https://data.example.org: {ca: ca.pem}\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"HOME": r.dir, "CURTSY_RESOLVE": "*.example.org=" + addr, "CURTSY_ALLOW_PRIVATE": "true", "CURTSY_DELAY": "0s",
		"CURTSY_CREDENTIALS": credentials, "CURTSY_LISTEN": "off", "CURTSY_SEARCH_LISTEN": "127.0.0.1:0",
		"CURTSY_LOG_LEVEL": "warn",
	} {
		r.t.Setenv(name, value)
	}
}

// shell is a command line as a user's shell runs it.
func (r *readme) shell(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = r.dir
	return cmd
}

// prints runs a command that ends, and whose output matches.
func prints(expr string) func(*readme, string) {
	match := regexp.MustCompile(expr)
	return func(r *readme, line string) {
		r.t.Helper()
		if out, err := r.shell(line).CombinedOutput(); err != nil || !match.Match(out) {
			r.t.Errorf("%s: %v, and it prints\n%swhich does not match %s", line, err, out, expr)
		}
	}
}

// fills runs a command that writes a file whose text matches.
func fills(file, expr string) func(*readme, string) {
	return func(r *readme, line string) {
		r.t.Helper()
		prints(``)(r, line)
		if text, err := os.ReadFile(filepath.Join(r.dir, file)); err != nil || !regexp.MustCompile(expr).Match(text) {
			r.t.Errorf("%s: %v, and %s is\n%s", line, err, file, text)
		}
	}
}

// compare does not run a command: a file of the repository must have what the command relies on.
func compare(file, expr string) func(*readme, string) {
	return func(r *readme, line string) {
		r.t.Helper()
		if text, err := os.ReadFile(file); err != nil || !regexp.MustCompile(expr).Match(text) {
			r.t.Errorf("%s: %v, or nothing in %s matches %s", line, err, file, expr)
		}
	}
}

// begin runs a command next to the test, which ends it, and returns its standard output.
func (r *readme) begin(line string) (cmd *exec.Cmd, out *bufio.Reader) {
	r.t.Helper()
	cmd = r.shell("exec " + line)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewReader(pipe)
}

// serve requests the search page that a command serves, and ends the command as ^C does.
func (r *readme) serve(line string) {
	cmd, out := r.begin(line)
	first, err := out.ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := http.Get(strings.TrimSpace(strings.TrimPrefix(first, "search: ")) + "?q=started")
	if err != nil {
		r.t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		r.t.Errorf("%s: the page at %q has status %d", line, first, resp.StatusCode)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		r.t.Errorf("%s: %v", line, err)
	}
}

// rounds waits until a crawl that never ends has done a round, and stops it.
func (r *readme) rounds(line string) {
	cmd, _ := r.begin(line)
	testaid.Until(r.t, "a round is over", func() bool {
		out, err := r.shell("curtsy status --dir docs").CombinedOutput()
		return err == nil && strings.Contains(string(out), "round")
	})
	prints(`stopped`)(r, "curtsy stop --dir docs")
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != app.ExitInterrupted {
		r.t.Errorf("%s: %v, want exit code %d", line, err, app.ExitInterrupted)
	}
}

// cluster starts a NATS server in the place of n1.
func (r *readme) cluster(line string) {
	server(r.t)
	for _, setting := range strings.Fields(line)[1:] {
		name, value, _ := strings.Cut(setting, "=")
		if name != "CURTSY_NATS" { // server has set it
			r.t.Setenv(name, value)
		}
	}
}

// daemon starts one of the parts of a crawl.
func (r *readme) daemon(line string) {
	cmd, _ := r.begin(line)
	r.daemons = append(r.daemons, cmd)
}

// status waits until the daemons have stored the site, and stops them.
func (r *readme) status(line string) {
	testaid.Until(r.t, line, func() bool {
		out, err := r.shell(line).CombinedOutput()
		return err == nil && regexp.MustCompile(`[1-9]\d* pages? stored|stored +[1-9]`).Match(out)
	})
	prints(`stopped`)(r, "curtsy stop")
	for _, cmd := range r.daemons {
		if err := cmd.Wait(); err != nil {
			r.t.Errorf("%s: %v", strings.Join(cmd.Args, " "), err)
		}
	}
}
