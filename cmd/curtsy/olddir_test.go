package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
	"github.com/curtsy/curtsy/pkg/rup"
)

// Commit 46b061c wrote the data directory in oldArchive. It was killed in the middle of a crawl of
// oldWeb. The README next to it describes how it was made and what is in it.
const (
	oldArchive = "testdata/olddir/46b061c.tar.gz"
	oldDelay   = 60 * time.Millisecond
)

// oldWeb serves the web of the crawl in the directory. It must not change unless the archive is
// made again.
func oldWeb(t *testing.T, logFile string) *simweb.Server {
	t.Helper()
	web := startWeb(t, simweb.Config{
		Seed: 11, Hosts: 8, PagesPerHost: 6, PageBytes: 700, LinksPerPage: 5, CrossLinks: 2, LogFile: logFile,
		Behaviors: map[int]simweb.Behavior{
			0: {Robots: simweb.RobotsAllowAll, Pages: 12},
			1: {Robots: simweb.RobotsSubtree, Features: []simweb.Feature{simweb.FeatureRedirects}},
			2: simweb.Everything(),
			3: {Robots: simweb.RobotsNone, Features: []simweb.Feature{simweb.FeatureFlapping, simweb.FeatureStatuses}},
			4: {Robots: simweb.RobotsAgent, Features: []simweb.Feature{simweb.FeatureOpenData}},
			5: {Robots: simweb.RobotsMirror, Peer: 2},
			6: {Robots: simweb.RobotsRedirect, Peer: 1, Features: []simweb.Feature{simweb.FeatureTypes}},
			7: {Robots: simweb.RobotsRedirectChain, Features: []simweb.Feature{simweb.FeatureSitemapPlace}},
		},
	})
	// The first host reports its changes.
	site, err := rup.NewServer(rup.ServerOptions{
		Info: &rup.Info{CGI: "/rup", Latency: []rup.Unit{rup.Day}, MaxQuerySpan: rup.Span{N: 1, Unit: rup.Month}},
		Base: web.Seeds()[0], Store: new(rup.MemoryStore), Index: noChanges{}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	web.Handle(web.Seeds()[0]+"rupinfo.txt", func(method, _ string) simweb.Answer {
		rec := httptest.NewRecorder()
		site.ServeInfo(rec, httptest.NewRequest(method, "/rupinfo.txt", nil))
		return simweb.Answer{Status: rec.Code, ContentType: "text/plain", Body: rec.Body.String()}
	})
	web.Handle(web.Seeds()[0]+"rup", func(method, form string) simweb.Answer {
		rec, r := httptest.NewRecorder(), httptest.NewRequest(method, "/rup", strings.NewReader(form))
		r.Header.Set("Content-Type", rup.FormType)
		site.ServeHTTP(rec, r)
		return simweb.Answer{Status: rec.Code, ContentType: rec.Header().Get("Content-Type"), Body: rec.Body.String()}
	})
	return web
}

// noChanges is the log of a site on which nothing changes.
type noChanges struct{}

func (noChanges) Changes(context.Context, time.Time, func(rup.Entry) error) error { return nil }

// oldCrawl are the arguments that start the crawl in the directory or resume it.
func oldCrawl(web *simweb.Server, dir string) []string {
	return []string{"crawl", "--dir", dir, "--allow-private", "--delay", oldDelay.String(), "--hold-max", "3s", "--resolve", web.Resolve(), "--listen", "off"}
}

// The commands can read a directory that commit 46b061c left when it was killed, while no crawl
// runs in it.
func TestOldDirectoryGoesOn(t *testing.T) {
	virtual(t, func(t *testing.T) {
		dir, oldLog := unpackOld(t)
		copied, _ := unpackOld(t)
		settled, ahead := toldInLog(t, copied)
		if len(settled) < 20 || ahead == 0 {
			t.Fatalf("%d URLs are settled, %d events are not applied: the archive is not what it was", len(settled), ahead)
		}
		for _, args := range [][]string{
			{"status"}, {"hosts"}, {"pages"}, {"mirrors"}, {"updates"}, {"datasets"}, {"search", "page"},
			{"explain", "http://h0000.sim.test/"}, {"timeline", "h0000.sim.test"},
		} {
			curtsy(t, app.ExitOK, append(args, "--dir", dir)...)
		}

		web := oldWeb(t, "")
		began := time.Now()
		curtsy(t, app.ExitOK, append(oldCrawl(web, dir), "--recrawl=false")...)
		first := map[string]bool{}
		for _, q := range web.Log() {
			u := "http://" + q.Host + q.Path
			if what, ok := settled[u]; ok {
				t.Errorf("%s was %s, and is asked for once more", u, what)
			}
			if !first[q.Host] && q.Start.Before(began.Add(oldDelay)) {
				t.Errorf("%s was asked for %v after the start", u, q.Start.Sub(began))
			}
			first[q.Host] = true
		}
		for _, v := range requestlog.Check(append(oldLog, web.Log()...), requestlog.CheckOptions{
			Token: "curtsy", Delay: requestlog.Every(oldDelay), UserAgent: func(ua string) bool { return strings.HasPrefix(ua, "curtsy/") },
		}) {
			t.Error(v)
		}

		fresh := filepath.Join(t.TempDir(), "data")
		web = oldWeb(t, "")
		curtsy(t, app.ExitOK, append(append(oldCrawl(web, fresh), "--shards", "2"), web.Seeds()...)...)
		got, want := whatCameOf(t, dir), whatCameOf(t, fresh)
		for _, line := range got {
			if !slices.Contains(want, line) {
				t.Errorf("the old directory says, and an undisturbed crawl does not: %s", line)
			}
		}
		for _, line := range want {
			if !slices.Contains(got, line) {
				t.Errorf("an undisturbed crawl says, and the old directory does not: %s", line)
			}
		}
		if len(want) < 100 {
			t.Errorf("only %d lines are compared", len(want))
		}
	})
}

// whatCameOf returns, one a line, what the commands print about a crawl that is done. It leaves out
// what depends on the order in which pages were fetched, and on the age of the directory.
func whatCameOf(t *testing.T, dir string) (lines []string) {
	t.Helper()
	add := func(kind string, v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, kind+" "+string(b))
	}
	jsonLines(t, []string{"pages", "--dir", dir}, func(p crawl.PageInfo) {
		p.FetchedAt, p.Depth, p.FoundOn = time.Time{}, 0, nil
		add("page", p)
	})
	jsonLines(t, []string{"status", "--dir", dir}, func(s crawl.Status) {
		add("status", []any{s.Discovered, s.Queued, s.InFlight, s.Stored, s.Redirected, s.Refused, s.Failed, s.ByReason, s.Hosts, s.State})
	})
	jsonLines(t, []string{"mirrors", "--dir", dir}, func(m crawl.MirrorInfo) { add("mirror", []string{m.Origin, m.Main, m.State, m.Evidence}) })
	jsonLines(t, []string{"datasets", "--dir", dir}, func(d crawl.DatasetInfo) {
		if d.Form == "" { // what a data.txt tells of ends a while after the file's lifetime
			add("dataset", []any{d.ID, d.Name, d.Title, d.URLs, d.Allowed})
		}
	})
	jsonLines(t, []string{"hosts", "--dir", dir}, func(h crawl.HostInfo) {
		// A robots.txt is read again when it is a day old, but only if something is to be fetched.
		for i := range h.Robots {
			r := &h.Robots[i]
			r.FetchedAt, r.State, r.Status = nil, "", 0
		}
		if h.MirrorOf != nil {
			h.Sitemaps = nil // whether they are read depends on when the mirror is found
		}
		for i := range h.Sitemaps {
			h.Sitemaps[i].ReadAt = nil
		}
		add("host", []any{h.Host, h.Queued, h.DelayS, h.Robots, h.MirrorOf, h.AgentServers, h.Sitemaps})
	})
	jsonLines(t, []string{"search", "--dir", dir, "--limit", "100", "page"}, func(h crawl.Hit) { add("hit", h.URL) })
	seen := map[string]bool{}
	rd, err := engine.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	b, err := os.ReadFile(filepath.Join(dir, "crawl.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for raw := range bytes.Lines(b) {
		var l struct{ URL, Audit string }
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatalf("crawl log: %v: %s", err, raw)
		}
		if seen[l.URL] || l.Audit != "" { // as what it was taken up with
			continue
		}
		seen[l.URL] = true
		x, err := rd.Explain(t.Context(), l.URL)
		if err != nil {
			t.Fatal(err)
		}
		if x.Reason == string(crawl.ReasonMirror) {
			continue // whether it is in the crawl log depends on when the mirror is found
		}
		add("url", []any{x.URL, x.State, x.Reason, x.Status})
	}
	return lines
}

// jsonLines calls each with what a command prints with --json.
func jsonLines[T any](t *testing.T, args []string, each func(T)) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(curtsy(t, app.ExitOK, append(args, "--json")...))); ; {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("curtsy %s: %v", strings.Join(args, " "), err)
		}
		each(v)
	}
}

// unpackOld unpacks the archive: the data directory, and the requests that its web saw until the
// process was killed.
func unpackOld(t *testing.T) (dir string, log []requestlog.Request) {
	t.Helper()
	f, err := os.Open(oldArchive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(path, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if log, err = requestlog.Read(filepath.Join(to, "requests.jsonl")); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(to, "data")
	sameBoot(t, dir)
	return dir, log
}

// sameBoot marks the frontier's files as written since this machine was booted. After a reboot, a
// shard rightly fetches again what it fetched in the last seconds; here only the process was
// killed.
func sameBoot(t *testing.T, dir string) {
	t.Helper()
	boot, err := json.Marshal(store.BootID())
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "frontier-*.db"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		db, err := bolt.Open(f, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bolt.Tx) error {
			meta, key := tx.Bucket([]byte("meta")), []byte("state")
			var state map[string]json.RawMessage
			if err := json.Unmarshal(meta.Get(key), &state); err != nil {
				return err
			}
			if state["boot_id"] == nil {
				return errors.New("no boot_id in it")
			}
			state["boot_id"] = boot
			v, err := json.Marshal(state)
			if err != nil {
				return err
			}
			return meta.Put(key, v)
		})
		if err := cmp.Or(err, db.Close()); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
	}
}

// toldInLog reads the event logs in a directory. It returns the URLs whose outcome is in them, with
// their class, and how many events the frontier's files had not applied yet. It starts a server in
// the directory, so it gets a copy.
func toldInLog(t *testing.T, dir string) (settled map[string]string, ahead uint64) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	srv, err := embedded.Start(embedded.Options{Dir: filepath.Join(dir, "nats"), Log: log, MaxStore: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Shutdown()
	q, err := queue.Dial(t.Context(), queue.Options{InProcess: srv.InProcess(), User: srv.User(), Password: srv.Password()}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	rd, err := engine.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	st, err := rd.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	settled = map[string]string{}
	names := crawl.Names("default")
	for _, s := range st.Shards {
		stream, err := q.JS.Stream(t.Context(), names.EventsStream(s.Shard))
		if err != nil {
			t.Fatal(err)
		}
		info, err := stream.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ahead += info.State.LastSeq - s.Applied
		for seq := max(info.State.FirstSeq, 1); seq <= info.State.LastSeq; seq++ {
			m, err := stream.GetMsg(t.Context(), seq)
			if err != nil {
				t.Fatal(err)
			}
			ev, err := crawl.DecodeEvent(m.Data)
			if err != nil {
				t.Fatal(err)
			}
			if ev.Outcome == nil {
				continue
			}
			for _, r := range ev.Outcome.Results {
				if r.Class != crawl.Retry && r.Class != crawl.Returned {
					settled[string(r.URL)] = r.Class.String()
				}
			}
		}
	}
	return settled, ahead
}

// TestMakeOldDirectory makes the archive again with the curtsy that OLD_CURTSY names: see the
// README next to it.
func TestMakeOldDirectory(t *testing.T) {
	old := os.Getenv("OLD_CURTSY")
	if old == "" {
		t.Skip("OLD_CURTSY names no curtsy")
	}
	for try := range 200 {
		work := t.TempDir()
		dir := filepath.Join(work, "data")
		web := oldWeb(t, filepath.Join(work, "requests.jsonl"))
		cmd := exec.Command(old, append(append(oldCrawl(web, dir), "--shards", "2", "--recrawl"), web.Seeds()...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "some requests", func() bool { return len(web.Log()) >= 60+3*(try%40) })
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		web.Close()
		has := underWay(t, dir)
		examined := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(examined, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		settled, ahead := toldInLog(t, examined)
		t.Logf("%d settled, %d events ahead, %v", len(settled), ahead, has)
		if len(settled) < 40 || ahead == 0 || slices.ContainsFunc(
			[]string{"queue", "later", "errands", "outbox", "again", "rup", "sitemaps", "nested"}, func(b string) bool { return has[b] == 0 }) {
			continue
		}
		if out, err := exec.Command("tar", "--sparse", "--owner=0", "--group=0", "-C", work, "-cf", work+"/a.tar", "data", "requests.jsonl").CombinedOutput(); err != nil {
			t.Fatalf("tar: %v: %s", err, out)
		}
		b, err := os.ReadFile(work + "/a.tar")
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err == nil {
			_, err = z.Write(b)
		}
		if err := cmp.Or(err, z.Close(), os.WriteFile(oldArchive, packed.Bytes(), 0o666)); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s: %d bytes; %d URLs settled, %d events not applied, %v\n", oldArchive, packed.Len(), len(settled), ahead, has)
		return
	}
	t.Fatal("it was never killed with everything under way")
}

// underWay counts what is in each bucket of the frontier's files.
func underWay(t *testing.T, dir string) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "frontier-*.db"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	has := map[string]int{}
	for _, f := range files {
		db, err := bolt.Open(f, 0o600, &bolt.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		err = db.View(func(tx *bolt.Tx) error {
			return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
				if n := b.Stats().KeyN; n > 0 {
					has[string(name)] += n
				}
				return nil
			})
		})
		if err := cmp.Or(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return has
}
