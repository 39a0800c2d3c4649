//go:build external

package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/testaid"
)

// stopwatch logs how long each step of a new user takes.
type stopwatch struct {
	t    *testing.T
	what string
	all  time.Duration
}

func (s *stopwatch) step(name string, do func()) {
	s.t.Helper()
	began := time.Now()
	do()
	took := time.Since(began)
	s.all += took
	s.t.Logf("%s: %-32s %6.1f s, %6.1f s in all", s.what, name, took.Seconds(), s.all.Seconds())
}

// released builds the release for Linux and this processor and returns its folder. If the variable
// DIST names a folder, the release was built there before the tests.
func released(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("DIST"); dir != "" {
		return dir
	}
	dir := filepath.Join(t.TempDir(), "dist")
	run(t, "go", "run", "./deploy/release", "-dirty", "-targets", "linux/"+goarch(t), "-out", dir)
	return dir
}

func goarch(t *testing.T) string { return strings.TrimSpace(string(run(t, "go", "env", "GOARCH"))) }

// only returns the one file of a folder that matches a pattern.
func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %q, %v", pattern, files, err)
	}
	return files[0]
}

// firstHit is the first line of the result of a search.
var firstHit = regexp.MustCompile(`(?m)^1\. .*harbor`)

// TestExternalInstallDebian makes a minimal Debian root without a network, installs the package in
// it, crawls the web of the demo and searches it.
func TestExternalInstallDebian(t *testing.T) {
	if _, err := exec.LookPath("debootstrap"); err != nil {
		t.Fatal("debootstrap is missing: apt-get install debootstrap")
	}
	dist := released(t)
	under := filepath.Join(t.TempDir(), "root")
	run(t, "debootstrap", "--variant=minbase", "bookworm", under)
	run(t, "cp", only(t, dist, "*.deb"), filepath.Join(under, "root"))
	in := func(args ...string) string {
		t.Helper()
		// A separate network with only loopback: nothing from outside is needed.
		return string(run(t, "unshare", append([]string{"--net", "--mount", "--pid", "--fork", "sh", "-ec",
			`ip link set lo up; root=$1; shift; mount -t proc proc "$root/proc"; exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"`, "sh", under}, args...)...))
	}
	watch := stopwatch{t: t, what: "Debian"}
	watch.step("dpkg -i curtsy.deb", func() { in("sh", "-c", "dpkg -i /root/curtsy_*.deb") })
	var output string
	watch.step("curtsy demo --dir /root/demo", func() { output = in("curtsy", "demo", "--dir", "/root/demo") })
	if !firstHit.MatchString(output) {
		t.Errorf("the demo finds nothing:\n%s", output)
	}
	watch.step("curtsy search", func() { output = in("curtsy", "search", "--dir", "/root/demo", "quiet harbor") })
	if !firstHit.MatchString(output) {
		t.Errorf("search finds nothing:\n%s", output)
	}
	if output := in("rupd", "--version"); !strings.HasPrefix(output, "rupd 1.") {
		t.Errorf("rupd prints %q", output)
	}
	if output := in("/usr/lib/curtsy/frontier", "--version"); !strings.HasPrefix(output, "frontier 1.") {
		t.Errorf("frontier prints %q", output)
	}
	kib, err := strconv.Atoi(strings.TrimSpace(in("dpkg-query", "-W", "-f", "${Installed-Size}", "curtsy")))
	if err != nil || kib > 60<<10 {
		t.Errorf("the package takes %d KiB (%v), more than 60 MiB", kib, err)
	}
	t.Logf("installed: %d KiB", kib)
}

// TestExternalInstallDocker loads the image of the release, runs the demo in it, and starts the
// compose file with it: the image has the programs under all their names, and the NATS server.
func TestExternalInstallDocker(t *testing.T) {
	dist := released(t)
	file := only(t, dist, "*.oci.tar")
	watch := stopwatch{t: t, what: "Docker"}
	var tag string
	watch.step("docker load", func() {
		out := string(run(t, "docker", "load", "-i", file))
		m := regexp.MustCompile(`Loaded image: (curtsy:1\S+)`).FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("docker load printed %q", out)
		}
		tag = m[1]
	})
	t.Cleanup(func() { run(t, "docker", "image", "rm", tag, "curtsy:latest") })
	var output string
	watch.step("docker run curtsy demo", func() { output = string(run(t, "docker", "run", "--rm", "--network", "none", "curtsy", "demo")) })
	if !firstHit.MatchString(output) {
		t.Errorf("the demo finds nothing:\n%s", output)
	}
	watch.what, watch.all = "Compose", 0
	var c *composition
	watch.step("docker-compose up -d", func() { c = compose(t, "compose.yaml", []string{"IMAGE=" + tag, "NATS_IMAGE=" + tag}) })
	watch.step("first search result", func() {
		testaid.Until(t, "a search finds a page", func() bool {
			out, _ := c.try("exec", "-T", "indexer", "curtsy", "search", "harbor")
			return strings.Contains(string(out), "1. ")
		}, func() string { return ps(c.project) })
	})
	layers := string(run(t, "docker", "image", "inspect", "-f", "{{len .RootFS.Layers}} {{.Config.User}} {{.Size}}", tag))
	if !strings.HasPrefix(layers, "1 65532:65532 ") {
		t.Errorf("layers, user and size are %s", layers)
	}
	t.Logf("layers, user and size: %s", layers)
	c.stop()
}

// TestExternalReleaseTwice builds the release for one system twice and compares the files.
func TestExternalReleaseTwice(t *testing.T) {
	out, err := tryEnv(environ("CACHE=shared"), filepath.Join(root, "deploy", "release-check"), "-dirty", "-targets", "linux/"+goarch(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", out)
}
