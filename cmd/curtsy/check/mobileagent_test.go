package check

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/spf13/cobra"
)

// fict is the site of the draft's examples.
func fict(t testing.TB) mobileSite {
	t.Helper()
	u, err := canon.Parse("http://www.fict.org/")
	if err != nil {
		t.Fatal(err)
	}
	return mobileSite{origin: u.Origin(), token: "curtsy"}
}

func mobileText(lines ...string) []byte {
	return []byte("Mobile-agent-server: " + strings.Join(lines, "\nMobile-agent-server: ") + "\n")
}

// One row for each line of a file: what decides about it, and whether a robot is sent.
func TestMobileLines(t *testing.T) {
	for _, c := range []struct {
		about string
		file  []byte
		want  []string // path, overridden by, except, subtree, part of why or remark
	}{
		{"example 1 of the draft", mobileText("/ none", "/dir1 atp://www.fict.org:544", "/dir1/dir2 atp://www.fict.org:543"), []string{
			"/ 0 [/dir1 /dir1/dir2]  keeps robots away",
			"/dir1 0 [/dir1/dir2] /dir1/ /dir1a",
			"/dir1/dir2 0 [] /dir1/dir2/ /dir1/dir2a",
		}},
		{"example 2 of the draft", mobileText("/ atp://www.fict.org:8001", "/home/ none", "/home/user1/ atp://user1.fict.org:854", "/home/user2/ atp://user2.fict.org:831"), []string{
			"/ 0 [/home/ /home/user1/ /home/user2/] / ",
			"/home/ 0 [/home/user1/ /home/user2/]  keeps robots away",
			"/home/user1/ 0 [] /home/user1/ ",
			"/home/user2/ 0 [] /home/user2/ ",
		}},
		{"later lines", mobileText("/a/b/ atp://www.fict.org:1", "/a/ atp://www.fict.org:2", "/ none"), []string{
			"/a/b/ 2 []  line 2 comes later", "/a/ 3 []  line 3 comes later", "/ 0 []  keeps robots away",
		}},
		{"the same line twice", mobileText("/ atp://www.fict.org:1", "/ atp://www.fict.org:1"), []string{"/ 2 []  line 2 comes later", "/ 0 [] / "}},
		{"a line that has only paths without a robot left", mobileText("/a atp://www.fict.org:1", "/a/ none"), []string{
			"/a 0 [/a/]  line 2 comes later and is for these", "/a/ 0 []  keeps robots away",
		}},
		{"other protocols", mobileText("/ http://www.fict.org:80", "/a/ atps://www.fict.org"), []string{"/ 0 [/a/]  atp:// or atps://", "/a/ 0 [] /a/ "}},
		{"other domains", mobileText("/ atp://www.other.org:1", "/a/ atp://listed.org:2", "/b/ atp://port.org:3", "/c/ atp://port.org:4"), []string{
			"/ 0 [/a/ /b/ /c/]  --mobile-robots-server www.other.org:1", "/a/ 0 [] /a/ ", "/b/ 0 [] /b/ ", "/c/ 0 []  --mobile-robots-server port.org:4",
		}},
		{"paths in other spellings", mobileText("/%7Euser/ atp://www.fict.org:1", "/a/../b/ atp://www.fict.org:1", "docs/ atp://www.fict.org:1"), []string{
			"/%7Euser/ 0 [] /~user/ ", "/a/../b/ 0 []  write /b/", "/docs/ 0 [] /docs/ ",
		}},
		{"rules for access", append(mobileText("/ atp://www.fict.org:1", "/x/ atp://www.fict.org:2"), "User-agent: *\nDisallow: /x/"...), []string{
			"/ 0 [/x/] / ", "/x/ 0 [] /x/ line 4 (Disallow: /x/) closes /x/ to curtsy",
		}},
		{"one server for all", mobileText("/ atp://www.fict.org:1", "/home/ none", "/home/user/ atp://www.fict.org:1"), []string{
			"/ 0 [/home/ /home/user/] / ", "/home/ 0 [/home/user/]  keeps robots away", "/home/user/ 0 [] /home/user/ the robot of line 1 reads it too",
		}},
		{"no wildcards", mobileText("/*.html atp://www.fict.org:1"), []string{"/*.html 0 [] /*.html/ ordinary characters"}},
		{"nothing", []byte("User-agent: *\nDisallow:\n"), nil},
	} {
		s := fict(t)
		s.servers = []string{"listed.org", "port.org:3"}
		got := s.lines(robots.Parse(c.file))
		if len(got) != len(c.want) {
			t.Errorf("%s: %d lines, want %d", c.about, len(got), len(c.want))
			continue
		}
		for i, l := range got {
			begin := fmt.Sprintf("%s %d %v %s ", l.Path, l.OverriddenBy, l.Except, l.Subtree)
			part, ok := strings.CutPrefix(c.want[i], begin)
			if !ok || part == "" && l.Why+l.Remark != "" || !strings.Contains(l.Why+l.Remark, part) || (l.Subtree == "") == (l.Why == "") {
				t.Errorf("%s: %s%q %q, want %q", c.about, begin, l.Why, l.Remark, c.want[i])
			}
		}
	}
}

// A line that is no Mobile-agent-server line has another one beside it that is.
func TestMobileMalformed(t *testing.T) {
	for line, want := range map[string]string{
		"Mobile-agent-server: atp://www.fict.org:1":                "/ atp://www.fict.org:1",
		"Mobile-agent-server: /docs/":                              "/docs/ atp://www.fict.org:10434",
		"Mobile-agent-server:":                                     "/ atp://www.fict.org:10434",
		"Mobile-agent-server: /docs/ robots.fict.org":              "/docs/ atp://robots.fict.org:10434",
		"Mobile-agent-server: /docs/ robots.fict.org:544":          "/docs/ atp://robots.fict.org:544",
		"Mobile-agent-server: /docs/ atp:/robots.fict.org":         "/docs/ atp://robots.fict.org:10434",
		"Mobile-agent-server: /docs/ ATPS://robots.fict.org:7/":    "/docs/ atps://robots.fict.org:7",
		"Mobile-agent-server: /docs/ atp://me:x@robots.fict.org/p": "/docs/ atp://robots.fict.org:10434",
		"Mobile-agent-server: /docs/ atp://robots.fict.org:70000":  "/docs/ atp://robots.fict.org:10434",
		"Mobile-agent-server: /docs/ atp://[::1]:80":               "/docs/ atp://www.fict.org:10434",
		"Mobile-agent-server: /docs/?x atp://robots.fict.org:5":    "/docs/ atp://robots.fict.org:5",
		"Mobile-agent-server: /docs/ atp://robots.fict.org:5 now":  "/docs/ atp://robots.fict.org:5",
		"Mobile-agent-server: /docs/ none none":                    "/docs/ none",
		"mobile-agent-server : robots.fict.org:5":                  "/ atp://robots.fict.org:5",
		"Mobile-Agents-Server: /docs/ atp://robots.fict.org:5 # x": "/docs/ atp://robots.fict.org:5",
		"mobile_agent_server: /docs/ atp://robots.fict.org:5":      "/docs/ atp://robots.fict.org:5",
		"Mobile-agent: / none":                                     "/ none",
		"Mobile-agent-server: /docs/ atp://robots.fict.org:5":      "",
		"User-agent: mobile-agent-server":                          "",
		"# Mobile-agents-server: / none":                           "",
	} {
		body := []byte("User-agent: *\r\n\r" + line + "\n")
		got := fict(t).malformed(robots.Parse(body), body)
		switch {
		case want == "" && len(got) == 0:
		case want == "" || len(got) != 1:
			t.Errorf("%q: %+v", line, got)
		case got[0].Line != 3 || got[0].Instead != "Mobile-agent-server: "+want || got[0].Reason == "":
			t.Errorf("%q: %+v, want %q", line, got[0], want)
		}
	}
}

// As many lines are reported as the diagnostics of a robots.txt have, and what is behind its limit
// is no line.
func TestMobileMalformedLimits(t *testing.T) {
	for _, c := range []struct {
		body string
		want int
	}{
		{strings.Repeat("Mobile-agent: /\n", robots.MaxDiagnostics), robots.MaxDiagnostics},
		{strings.Repeat("Mobile-agent: /\n", robots.MaxDiagnostics+1), robots.MaxDiagnostics},
		{strings.Repeat("#\n", (robots.MaxBytes-16)/2) + "Mobile-agent: /\n", 1},
		{strings.Repeat("#\n", robots.MaxBytes/2) + "Mobile-agent: /\n", 0},
	} {
		if got := fict(t).malformed(robots.Parse([]byte(c.body)), []byte(c.body)); len(got) != c.want {
			t.Errorf("%d bytes: %d lines, want %d", len(c.body), len(got), c.want)
		}
	}
}

// What is proposed is a good line, whatever the file has.
func FuzzMobileAgent(f *testing.F) {
	f.Add([]byte("Mobile-agent-server: /docs/ atp:/robots.fict.org\nMobile-agents: x\n"))
	f.Add(mobileText("/ none", "/dir1 atp://www.fict.org:544", "/%7e/../ a://b"))
	f.Add([]byte("Mobile-agent-server: /\xff atp://\xff:1@:2\rMobile_agent_server:?"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := fict(t)
		file := robots.Parse(body)
		for _, m := range s.malformed(file, body) {
			again := robots.Parse([]byte(m.Instead))
			if len(again.AgentServers()) != 1 || len(again.Diagnostics) > 0 {
				t.Errorf("%q: write %q, which is no line", m.Text, m.Instead)
			}
			if target := again.AgentServers()[0].Target; target != "" && s.refuses(target) != "" && !strings.Contains(s.refuses(target), "--mobile-robots-server") {
				t.Errorf("%q: write %q, to which no robot can be sent", m.Text, m.Instead)
			}
		}
		lines := s.lines(file)
		if len(lines) != len(file.AgentServers()) {
			t.Fatalf("%d of %d lines", len(lines), len(file.AgentServers()))
		}
		for i, l := range lines {
			at := slices.IndexFunc(lines, func(o mobileLine) bool { return o.Line == l.OverriddenBy })
			if l.OverriddenBy > 0 && at <= i || l.Subtree != "" && (l.OverriddenBy > 0 || l.Server == nil || l.Why != "") {
				t.Errorf("%+v", l)
			}
			// A line that is never used is one that no URL finds.
			target, _ := file.AgentServer(l.Path)
			if l.OverriddenBy == 0 && l.Server != nil && target != *l.Server {
				t.Errorf("%+v: %q decides for its path", l, target)
			}
		}
	})
}

// connected runs check mobile-agent on the network of the test.
func connected(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := app.New(strings.NewReader(""), &out, &errs)
	a.Dial = simnet.Of(t).Dial
	root := &cobra.Command{Use: "curtsy"}
	root.AddCommand(Commands(a)...)
	cli.Dress(root)
	code = a.Run(t.Context(), root, append([]string{"check", "mobile-agent"}, args...))
	return code, out.String(), errs.String()
}

// With --connect each server is asked once for a run that does not exist, after the delay if it is
// the host of the site, and never at an address that may not be reached.
func TestMobileConnect(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		var asked []string
		var at []time.Time
		serve := func(status int) string {
			l, err := simnet.Of(t).Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s := &atp.Server{Handler: atp.HandlerFunc(func(_ context.Context, _ *atp.ResponseWriter, r *atp.Request) error {
				asked, at = append(asked, fmt.Sprint(status, " ", r.Method)), append(at, time.Now())
				if !atp.ValidAgentID(r.Header.Get(atp.AgentID)) {
					t.Errorf("Agent-Id %q", r.Header.Get(atp.AgentID))
				}
				return &atp.StatusError{Status: status}
			})}
			done := make(chan struct{})
			ctx, stop := context.WithCancel(t.Context())
			go func() { defer close(done); _ = s.Serve(ctx, l) }()
			t.Cleanup(func() { stop(); <-done })
			_, port, _ := strings.Cut(l.Addr().String(), ":")
			return port
		}
		good, busy := serve(404), serve(503)
		file := "Mobile-agent-server: / atp://a.test:" + good + "\nMobile-agent-server: /again/ atp://a.test:" + good + "\nMobile-agent-server: /busy/ atp://a.test:" + busy + "\nUser-agent: *\nCrawl-delay: 5"
		var readAt time.Time
		web := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked, readAt = append(asked, r.URL.Path), time.Now()
			fmt.Fprintln(w, file)
		}))
		_, port, _ := strings.Cut(strings.TrimPrefix(web.URL, "http://"), ":")
		site := "http://a.test:" + port + "/x"
		to := []string{"--resolve", "a.test=127.0.0.1"}

		code, out, errs := connected(t, append(to, "--allow-private", "--connect", site)...)
		if code != 0 || !strings.Contains(out, "answers with 404\n") || !strings.Contains(out, "answers with 503: it answers, but not with 404") || !strings.Contains(out, site+": line 1, a robot may read it at") {
			t.Errorf("%d %s %s", code, out, errs)
		}
		if got := strings.Join(asked, ", "); got != "/robots.txt, 404 MESSAGE, 503 MESSAGE" {
			t.Errorf("asked: %s", got)
		}
		if len(at) == 2 && (at[0].Sub(readAt) < 5*time.Second || at[1].Sub(at[0]) < 5*time.Second) {
			t.Errorf("asked after %v and %v", at[0].Sub(readAt), at[1].Sub(at[0]))
		}

		asked, file = nil, "Mobile-agent-server: / atp://a.test:1\nMobile-agent-server: /far/ atp://b.test:"+good
		code, out, errs = connected(t, append(to, "--allow-private", "--connect", "--json", site)...)
		if code != 1 || !strings.Contains(out, `"servers":[{"server":"atp://a.test:1","answers":false,"status":0,"why":"`) || strings.Contains(strings.Join(asked, " "), "MESSAGE") {
			t.Errorf("%d %s %s %v", code, out, errs, asked)
		}
		asked = nil
		if code, _, errs = connected(t, append(to, "--connect", "--contact", "me@example.org", site)...); code != 1 || !strings.Contains(errs, "--allow-private") || len(asked) > 0 {
			t.Errorf("%d %s %v", code, errs, asked)
		}
	})
}
