//go:build external

package deploytest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/testaid"
)

// The tests whose names begin with TestExternalSmoke try each program that Curtsy works with once
// and briefly: .ci/run runs them for every change. All others here are for `make external`.

// TestExternalSmokeDocker starts the compose file of deploy, with an image of programs that are
// built already, and checks that the demo is crawled and searched.
func TestExternalSmokeDocker(t *testing.T) {
	t.Parallel()
	const name = image + "-smoke"
	// Like the end of deploy/Dockerfile.
	scratchImage(t, name, `COPY links/ /bin/
COPY --chown=65532:65532 empty /data
COPY --chown=65532:65532 empty /tmp
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/bin/curtsy"]
`, program(t, "curtsy"))
	c := compose(t, "compose.yaml", []string{"IMAGE=" + name, "NATS_IMAGE=" + name})
	nats := fmt.Sprintf("nats://127.0.0.1:%d", c.ports[0])
	o := observe(t, nats, "demo")
	o.until("30 pages of the demo are stored", func(ctx context.Context) (crawl.Status, bool, error) {
		st, err := asker.Status(ctx, o.q, o.spec)
		return st, st.Stored >= 30, err
	})
	c.healthy()
	if out, err := c.try("exec", "-T", "indexer", "curtsy", "status"); err != nil || !strings.Contains(string(out), "stored") {
		t.Errorf("status inside a container: %s%v", out, err)
	}
	c.stop()
}

// scratchImage makes an image of programs of this machine, with the libraries that they are linked
// to, and with more lines in its Dockerfile, which may copy the folders empty and links; links has
// the other names of curtsy.
func scratchImage(t *testing.T, name, more string, programs ...string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	links := filepath.Join(dir, "links")
	if err := os.Mkdir(links, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "go", "run", "./deploy/release", "-links", links)
	recipe := "FROM scratch\n"
	add := func(file, as string) {
		base := filepath.Base(file)
		run(t, "cp", "-L", file, filepath.Join(dir, base))
		recipe += fmt.Sprintf("COPY %s %s\n", base, as)
	}
	library := regexp.MustCompile(`(/\S+) \(0x`)
	var seen []string
	for _, file := range programs {
		add(file, "/bin/")
		linked, err := try("ldd", file)
		if err != nil && !strings.Contains(err.Error(), "not a dynamic executable") {
			t.Fatal(err)
		}
		for _, m := range library.FindAllStringSubmatch(string(linked), -1) {
			if !slices.Contains(seen, m[1]) {
				seen = append(seen, m[1])
				add(m[1], m[1])
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(recipe+more), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "docker", "build", "-q", "-t", name, dir)
}

// TestExternalSmokeSite serves a site with nginx and rupd, and registers a robot there.
func TestExternalSmokeSite(t *testing.T) {
	t.Parallel()
	mails := make(chan []byte, 100)
	s := startSite(t, startSink(t, mails), nil)
	if body := s.get("/rupinfo.txt"); !strings.Contains(body, "RUP-CGI: /rup\n") {
		t.Errorf("rupinfo.txt: %q", body)
	}
	s.ask("Action", "Register", "RobotEmail", "robot@crawler.example", "Latency", "2-day")
	if mail := testaid.Receive(t, "the mail that asks the address comes through exim", mails); !strings.Contains(string(mail), "RUP-Confirm:") {
		t.Errorf("the mail is\n%s", mail)
	}
}

// TestExternalSmokeMail sends a mail with swaks through exim.
func TestExternalSmokeMail(t *testing.T) {
	t.Parallel()
	mails := make(chan []byte, 1)
	relay := startExim(t, startSink(t, mails))
	run(t, "swaks", "--server", relay, "--to", "robot@crawler.example", "--from", "webmaster@site.example", "--header", "Subject: Update", "--body", "quiet harbour")
	if mail := testaid.Receive(t, "the mail comes through exim", mails); !strings.Contains(string(mail), "quiet harbour") {
		t.Errorf("the mail is\n%s", mail)
	}
}

// TestExternalSmokeCredentials makes the certificates of a NATS cluster with openssl, and connects
// to it with the password of a role; the password of another role is refused.
func TestExternalSmokeCredentials(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	s.dial("operator")
	args := append(s.as("operator"), "--nats-password-file", s.password("route"))
	if out, err := try(program(t, "curtsy"), append([]string{"status"}, args...)...); err == nil || !strings.Contains(err.Error(), "refuses the credentials") {
		t.Errorf("with another's password: %s%v", out, err)
	}
}

// TestExternalSmokeNamespaces makes two machines in network namespaces, one of which is cut off for
// a while.
func TestExternalSmokeNamespaces(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	server, client := l.machine("server", bus), l.machine("client", bus)
	server.start("nats-server", "-a", server.addr(bus), "-p", "4222")
	reaches := func() bool { return client.reaches(server.addr(bus) + ":4222") }
	testaid.Until(t, "the server answers", reaches)
	server.cut(bus)
	if reaches() {
		t.Error("a machine that is cut off can be reached")
	}
	server.heal(bus)
	testaid.Until(t, "the server answers again", reaches)
}
