package download

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// sent is a request that the server received.
type sent struct{ Host, Path, Range, IfRange string }

// site serves all hosts, and records the requests. It is also a Visit and a Getter: a visit is one
// request to one host.
type site struct {
	t      *testing.T
	h      http.HandlerFunc
	srv    *httptest.Server
	client http.Transport

	mu     sync.Mutex
	log    []sent
	visits map[canon.Host]int // visits that are running
	refuse map[canon.URL]error
}

// newSite makes a site on the test's network.
func newSite(t *testing.T, h http.HandlerFunc) *site { return newSiteOn(t, simnet.Of(t), h) }

func newSiteOn(t *testing.T, on wiretest.Network, h http.HandlerFunc) *site {
	s := &site{client: http.Transport{DialContext: on.Dial}, t: t, h: h, visits: map[canon.Host]int{}, refuse: map[canon.URL]error{}}
	s.srv = wiretest.HTTP(t, on, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.log = append(s.log, sent{r.Host, r.URL.RequestURI(), r.Header.Get("Range"), r.Header.Get("If-Range")})
		s.mu.Unlock()
		s.h(w, r)
	}))
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

func (s *site) visit(ctx context.Context, o canon.Origin, do func(Getter) error) error {
	s.mu.Lock()
	s.visits[o.Host]++
	if s.visits[o.Host] > 1 {
		s.t.Errorf("two visits to %s at once", o.Host)
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.visits[o.Host]--
		s.mu.Unlock()
	}()
	return do(hostGetter{s, o.Host})
}

type hostGetter struct {
	s    *site
	host canon.Host
}

// Get implements fetcher.DownloadVisit.Get, without its politeness.
func (g hostGetter) Get(ctx context.Context, u canon.URL, target string, h http.Header, accept func(int, http.Header) bool, w io.Writer) (got download, err error) {
	s := g.s
	if u.Host() != g.host {
		s.t.Errorf("%s asked for under a visit to %s", u, g.host)
	}
	if err := s.refuse[u]; err != nil {
		return got, err
	}
	return getFrom(ctx, &s.client, s.srv.URL, u, target, h, accept, w)
}

type download = visit.Download

func getFrom(ctx context.Context, client *http.Transport, server string, u canon.URL, target string, h http.Header, accept func(int, http.Header) bool, w io.Writer) (got download, err error) {
	r, err := http.NewRequestWithContext(ctx, "GET", server+cmp.Or(target, u.PathQuery()), nil)
	if err != nil {
		return got, err
	}
	r.Host, r.Header = string(u.Host()), h.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Accept-Encoding", "identity")
	resp, err := client.RoundTrip(r)
	if err != nil {
		return got, err
	}
	defer resp.Body.Close()
	got.Status, got.Header = resp.StatusCode, resp.Header
	got.Framed = resp.ContentLength >= 0 || len(resp.TransferEncoding) > 0
	if !accept(resp.StatusCode, resp.Header) {
		return got, nil
	}
	got.Bytes, err = io.Copy(struct{ io.Writer }{w}, resp.Body)
	got.Complete = err == nil
	return got, err
}

// take returns the requests since its last call.
func (s *site) take() (all []sent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, s.log = s.log, nil
	return all
}

func rangesOf(all []sent) string {
	var out []string
	for _, q := range all {
		r := strings.TrimPrefix(q.Range, "bytes=")
		if r == "" {
			r = "all"
		}
		if q.IfRange != "" {
			r += "?" + q.IfRange
		}
		out = append(out, r)
	}
	return strings.Join(out, " ")
}

// options are those of most tests. Their Span is so long that no machine is slow enough for smaller
// pieces.
func options(t *testing.T, s *site, dir string) Options {
	return Options{Dir: dir, Visit: s.visit, Piece: 1000, Span: 24 * time.Hour, Retry: time.Millisecond, Log: slog.New(slog.DiscardHandler)}
}

func datasetOf(urls ...string) crawl.DatasetInfo {
	d := crawl.DatasetInfo{ID: "d1", Allowed: true, Title: "Rain", Origin: "http://d.example", Type: "files"}
	for _, u := range urls {
		d.Files, d.URLs = append(d.Files, crawl.DatasetFile{URL: u}), append(d.URLs, u)
	}
	return d
}

func get(t *testing.T, opt Options, d crawl.DatasetInfo) []Result {
	t.Helper()
	files, none := Plan([]crawl.DatasetInfo{d})
	res, err := Get(t.Context(), files, opt)
	if err != nil {
		t.Fatal(err)
	}
	return append(res, none...)
}

// bytesOf returns n bytes that are always the same.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	r.Read(b)
	return b
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// checked fails unless the directory verifies, with Verify and with sha256sum.
func checked(t *testing.T, dir string, files int) {
	t.Helper()
	rep, err := Verify(t.Context(), dir)
	if err != nil || !rep.OK || rep.Files != files {
		t.Errorf("Verify: %+v, %v, want %d files", rep, err, files)
	}
	cmd := exec.Command("sha256sum", "-c", "--strict", sumsName)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("sha256sum -c: %v\n%s", err, out)
	}
}

func has(t *testing.T, dir, name string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(want))
	}
}

// entriesOf returns the names in a directory.
func entriesOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// content serves b like http.ServeContent.
func content(tag string, b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if tag != "" {
			w.Header().Set("ETag", tag)
		}
		w.Header().Set("Content-Type", "text/csv")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}
}

func TestGetInPieces(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		body := bytesOf(2500)
		s := newSite(t, content(`"v1"`, body))
		dir := t.TempDir()
		by := "CC-BY-4.0"
		d := datasetOf("http://d.example/a/rain%20of%20may.csv?x=1", "http://d.example/b/rain%20of%20may.csv", "http://d.example/a/rain%20of%20may.csv?x=1")
		d.SPDX, d.License, d.Sources = &by, "cc by 4.0", []crawl.DatasetSource{{Document: "http://d.example/data.txt"}}
		d.Files[0].SHA256, d.Files[1].MD5 = sumOf(body), fmt.Sprintf("%x", md5.Sum(body))
		d.Files[0].SHA1, d.Files[1].SHA512 = fmt.Sprintf("%x", sha1.Sum(body)), fmt.Sprintf("%x", sha512.Sum512(body))
		opt := options(t, s, dir)
		var last Progress
		opt.Progress = func(p Progress) { last = p }
		res := get(t, opt, d)
		if len(res) != 2 || res[0] != (Result{"d1", d.URLs[0], "rain of may.csv", 2500, sumOf(body), Done, "", ""}) || res[1].Path != "rain of may-2.csv" || res[1].Outcome != Done {
			t.Fatalf("%+v", res)
		}
		if last.Files != 2 || last.Over != 2 || last.Bytes != 5000 || last.Left != 0 || last.Unknown != 0 {
			t.Errorf("progress %+v", last)
		}
		if got, want := rangesOf(s.take()), `0-999 1000-1999?"v1" 2000-2999?"v1" 0-999 1000-1999?"v1" 2000-2999?"v1"`; got != want {
			t.Errorf("asked for %s, want %s", got, want)
		}
		has(t, dir, "rain of may.csv", body)
		if got := entriesOf(t, dir); got != "SHA256SUMS datapackage.json rain of may-2.csv rain of may.csv" {
			t.Errorf("there are %s", got)
		}
		checked(t, dir, 2)
		// The second time nothing is requested, and nothing changes.
		before, _ := os.ReadFile(filepath.Join(dir, packageName))
		if res := get(t, opt, d); res[0].Outcome != Had || res[1].Outcome != Had || res[0].SHA256 != sumOf(body) || len(s.take()) != 0 {
			t.Errorf("again: %+v", res)
		}
		after, _ := os.ReadFile(filepath.Join(dir, packageName))
		if !bytes.Equal(before, after) {
			t.Error("datapackage.json has changed")
		}
		var p struct {
			Name, Title, Profile string
			Licenses             []struct{ Name string }
			Sources              []struct{ Title, Path string }
			Resources            []struct {
				Name, Path, Hash string
				Bytes            int64
				Licenses         []struct{ Name string }
				Sources          []struct{ Path string }
			}
		}
		if err := json.Unmarshal(after, &p); err != nil {
			t.Fatal(err)
		}
		if p.Name != "rain" || p.Title != "Rain" || len(p.Licenses) != 1 || p.Licenses[0].Name != by || p.Sources[0].Path != "http://d.example/data.txt" || len(p.Resources) != 2 {
			t.Errorf("package %+v", p)
		}
		if r := p.Resources[1]; r.Name != "rain-of-may.csv" || r.Path != "rain of may.csv" || r.Hash != "sha256:"+sumOf(body) || r.Bytes != 2500 ||
			r.Licenses[0].Name != by || r.Sources[0].Path != d.URLs[0] {
			t.Errorf("resource %+v", r)
		}
		// A file that was removed is fetched again under its name; one that was changed is not
		// replaced.
		os.Remove(filepath.Join(dir, "rain of may.csv"))
		os.WriteFile(filepath.Join(dir, "rain of may-2.csv"), []byte("mine"), 0o644)
		if res := get(t, opt, d); res[0].Outcome != Done || res[0].Path != "rain of may.csv" || res[1].Outcome != Failed || !strings.Contains(res[1].Reason, "remove it") {
			t.Errorf("after changes: %+v", res)
		}
		has(t, dir, "rain of may-2.csv", []byte("mine"))
	})
}

// Files that exist in the directory already are not replaced, and no link out of it is followed.
func TestForeignFiles(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := newSite(t, content(`"1"`, bytesOf(500)))
		dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
		for name, text := range map[string]string{"A.CSV": "mine", "b.csv.part": "mine, too"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"c.csv", "d.csv.part", "e.csv.part.json"} {
			if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		d := datasetOf("http://d.example/a.csv", "http://d.example/b.csv", "http://d.example/c.csv", "http://d.example/d.csv", "http://d.example/e.csv",
			"http://d.example/x/..%2f..%2fetc", "http://d.example/SHA256SUMS", "http://d.example/y.part")
		opt := options(t, s, dir)
		var paths []string
		for _, r := range get(t, opt, d) {
			if r.Outcome != Done {
				t.Errorf("%+v", r)
			}
			paths = append(paths, r.Path)
		}
		if got := strings.Join(paths, " "); got != "a-2.csv b-2.csv c-2.csv d-2.csv e-2.csv _.._etc.csv _SHA256SUMS.csv y.part_" {
			t.Errorf("named %s", got)
		}
		has(t, dir, "A.CSV", []byte("mine"))
		has(t, dir, "b.csv.part", []byte("mine, too"))
		if _, err := os.Lstat(outside); err == nil {
			t.Error("a link was followed")
		}
		// A link replaces a part after its state was written.
		slow := newSite(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "", 404) })
		dir = t.TempDir()
		st, _ := json.Marshal(state{URL: "http://d.example/f", Length: 9, Validator: `"1"`})
		os.WriteFile(filepath.Join(dir, "f.part.json"), st, 0o644)
		os.WriteFile(outside, []byte("precious"), 0o644)
		os.Symlink(outside, filepath.Join(dir, "f.part"))
		files, _ := Plan([]crawl.DatasetInfo{datasetOf("http://d.example/f")})
		if _, err := Get(t.Context(), files, options(t, slow, dir)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("a link in place of a part: %v", err)
		}
		if b, _ := os.ReadFile(outside); string(b) != "precious" {
			t.Errorf("it was written through: %q", b)
		}
		// A package that was not written by us.
		dir = t.TempDir()
		os.WriteFile(filepath.Join(dir, packageName), []byte(`{"name":"x"}`), 0o644)
		if _, err := Get(t.Context(), files, options(t, s, dir)); err == nil || !strings.Contains(err.Error(), "--dir") {
			t.Errorf("somebody else's package: %v", err)
		}
	})
}

func TestHostThatIsNotToBeHad(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := newSite(t, content(`"1"`, bytesOf(500)))
		opt := options(t, s, t.TempDir())
		opt.MaxWait = 2 * time.Second
		opt.Visit = func(ctx context.Context, o canon.Origin, do func(Getter) error) error {
			if o.Host == "d.example" {
				return s.visit(ctx, o, do)
			}
			<-ctx.Done()
			return ctx.Err()
		}
		res := get(t, opt, datasetOf("http://busy.example/f", "http://d.example/f"))
		if res[0].Outcome != Failed || !strings.Contains(res[0].Reason, "asks for a longer delay") || res[1].Outcome != Done {
			t.Errorf("%+v", res)
		}
	})
}

func TestFullDisk(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := newSite(t, content(`"1"`, bytesOf(500)))
		dir := t.TempDir()
		free, _, err := disk.Space(dir)
		if err != nil {
			t.Fatal(err)
		}
		opt := options(t, s, dir)
		if opt.Floor, err = disk.New(dir, 4*free); err != nil {
			t.Fatal(err)
		}
		if res := get(t, opt, datasetOf("http://d.example/f")); res[0].Outcome != Limited || !strings.Contains(res[0].Reason, "--min-free") {
			t.Errorf("%+v", res)
		}
	})
}

func TestPlan(t *testing.T) {
	closed, place, page := datasetOf("http://d.example/a"), datasetOf("http://d.example/dir/"), datasetOf()
	closed.Allowed, closed.DataTxt, closed.Line = false, "http://d.example/data.txt", 3
	place.Files[0].Directory = true
	page.Page = "http://d.example/about"
	both := datasetOf("http://d.example/b", "http://d.example/b/1.csv")
	both.Files[0].Directory = true
	files, none := Plan([]crawl.DatasetInfo{closed, place, page, datasetOf(), datasetOf("http://d.example/a"), both})
	var why []string
	for _, r := range none {
		if r.Outcome != Refused {
			t.Errorf("%+v", r)
		}
		why = append(why, r.Reason)
	}
	if len(files) != 2 || files[1].URL != "http://d.example/b/1.csv" || !slices.Equal(why, []string{"http://d.example/data.txt line 3 does not allow this crawler to download it", "it is a directory of datasets, not a file",
		"no document lists a file of it; its page is http://d.example/about", "no document lists a file of it"}) {
		t.Errorf("%v, %q", files, why)
	}
}
