//go:build external

package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tinyProgram makes a folder with a program that has the name of ours and does nothing.
func tinyProgram(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	run(t, "install", "-D", "/bin/true", filepath.Join(dir, "curtsy"))
	return dir
}

// deb builds the Debian package in dir, with the program in bin, and returns its name.
func deb(t *testing.T, dir, version, bin, compress string) string {
	t.Helper()
	out, err := tryEnv(environ("BIN="+bin, "TOOL="+program(t, "curtsy"), "OUT="+dir, "COMPRESS="+compress, "VERSION="+version),
		filepath.Join(root, "deploy", "build-deb"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestExternalSmokeLintian checks a package with a tiny program with lintian: the real package
// takes minutes, and the only additional findings in it come from Go itself.
func TestExternalSmokeLintian(t *testing.T) {
	t.Parallel()
	run(t, "lintian", "--allow-root", "--fail-on", "error,warning", deb(t, t.TempDir(), "0.2.0", tinyProgram(t), "xz"))
}

// TestExternalDebian builds the Debian package from programs that are built already, and installs,
// upgrades, removes and purges it below a folder.
func TestExternalDebian(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := deb(t, dir, "0.1.0", filepath.Dir(program(t, "curtsy")), "none"), deb(t, dir, "0.2.0", tinyProgram(t), "none")

	// Below a folder, with scripts that respect DPKG_ROOT, and without the dependencies of the
	// package.
	under := filepath.Join(dir, "root")
	for _, d := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "etc"} {
		if err := os.MkdirAll(filepath.Join(under, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"var/lib/dpkg/status", "var/lib/dpkg/available"} {
		if err := os.WriteFile(filepath.Join(under, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := func(args ...string) {
		t.Helper()
		run(t, "dpkg", append([]string{"--root=" + under, "--force-script-chrootless", "--force-depends", "--force-not-root",
			"--force-confdef", "--force-confold", "--log=" + filepath.Join(dir, "log")}, args...)...)
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(under, name))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(under, name))
		return err == nil
	}
	dpkg("-i", first)
	if !strings.Contains(read("etc/passwd"), "\ncurtsy:") && !strings.HasPrefix(read("etc/passwd"), "curtsy:") {
		t.Error("there is no user curtsy")
	}
	for _, name := range []string{
		"usr/bin/curtsy", "usr/bin/rupd", "usr/bin/agenthost", "usr/lib/curtsy/frontier", "usr/lib/curtsy/fetcher", "usr/lib/curtsy/indexer", "usr/lib/curtsy/feeder", "usr/lib/curtsy/renderer",
		"lib/systemd/system/curtsy.target", "lib/systemd/system/curtsy-feeder@.service", "usr/share/man/man1/curtsy.1.gz", "usr/share/bash-completion/completions/curtsy",
		"usr/share/man/man1/rupd.1.gz", "usr/share/man/man1/agenthost.1.gz", "usr/share/zsh/vendor-completions/_curtsy", "usr/share/fish/vendor_completions.d/curtsy.fish",
		"etc/curtsy/curtsy.yaml", "etc/curtsy/crawl.yaml", "usr/share/doc/curtsy/examples/alerts.yml",
	} {
		if !has(name) {
			t.Errorf("the package has no %s", name)
		}
	}
	if has("etc/systemd/system/multi-user.target.wants") {
		t.Error("installing the package enables something")
	}
	manual, err := exec.Command("sh", "-c", "gzip -dc "+filepath.Join(under, "usr/share/man/man1/curtsy.1.gz")).Output()
	if err != nil || !strings.Contains(string(manual), "\n.B \"crawl\"\n") {
		t.Errorf("the manual does not tell of crawl: %v", err)
	}
	// The programs accept the settings that come with the package, and the command line of each
	// unit.
	run(t, filepath.Join(under, "usr/bin/curtsy"), "crawl", "--config", filepath.Join(under, "etc/curtsy/crawl.yaml"), "--dir", filepath.Join(dir, "none"), "--help")
	checkCommandLines(t, filepath.Join(under, "lib/systemd/system"), under)

	// What the operator has written stays.
	mine := filepath.Join(under, "etc/curtsy/curtsy.yaml")
	if err := os.WriteFile(mine, []byte("nats: nats://n1:4222\ncrawl: docs\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	pages := filepath.Join(under, "var/lib/curtsy/indexer/pages-0.db")
	if err := os.MkdirAll(filepath.Dir(pages), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pages, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	dpkg("-i", second)
	if text := read("etc/curtsy/curtsy.yaml"); !strings.Contains(text, "crawl: docs") {
		t.Errorf("an upgrade replaced the settings: %s", text)
	}
	dpkg("-r", "curtsy")
	if has("usr/bin/curtsy") || !has("etc/curtsy/curtsy.yaml") {
		t.Error("removing it leaves programs, or takes settings")
	}
	dpkg("-P", "curtsy")
	if has("etc/curtsy/curtsy.yaml") || read("var/lib/curtsy/indexer/pages-0.db") != "kept" {
		t.Error("purging it leaves settings, or takes pages")
	}
}

var execStart = regexp.MustCompile(`(?m)^ExecStart=(\S+) (.*)$`)

// checkCommandLines lets the programs below a folder parse the command lines of the units there.
func checkCommandLines(t *testing.T, units, under string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(units, "*.service"))
	if err != nil || len(files) != 6 {
		t.Fatalf("%d units (%v)", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := execStart.FindStringSubmatch(string(text))
		if m == nil {
			t.Errorf("%s starts nothing", file)
			continue
		}
		args := strings.Fields(m[2])
		last := "--version" // is printed after all flags were accepted
		if args[0] == "crawl" {
			last = "--help"
		}
		run(t, filepath.Join(under, m[1]), append(args, last)...)
	}
}
