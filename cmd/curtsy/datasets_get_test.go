package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

const (
	getDelay   = 100 * time.Millisecond
	pieceBytes = 8 << 20
)

// largeRows make a dataset of some 25 MB: four pieces.
const largeRows = 1_000_000

// dataWeb is a web of one host with a dataset of so many rows, and one that its robots.txt closes.
func dataWeb(t *testing.T, pages, rows int, latency time.Duration) *simweb.Server {
	t.Helper()
	web := startWeb(t, simweb.Config{Hosts: 1, PagesPerHost: pages, Behaviors: map[int]simweb.Behavior{0: {
		Robots: simweb.RobotsCustom, RobotsText: "User-agent: *\nDisallow: /data/iris.csv\n",
		Disallow: func(path, _ string) bool { return strings.HasPrefix(path, "/data/iris.csv") },
		Features: []simweb.Feature{simweb.FeatureDataYAML}, DataRows: rows, Latency: latency,
	}}})
	return web
}

// idOf is the ID by which the catalogue lists the dataset with a name.
func idOf(t *testing.T, data, name string) string {
	t.Helper()
	for line := range strings.Lines(curtsy(t, 0, "datasets", "--dir", data, "--json")) {
		var d crawl.DatasetInfo
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		if d.Name == name {
			return d.ID
		}
	}
	t.Fatalf("no dataset %s is listed", name)
	return ""
}

// rivers are the large dataset, and the requests for it in a log.
func rivers(t *testing.T, web *simweb.Server) (d simweb.Dataset, asked []requestlog.Request) {
	t.Helper()
	all := web.Datasets()
	d = all[slices.IndexFunc(all, func(d simweb.Dataset) bool { return d.Name == "rivers" })]
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range web.Log() {
		if q.Path == u.Path {
			asked = append(asked, q)
		}
	}
	return d, asked
}

// begin starts curtsy as a process of its own.
func begin(t *testing.T, args ...string) (cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	out = new(bytes.Buffer)
	cmd = exec.Command("curtsy", args...) // TestMain puts it into the path
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), "CURTSY_LISTEN=off")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait() // or it has ended already
		if t.Failed() {
			t.Logf("curtsy %s:\n%s", args[0], out)
		}
	})
	return cmd, out
}

// impolite fails the test for everything about which a webmaster could complain.
func impolite(t *testing.T, web *simweb.Server) {
	t.Helper()
	for i, v := range requestlog.Check(web.Log(), requestlog.CheckOptions{
		Delay: requestlog.Every(getDelay), Token: "curtsy", UserAgent: func(ua string) bool { return strings.HasPrefix(ua, "curtsy/") },
	}) {
		if i < 5 {
			t.Error(v)
		}
	}
	for _, q := range web.Log() {
		if strings.HasPrefix(q.Path, "/data/iris.csv") {
			t.Errorf("%s was asked for, which robots.txt forbids", q.Path)
		}
	}
}

// verified fails the test unless the directory has the large dataset exactly as the origin has it.
func verified(t *testing.T, out string, d simweb.Dataset) {
	t.Helper()
	sum := exec.Command("sha256sum", "-c", "--strict", "SHA256SUMS")
	sum.Dir = out
	said, err := sum.CombinedOutput()
	if err != nil || string(said) != "rivers.csv: OK\n" {
		t.Errorf("sha256sum -c: %v\n%s", err, said)
	}
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil || string(sums) != d.SHA256+"  rivers.csv\n" {
		t.Errorf("SHA256SUMS: %q, %v; the origin's is %s", sums, err, d.SHA256)
	}
	pack, err := os.ReadFile(filepath.Join(out, "datapackage.json"))
	if err != nil {
		t.Fatal(err)
	}
	// Our own reader accepts it as a Data Package.
	claims, err := catalog.ReadJSON(pack, catalog.Document{URL: "http://k.example/datapackage.json"})
	if err != nil || len(claims) != 1 || claims[0].License != d.License || claims[0].Title != d.Title || len(claims[0].Files) != 1 ||
		claims[0].Files[0].SHA256 != d.SHA256 || *claims[0].Files[0].Bytes != int64(d.Bytes) {
		t.Errorf("read back: %+v, %v", claims, err)
	}
	curtsy(t, 0, "datasets", "verify", out)
}

// A download that is killed again and again continues where it was, and the result is the complete
// file.
func TestDatasetsGetKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("gets 30 MB, slowly")
	}
	t.Parallel()
	web := dataWeb(t, 3, largeRows, 300*time.Millisecond)
	data, out := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "out")
	curtsy(t, 0, "crawl", "--listen", "off", "--dir", data, "--allow-private", "--delay", getDelay.String(), "--resolve", web.Resolve(), web.Seeds()[0])
	get := []string{"datasets", "get", "--data", data, "--dir", out, idOf(t, data, "rivers")}

	const kills = 2
	begins := []int{} // which request was the first of each run
	for range kills {
		_, before := rivers(t, web)
		cmd, said := begin(t, get...)
		await(t, "a piece to be there, and the next to be asked for", func() bool {
			_, asked := rivers(t, web)
			return len(asked) >= len(before)+2
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
			t.Fatalf("it was over before it was killed: %v\n%s", err, said)
		}
		begins = append(begins, len(before))
		if _, err := os.Stat(filepath.Join(out, "rivers.csv")); err == nil {
			t.Fatal("the file has its name already")
		}
		if got := curtsyFails(t, "datasets", "verify", out); !strings.Contains(got, "no dataset was downloaded into it") {
			t.Errorf("verify in the middle: %s", got)
		}
	}
	_, before := rivers(t, web)
	begins = append(begins, len(before))
	if got := curtsy(t, 0, get...); !strings.Contains(got, "done") || !strings.Contains(got, "rivers.csv") {
		t.Errorf("the last run says %s", got)
	}
	d, asked := rivers(t, web)
	verified(t, out, d)
	impolite(t, web)
	for run, i := range begins {
		// Each earlier run has brought at least one piece, and perhaps some of the next.
		var from int
		if fmt.Sscanf(asked[i].Range, "bytes=%d-", &from); from < run*pieceBytes || run == 0 && from > 0 {
			t.Errorf("run %d began with %q", run+1, asked[i].Range)
		}
	}
	sent := int64(0)
	for _, q := range asked {
		sent += q.Bytes
	}
	if most := int64(d.Bytes) + kills*pieceBytes + 64<<10; sent > most {
		t.Errorf("%d bytes were sent for a file of %d", sent, d.Bytes)
	}
	t.Logf("%d requests brought %d bytes for a file of %d, killed %d times", len(asked), sent, d.Bytes, kills)

	// A repetition requests nothing. A closed dataset is not requested either. Both are reported.
	n := len(web.Log())
	if got := curtsy(t, 0, append(get, "--json")...); !strings.Contains(got, `"outcome":"had"`) {
		t.Errorf("again: %s", got)
	}
	iris := idOf(t, data, "iris.csv")
	if got := curtsy(t, 1, "datasets", "get", "--data", data, "--dir", out, iris[:6]); !strings.Contains(got, "refused") || !strings.Contains(got, "line 2: Disallow: /data/iris.csv") {
		t.Errorf("a closed one: %s", got)
	}
	for _, q := range web.Log()[n:] {
		if !q.Robots {
			t.Errorf("%s was asked for", q.Path)
		}
	}
	if err := os.WriteFile(filepath.Join(out, "rivers.csv"), []byte("id\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := curtsy(t, 1, "datasets", "verify", "--json", out); !strings.Contains(got, `"problem":"changed"`) || !strings.Contains(got, `"ok":false`) {
		t.Errorf("verify after a change: %s", got)
	}
	if got := curtsy(t, 1, get...); !strings.Contains(got, "remove it") {
		t.Errorf("get after a change: %s", got)
	}
}

// curtsyFails runs a command that must end with exit code 1, and returns its standard error.
func curtsyFails(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := runs(t, t.Context(), args, strings.NewReader(""), &out, &errs); code != app.ExitFailed {
		t.Errorf("curtsy %s: exit code %d\n%s%s", strings.Join(args, " "), code, &out, &errs)
	}
	return errs.String()
}

// A download next to a running crawl shares its hosts with it. When the crawl ends, the download
// continues alone.
func TestDatasetsGetBesideACrawlThatStops(t *testing.T) {
	virtual(t, func(t *testing.T) {
		besideACrawl(t, func(crawl ...string) (end func()) {
			stop := start(t, crawl...)
			return func() {
				if code := stop(); code != app.ExitInterrupted {
					t.Fatalf("the crawl was over before it was ended, with %d", code)
				}
			}
		})
	})
}

// It also continues when the crawl is killed, but never while an earlier request may still be
// running.
func TestDatasetsGetBesideACrawlThatIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a lease")
	}
	t.Parallel()
	besideACrawl(t, func(crawl ...string) (end func()) {
		cmd, said := begin(t, crawl...)
		return func() {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if cmd.Wait(); cmd.ProcessState.ExitCode() == 0 {
				t.Fatalf("the crawl was over before it was ended\n%s", said)
			}
		}
	})
}

// besideACrawl downloads a dataset while a crawl runs that begin starts and that ends in between.
func besideACrawl(t *testing.T, begin func(crawl ...string) (end func())) {
	web := dataWeb(t, 2000, largeRows, 20*time.Millisecond)
	data, out := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "out")
	end := begin("crawl", "--dir", data, "--allow-private", "--delay", getDelay.String(), "--resolve", web.Resolve(), web.Seeds()[0])
	await(t, "the datasets to be known", func() bool {
		var list, errs bytes.Buffer
		return runs(t, t.Context(), []string{"datasets", "--dir", data}, nil, &list, &errs) == 0 && strings.Contains(list.String(), "rivers")
	})
	id := idOf(t, data, "rivers")
	got := make(chan string, 1)
	go func() {
		var stdout, stderr bytes.Buffer
		code := runs(t, t.Context(), []string{"datasets", "get", "--data", data, "--dir", out, id}, nil, &stdout, &stderr)
		got <- fmt.Sprintf("%d %s%s", code, &stdout, &stderr)
	}()
	await(t, "two pieces", func() bool {
		_, asked := rivers(t, web)
		return len(asked) >= 3
	})
	end()
	if s := <-got; !strings.HasPrefix(s, "0 ") || !strings.Contains(s, "done") {
		t.Fatalf("datasets get: %s", s)
	}
	d, asked := rivers(t, web)
	verified(t, out, d)
	impolite(t, web)
	between := 0
	for _, q := range web.Log() {
		if q.Start.After(asked[0].Start) && q.Start.Before(asked[len(asked)-1].Start) && !strings.HasPrefix(q.Path, "/data/") {
			between++
		}
	}
	if between == 0 {
		t.Error("no page came between two pieces")
	}
	t.Logf("%d pieces, %d pages between them", len(asked), between)
}

// Over NATS, next to daemons, only the directory of the files is needed. A paused crawl is
// reported.
func TestDatasetsGetOverNATS(t *testing.T) {
	virtual(t, func(t *testing.T) {
		server(t)
		web := dataWeb(t, 2000, 1000, 0)
		out := filepath.Join(t.TempDir(), "out")
		start(t, "crawl", "--crawl", "d", "--dir", filepath.Join(t.TempDir(), "data"), "--allow-private", "--delay", getDelay.String(), "--resolve", web.Resolve(), web.Seeds()[0])
		await(t, "the datasets to be known", func() bool {
			var list, errs bytes.Buffer
			return runs(t, t.Context(), []string{"datasets", "--crawl", "d"}, nil, &list, &errs) == 0 && strings.Contains(list.String(), "rivers")
		})
		var id string
		for line := range strings.Lines(curtsy(t, 0, "datasets", "--crawl", "d")) {
			if strings.Contains(line, "rivers") {
				id = strings.Fields(line)[0]
			}
		}
		get := []string{"datasets", "get", "--crawl", "d", "--dir", out, id}
		curtsy(t, 0, "pause", "--crawl", "d")
		if got := curtsyFails(t, get...); !strings.Contains(got, "curtsy resume") {
			t.Errorf("paused: %s", got)
		}
		curtsy(t, 0, "resume", "--crawl", "d")
		if got := curtsy(t, 0, get...); !strings.Contains(got, "done") {
			t.Errorf("%s", got)
		}
		d, _ := rivers(t, web)
		verified(t, out, d)
		impolite(t, web)
	})
}

// If a data.txt forbids fetches of datasets, they are not requested, whichever page links to them
// and wherever a redirect leads.
func TestDatasetsClosedByDataTxt(t *testing.T) {
	virtual(t, func(t *testing.T) {
		web := startWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 2, Mix: func(int) simweb.Behavior {
			return simweb.Behavior{Features: []simweb.Feature{simweb.FeatureDataRecords}}
		}})
		home := web.Seeds()[0]
		ld := func(name, path string) string {
			return `<script type="application/ld+json">{"@context": "https://schema.org/", "@type": "Dataset", "name": "` + name +
				`", "description": "Told of by a page.", "distribution": {"@type": "DataDownload", "contentUrl": "` + path + `"}}</script>`
		}
		web.Override(home, &simweb.Answer{Body: "<html><head>" + ld("shut", "/data/closed.csv") + ld("moved", "/moved.csv") + ld("open", "/open.csv") + "</head><body>x</body></html>"})
		web.Override(home+"moved.csv", &simweb.Answer{Status: 302, Header: []string{"Location: /data/closed.csv"}})
		web.Override(home+"open.csv", &simweb.Answer{ContentType: "text/csv", Body: "id\n1\n"})
		data, out := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "out")
		curtsy(t, 0, "crawl", "--listen", "off", "--dir", data, "--allow-private", "--delay", "0s", "--resolve", web.Resolve(), home)
		get := []string{"datasets", "get", "--data", data, "--dir", out, idOf(t, data, "closed.csv"), idOf(t, data, "moved.csv"), idOf(t, data, "open.csv")}
		said := curtsy(t, 1, get...)
		if strings.Count(said, "/data.txt line 6 closes "+home+"data/closed.csv to us") != 2 || !strings.Contains(said, "done") {
			t.Errorf("%s", said)
		}
		for _, q := range web.Log() {
			if q.Path == "/data/closed.csv" {
				t.Error("it was asked for")
			}
		}
	})
}

// All datasets, or those with some words, are downloaded into a folder each, and the command prints
// first what is known about them. get and verify find a byte that has changed, and verify --repair
// downloads that file again, and no other.
func TestDatasetsGetAll(t *testing.T) {
	virtual(t, func(t *testing.T) {
		web := startWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 1, Behaviors: map[int]simweb.Behavior{0: {
			Robots: simweb.RobotsNone, Features: []simweb.Feature{simweb.FeatureOpenData},
		}}})
		data, out := t.TempDir()+"/data", t.TempDir()+"/out"
		curtsy(t, 0, "crawl", "--dir", data, "--allow-private", "--resolve", web.Resolve(), "--delay", "20ms", "--listen", "off", web.Seeds()[0])
		all := web.Datasets()
		get := func(code int, args ...string) string {
			t.Helper()
			var said, errs bytes.Buffer
			args = append([]string{"datasets", "get", "--data", data, "--dir", out}, args...)
			if got := runs(t, t.Context(), args, strings.NewReader(""), &said, &errs); got != code {
				t.Errorf("curtsy %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &said, &errs)
			}
			return errs.String()
		}
		if said := get(2, "--match", "no such word"); !strings.Contains(said, "no dataset") {
			t.Errorf("nothing matches: %s", said)
		}
		get(2, "--all", "3f2a")
		get(2, "--all", "--match", "rain")
		if said := get(0, "--match", "rain DAY"); !strings.Contains(said, "1 dataset with 1 file: ") || !strings.Contains(said, "1 text/csv") {
			t.Errorf("before: %s", said)
		}
		if said := get(0, "--all"); !strings.Contains(said, fmt.Sprintf("%d datasets with %[1]d files: ", len(all))) || !strings.Contains(said, "1 had") {
			t.Errorf("all: %s", said)
		}
		folders, err := filepath.Glob(out + "/*/SHA256SUMS")
		if err != nil || len(folders) != len(all) {
			t.Fatalf("%q (%v), want a folder for each of %d", folders, err, len(all))
		}
		curtsy(t, 0, "datasets", "verify", out)
		rain, err := filepath.Glob(out + "/rain-by-day-*/rain.csv")
		if err != nil || len(rain) != 1 {
			t.Fatal(rain, err)
		}
		b, err := os.ReadFile(rain[0])
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Clone(b)
		b[len(b)/2] ^= 1
		if err := os.WriteFile(rain[0], b, 0o644); err != nil {
			t.Fatal(err)
		}
		before := len(web.Log())
		if said := curtsy(t, 1, "datasets", "get", "--data", data, "--dir", out, "--all"); !strings.Contains(said, "its content differs from the file") {
			t.Errorf("get says of a changed byte:\n%s", said)
		}
		curtsy(t, 1, "datasets", "verify", out)
		curtsy(t, app.ExitUsage, "datasets", "verify", "--repair", "--json", "--data", data, out)
		curtsy(t, 0, "datasets", "verify", "--repair", "--data", data, out)
		if got, err := os.ReadFile(rain[0]); err != nil || !bytes.Equal(got, want) {
			t.Errorf("not repaired: %v", err)
		}
		for _, q := range web.Log()[before:] {
			if q.Path != "/open/rain.csv" && q.Path != "/robots.txt" {
				t.Errorf("%s was asked for", q.Path)
			}
		}
		if said := curtsy(t, 1, "datasets", "verify", out); !strings.Contains(said, "rain.csv.mismatch") || !strings.Contains(said, "a repair replaced it") {
			t.Errorf("what was set aside is not said:\n%s", said)
		}
	})
}
