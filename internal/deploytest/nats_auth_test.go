//go:build external

package deploytest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/queue"
)

// secured is a cluster of NATS servers with deploy's configuration for clusters, with TLS.
type secured struct {
	t     *testing.T
	dir   string // the output of deploy/make-credentials, and a file with the password of each role
	nodes []string
}

// startSecured starts three nodes.
func startSecured(t *testing.T) *secured {
	t.Helper()
	s := &secured{t: t, dir: t.TempDir()}
	run(t, filepath.Join(root, "deploy", "make-credentials"), s.dir, "127.0.0.1")
	env, err := os.ReadFile(filepath.Join(s.dir, ".env"))
	if err != nil {
		t.Fatal(err)
	}
	passwords := map[string]string{}
	for _, line := range strings.Fields(string(env)) {
		role, password, _ := strings.Cut(line, "_PASSWORD=")
		passwords[strings.ToLower(role)] = password
		if err := os.WriteFile(s.password(strings.ToLower(role)), []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	conf := map[string]string{}
	for _, name := range []string{"nats.cluster.conf", "nats.tls.conf"} {
		text, err := os.ReadFile(filepath.Join(root, "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		conf[name] = strings.ReplaceAll(string(text), "/etc/nats/", s.dir+"/")
	}
	if err := os.WriteFile(filepath.Join(s.dir, "nats.cluster.conf"), []byte("include .env\n"+conf["nats.cluster.conf"]), 0o600); err != nil {
		t.Fatal(err)
	}
	var routes []string
	ports := []int{freePort(t), freePort(t), freePort(t)}
	for _, p := range ports {
		routes = append(routes, fmt.Sprintf("nats://route:%s@127.0.0.1:%d", passwords["route"], p))
	}
	for i, p := range ports {
		name, client := fmt.Sprintf("nats-%d", i+1), freePort(t)
		file := filepath.Join(s.dir, name+".conf")
		own := strings.Replace(conf["nats.tls.conf"], "port: 6222", fmt.Sprintf(`listen: "127.0.0.1:%d"`, p), 1)
		if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
			t.Fatal(err)
		}
		start(t, name, "nats-server", "-c", file, "-sd", filepath.Join(s.dir, name), "-n", name,
			"--routes", strings.Join(routes, ","), "-a", "127.0.0.1", "-p", fmt.Sprint(client), "-m", fmt.Sprint(freePort(t)))
		s.nodes = append(s.nodes, fmt.Sprintf("tls://127.0.0.1:%d", client))
	}
	return s
}

func (s *secured) password(role string) string { return filepath.Join(s.dir, role+".password") }

// as returns the flags of a role.
func (s *secured) as(role string) []string {
	return []string{"--nats", strings.Join(s.nodes, ","), "--nats-replicas", "3", "--crawl", "demo",
		"--nats-user", role, "--nats-password-file", s.password(role), "--nats-ca", filepath.Join(s.dir, "ca.pem")}
}

// dial connects as a role.
func (s *secured) dial(role string) *queue.Conn {
	s.t.Helper()
	password, err := os.ReadFile(s.password(role))
	if err != nil {
		s.t.Fatal(err)
	}
	var q *queue.Conn
	testaid.Until(s.t, "the servers have found one another", func() bool {
		ctx, cancel := attempt(s.t)
		defer cancel()
		q, err = queue.Dial(ctx, queue.Options{
			URL: strings.Join(s.nodes, ","), User: role, Inbox: role, Password: strings.TrimSpace(string(password)), CAFile: filepath.Join(s.dir, "ca.pem"),
		}, slog.New(slog.DiscardHandler))
		return err == nil
	}, func() string { return err.Error() })
	s.t.Cleanup(func() { q.Close() })
	return q
}

// TestExternalNATSRoles crawls the web of the demo over TLS, with daemons that each have only the
// rights of their role, and checks that these rights are sufficient, and not larger than that.
func TestExternalNATSRoles(t *testing.T) {
	t.Parallel()
	srv, err := simweb.Start(simweb.Demo())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	s := startSecured(t)
	o := &observer{t: t, q: s.dial("operator"), spec: crawl.Spec{Name: "demo", Shards: 8}}

	logs := map[string]string{}
	daemon := func(role string, n int, args ...string) *process {
		name := fmt.Sprintf("%s-%d", role, n)
		p := start(t, name, role, slices.Concat(s.as(role), []string{"--instance", name, "--listen", "off"}, args)...)
		logs[name] = p.log
		return p
	}
	all := func(n int) {
		// And purge.
		daemon("frontier", n, "--dir", filepath.Join(t.TempDir(), "frontier"), "--checkpoint", "4KiB")
		daemon("fetcher", n)
		daemon("indexer", n, "--dir", filepath.Join(t.TempDir(), "indexer"), "--listen", "127.0.0.1:0")
	}
	all(1)
	fed := t.TempDir()
	daemon("feeder", 1, "--to", "file://"+fed+"?format=jsonl", "--dir", filepath.Join(t.TempDir(), "feeder"))
	run(t, program(t, "curtsy"), slices.Concat([]string{"seed", "--shards", "8", "--allow-private", "--delay", "100ms",
		"--resolve", srv.Resolve()}, s.as("operator"), srv.Seeds()[:1])...)
	o.underWay(1)
	all(2) // to which shards move, by checkpoints and copies
	o.holds("frontier", "frontier-2")
	o.holds("home", "indexer-2")
	o.done()
	o.checkDemo(s.as("operator"))
	for _, name := range []string{"indexer-1", "indexer-2"} {
		searchedWhole(t, logs[name])
	}
	o.fedWhole(fed)

	for role, forbidden := range map[string][]request{
		"fetcher": {
			putKV("frontier.0"), putKV("indexer.0"), putKV("home.0"), putKV("spec"), putKV("budget"), purge("demo-EVENTS-0"), purge("demo-PAGES"),
			api("STREAM.DELETE.demo-EVENTS-0"), api("STREAM.UPDATE.demo-PAGES"), api("STREAM.DELETE.KV_demo-CRAWL"), api("STREAM.CREATE.other"),
			api("CONSUMER.CREATE.demo-EVENTS-0.x"), api("CONSUMER.CREATE.demo-PAGES.x"), {"$KV.demo-MEMBERS.frontier.x", ""}, {"demo.control", "stop"},
			{"$O.demo-CHECKPOINTS.C.x", "x"}, putKV("updates-secret"), {"$KV.demo-SECRET.updates-secret", "x"}, api("STREAM.MSG.GET.KV_demo-SECRET"),
			api("CONSUMER.CREATE.KV_demo-SECRET.x"), api("STREAM.CREATE.KV_demo-SECRET"),
			api("STREAM.UPDATE.KV_CURTSY_HOSTS"), api("STREAM.UPDATE.KV_demo-CRAWL"),
		},
		"frontier": {
			putKV("indexer.0"), putKV("home.0"), putKV("spec"), purge("demo-PAGES"), purge("KV_demo-CRAWL"), api("STREAM.DELETE.demo-EVENTS-0"),
			api("CONSUMER.CREATE.demo-PAGES.x"), api("CONSUMER.DELETE.demo-PAGES.x"), {"$KV.demo-MEMBERS.indexer.x", ""}, {"demo.control", "stop"},
			{"$KV.CURTSY_HOSTS.h.a.example", "x"},
		},
		"indexer": {
			putKV("frontier.0"), putKV("spec"), putKV("budget"), purge("demo-EVENTS-0"), purge("demo-PAGES"), api("STREAM.DELETE.demo-EVENTS-0"),
			api("STREAM.DELETE.OBJ_demo-CHECKPOINTS"), {"$O.demo-CHECKPOINTS.M.x", "x"}, {"$KV.demo-MEMBERS.frontier.x", ""}, {"demo.take.frontier-1", "x"}, {"demo.control", "stop"},
			{"$KV.demo-SECRET.updates-secret", "x"}, api("STREAM.MSG.GET.KV_demo-SECRET"), api("CONSUMER.CREATE.KV_demo-SECRET.x"),
			{"$KV.CURTSY_HOSTS.h.a.example", "x"},
		},
		"feeder": {
			putKV("frontier.0"), putKV("home.0"), putKV("spec"), {"demo.q.feed-forget", "{}"}, {"demo.q.page", "{}"}, {"demo.pages.0", "x"}, {"demo.events.0", "x"},
			api("CONSUMER.CREATE.demo-PAGES.x"), api("STREAM.UPDATE.KV_demo-CRAWL"), api("STREAM.MSG.GET.KV_demo-SECRET"), {"demo.control", "stop"},
		},
		"operator": {
			putKV("frontier.0"), putKV("indexer.0"), {"demo.pages.0", "x"}, {"$KV.demo-SECRET.updates-secret", "x"},
			api("STREAM.MSG.GET.KV_demo-SECRET"), api("CONSUMER.CREATE.KV_demo-SECRET.x"),
		},
	} {
		s.refused(role, forbidden)
	}
	for role, others := range map[string][]string{
		"fetcher": {"frontier", "indexer", "operator"}, "feeder": {"frontier", "indexer", "operator"}, "frontier": {"fetcher", "indexer", "operator"}, "indexer": {"fetcher", "frontier", "operator"},
	} {
		s.deaf(role, append(others, ">")...)
	}
	// What is used only for mirrors, reports or downloads of datasets.
	for role, used := range map[string][]request{
		"frontier": {{"demo.pages.0", "x"}, {"$KV.demo-SECRET.updates-secret", "0123456789abcdef"}, putKV("updates-secret"), api("STREAM.MSG.GET.KV_demo-SECRET")},
		"indexer":  {{"demo.pages.0", "x"}},
		"operator": {{"demo.take.nobody", ""}, {"demo.renew.nobody", ""}, {"demo.robots.nobody", ""}, {"$KV.CURTSY_HOSTS.h.a.example", "{}"}},
	} {
		s.granted(role, used)
	}
	for name, file := range logs {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(strings.ToLower(line), "permissions violation") {
				t.Errorf("%s lacks a right: %s", name, line)
			}
		}
	}
}

var adminPort = regexp.MustCompile(`"admin port open".*"url":"([^"]+)"`)

// searchedWhole checks that the HTTP server of an indexer answers for all indexers: no shard is
// missing in a search, and a page that no indexer has is reported as missing.
func searchedWhole(t *testing.T, log string) {
	t.Helper()
	text, err := os.ReadFile(log)
	m := adminPort.FindSubmatch(text)
	if err != nil || m == nil {
		t.Fatalf("no admin port in %s: %v", log, err)
	}
	for path, want := range map[string]int{"api/v1/search?q=quiet": http.StatusOK, "api/v1/pages?url=http://nowhere.example/": http.StatusNotFound} {
		resp, err := http.Get(string(m[1]) + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != want || resp.Header.Get("Curtsy-Incomplete") != "" || want == http.StatusOK && !strings.Contains(string(body), ".sim.test/") {
			t.Errorf("%s: %s %s, %v", path, resp.Status, body, err)
		}
	}
}

// fedWhole waits until a folder has all pages of the crawl that are stored.
func (o *observer) fedWhole(dir string) {
	o.t.Helper()
	id := regexp.MustCompile(`"id":"([0-9a-f]{64})"`)
	o.until("that the feed has all stored pages", func(ctx context.Context) (crawl.Status, bool, error) {
		st, err := asker.Status(ctx, o.q, o.spec)
		pages := map[string]bool{}
		files, _ := filepath.Glob(filepath.Join(dir, "part-*"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return st, false, nil // a part that is being replaced
			}
			for _, m := range id.FindAllStringSubmatch(string(text), -1) {
				pages[m[1]] = true
			}
		}
		return st, st.Stored > 0 && int64(len(pages)) >= st.Stored, err
	})
}

// holds waits until the record of some shard of a kind names an instance.
func (o *observer) holds(kind, instance string) {
	o.t.Helper()
	o.until("that a "+kind+" record names "+instance, func(ctx context.Context) (st crawl.Status, ok bool, err error) {
		kv, err := o.q.JS.KeyValue(ctx, crawl.Names(o.spec.Name).Bucket())
		for shard := 0; err == nil && !ok && shard < o.spec.Shards; shard++ {
			var e jetstream.KeyValueEntry
			if e, err = kv.Get(ctx, fmt.Sprintf("%s.%d", kind, shard)); err == nil {
				ok = strings.Contains(string(e.Value()), fmt.Sprintf("%q", instance))
			}
		}
		return st, ok, err
	})
}

// request is a request to the server.
type request struct{ subject, data string }

func api(call string) request { return request{"$JS.API." + call, "{}"} }

func purge(stream string) request { return api("STREAM.PURGE." + stream) }

func putKV(key string) request { return request{"$KV.demo-CRAWL." + key, "{}"} }

// granted makes requests as a role, which the server must accept.
func (s *secured) granted(role string, requests []request) {
	s.t.Helper()
	q := s.dial(role)
	violations := make(chan string, len(requests))
	q.NC.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err.Error() })
	for _, r := range requests {
		if err := errors.Join(q.NC.Publish(r.subject, []byte(r.data)), q.NC.Flush()); err != nil {
			s.t.Fatal(err)
		}
	}
	select {
	case v := <-violations:
		s.t.Errorf("%s lacks a right: %s", role, v)
	case <-time.After(200 * time.Millisecond):
		// after the answer to Flush: a violation would have arrived before it
	}
}

// deaf subscribes as a role to answers that others receive, which the server must refuse.
func (s *secured) deaf(role string, others ...string) {
	s.t.Helper()
	q := s.dial(role)
	violations := make(chan string, len(others))
	q.NC.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err.Error() })
	for _, other := range others {
		subject := "_INBOX.>"
		if other != ">" {
			subject = "_INBOX." + other + ".>"
		}
		if _, err := q.NC.SubscribeSync(subject); err != nil {
			s.t.Fatal(err)
		}
		if err := q.NC.Flush(); err != nil {
			s.t.Fatal(err)
		}
		if v := testaid.Receive(s.t, role+" is refused "+subject, violations); !strings.Contains(v, fmt.Sprintf("%q", subject)) {
			s.t.Errorf("%s subscribes to %s, and the error is: %s", role, subject, v)
		}
	}
}

// refused makes requests as a role, which the server must refuse, each by its subject.
func (s *secured) refused(role string, requests []request) {
	t := s.t
	t.Helper()
	q := s.dial(role)
	violations := make(chan string, 2*len(requests))
	q.NC.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			violations <- err.Error()
		}
	})
	for _, r := range requests {
		if err := q.NC.PublishRequest(r.subject, q.NC.NewInbox(), []byte(r.data)); err != nil {
			t.Fatal(err)
		}
		if err := q.NC.Flush(); err != nil {
			t.Fatal(err)
		}
		if v := testaid.Receive(t, role+" is refused "+r.subject, violations); !strings.Contains(v, fmt.Sprintf("%q", r.subject)) {
			t.Errorf("%s publishes to %s, and the error is: %s", role, r.subject, v)
		}
	}
}

// TestExternalNATSRefusals: with a wrong password or none, or without trust in the certificate of
// the servers, a program reports what to check, and does not wait for ever.
func TestExternalNATSRefusals(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	s.dial("operator") // from now on they answer
	other := t.TempDir()
	run(t, filepath.Join(root, "deploy", "make-credentials"), other, "127.0.0.1")
	const user, password, ca = "--nats-user", "--nats-password-file", "--nats-ca"
	credentials, authority := []string{"refuses the credentials", "--nats-password-file"}, []string{"unknown CA", "--nats-ca"}
	for _, c := range []struct {
		what        string
		flag, value string // "": without the flag
		want        []string
	}{
		{"another's password", password, s.password("route"), credentials},
		{"unknown user", user, "nobody", credentials},
		{"no user", user, "", credentials},
		{"another CA", ca, filepath.Join(other, "ca.pem"), authority},
		{"no CA", ca, "", authority},
		{"no such file", ca, filepath.Join(other, "none.pem"), []string{"none.pem", "no such file"}},
	} {
		for _, role := range []string{"fetcher", "frontier", "indexer", "operator"} {
			args := s.as(role)
			i := slices.Index(args, c.flag)
			args[i+1] = c.value
			if c.value == "" {
				args = slices.Delete(args, i, i+2)
			}
			bin, more := role, []string{"--listen", "off"}
			switch role {
			case "operator":
				bin, more = "curtsy", []string{"status"}
			case "frontier", "indexer":
				more = append(more, "--dir", t.TempDir())
			}
			_, err := try(program(t, bin), append(more, args...)...)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("%s with %s: %v", role, c.what, err)
				continue
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%s with %s: the error does not say %q: %v", role, c.what, w, err)
				}
			}
		}
	}
}
