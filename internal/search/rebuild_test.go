package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/testaid"
)

// battery has queries of every kind, for the pages that churn makes.
var battery = []string{
	"word1", "word2 word3", "word4 word5 word6", `"word7 word8"`, "word9 -word10", "word1*", "title:word11", "wordd12",
	"word13 site:h1.example", "word14 lang:de", "site:h2.example", "word15 OR word16", "type:text/html word17", "word18 nowhere",
	"nothinglikethis", "häuser", "inurl:page3", "word19 word20 word21 word22", "word", "WORD23", "lang:en -word24",
}

// answers returns all answers of an index to the battery, as JSON.
func answers(t testing.TB, x *Index) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, q := range battery {
		raw, err := json.Marshal(ask(t, crawl.SearchRequest{Query: q, Limit: 50}, x))
		if err != nil {
			t.Fatal(err)
		}
		all[q] = string(raw)
	}
	return all
}

func same(t testing.TB, when string, got, want map[string]string) {
	t.Helper()
	for q := range want {
		if got[q] != want[q] {
			t.Errorf("%s, %q:\n got %s\nwant %s", when, q, got[q], want[q])
		}
	}
}

// churn stores pages that are new, change, link to each other and are deleted.
func churn(t testing.TB, store *pages.Store, rng *rand.Rand, n int) {
	t.Helper()
	var batch []pages.Page
	for range n {
		host, lang := rng.IntN(3), []string{"en", "de"}[rng.IntN(2)]
		var body strings.Builder
		for range 5 + rng.IntN(40) {
			fmt.Fprintf(&body, "word%d ", rng.IntN(60))
		}
		fmt.Fprintf(&body, "<p>Haus <a href=/page%d>word%d word%d</a>", rng.IntN(60), rng.IntN(60), rng.IntN(60))
		p := page(fmt.Sprintf("https://h%d.example/page%d", host, rng.IntN(60)), lang, fmt.Sprintf("word%d page", rng.IntN(60)), body.String())
		if rng.IntN(5) == 0 {
			p.Deleted = crawl.ReasonHTTP4xx
		}
		batch = append(batch, p)
	}
	if _, err := store.Put(batch); err != nil {
		t.Fatal(err)
	}
}

// worn returns an index that has followed many changes: it has several segments, with deletions.
func worn(t testing.TB) (*fixture, *rand.Rand) {
	f, rng := newFixture(t), rand.New(rand.NewPCG(5, 6))
	for range 58 {
		churn(t, f.store, rng, 1+rng.IntN(20))
		f.follow()
	}
	err := f.db.View(func(tx *bolt.Tx) error {
		v, err := viewOf(tx)
		gone := uint32(0)
		for _, p := range v.parts {
			gone += p.Len() - p.live()
		}
		if len(v.parts) < 2 || gone == 0 {
			t.Errorf("%d segments, %d pages of them deleted: nothing to compare", len(v.parts), gone)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f, rng
}

func atOnce(ctx context.Context) (func(), error) { return func() {}, ctx.Err() }

// files returns the names of the files of the index in the folder of a fixture.
func (f *fixture) files() (names []string) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "search-") {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestRebuildAnswersTheSame(t *testing.T) {
	f, _ := worn(t)
	want := answers(t, f.Index)
	var done, left int64
	if err := f.Rebuild(t.Context(), "1", atOnce, func(d, l int64) { done, left = d, l }); err != nil {
		t.Fatal(err)
	}
	same(t, "built anew while it is open", answers(t, f.Index), want)
	if f.Mark() != "1" || done == 0 || left != 0 || len(f.files()) != 1 {
		t.Errorf("mark %q, %d pages taken, %d left, files %v", f.Mark(), done, left, f.files())
	}
	f.reopen()
	same(t, "opened again", answers(t, f.Index), want)
	if f.Mark() != "1" {
		t.Errorf("mark %q after it was opened again", f.Mark())
	}
	f.Close()
	f.Index = nil
	if err := Rebuild(t.Context(), f.path(), f.store, Options{Mark: "2"}); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	same(t, "built anew at rest", answers(t, f.Index), want)
	if f.Mark() != "2" || len(f.files()) != 1 {
		t.Errorf("mark %q, files %v", f.Mark(), f.files())
	}
}

// While pages are stored and queries asked, an index is rebuilt again and again. No query fails or
// misses a page that does not change, and at the end the answers equal those of an index that was
// built without disturbance.
func TestRebuildWhileWriting(t *testing.T) {
	f, rng := worn(t)
	f.add(page("https://still.example/", "en", "Capercaillie", "<p>capercaillie"))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			a, err := Run(context.Background(), crawl.SearchRequest{Query: "capercaillie"}, nil, nil, local{f.Index})
			if err != nil || len(a.Hits) != 1 {
				t.Errorf("in the middle: %d hits, %v", len(a.Hits), err)
				return
			}
		}
	})
	stored, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stored)
		for {
			over := false
			testaid.Until(t, "the index has followed the last changes", func() bool {
				select {
				case <-stop:
					over = true
				default:
				}
				return over || f.Behind() == 0
			})
			if over {
				return
			}
			churn(t, f.store, rng, 5)
		}
	}()
	for i := range 4 {
		before := f.cursor.Load()
		if err := f.Rebuild(ctx, fmt.Sprint(i), atOnce, nil); err != nil {
			t.Error(err)
		}
		if f.cursor.Load() < before {
			t.Errorf("it went back from %d to %d", before, f.cursor.Load())
		}
	}
	close(stop)
	<-stored
	testaid.Until(t, "the index has followed all changes", func() bool { return f.Behind() == 0 })
	cancel()
	wg.Wait()
	got := answers(t, f.Index)
	f.Close()
	f.Index = nil
	if err := Rebuild(t.Context(), f.path(), f.store, Options{}); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	same(t, "followed beside writing", got, answers(t, f.Index))
}

// places are the steps of a rebuild at which the test kills it.
var places = []string{"begun", "stepped", "filled", "copied", "caught up", "replaced"}

// What a process leaves that was killed in the middle of a rebuild gives the same answers as
// before, and the next writer removes the files that are of no use.
func TestRebuildKilled(t *testing.T) {
	if dir := os.Getenv("REBUILD_IN"); dir != "" {
		rebuildAndWait(t, dir, os.Getenv("REBUILD_TO"))
		return
	}
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			f, _ := worn(t)
			want := answers(t, f.Index)
			f.Close()
			f.Index = nil
			if err := f.store.Close(); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestRebuildKilled$")
			cmd.Env = append(os.Environ(), "REBUILD_IN="+f.dir, "REBUILD_TO="+place)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			output := make([]byte, len("there"))
			if _, err := out.Read(output); err != nil || string(output) != "there" {
				t.Errorf("the process wrote %q, %v", output, err)
			}
			cmd.Process.Kill()
			cmd.Wait()
			if f.store, err = pages.Open(filepath.Join(f.dir, "pages-0.db"), pages.Options{}); err != nil {
				t.Fatal(err)
			}
			ro, err := OpenReadOnly(f.path(), f.store, Options{Now: func() time.Time { return f.now }})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "as it was left", answers(t, ro), want)
			ro.Close()
			f.reopen()
			same(t, "by the next writer", answers(t, f.Index), want)
			if files := f.files(); len(files) != 1 {
				t.Errorf("files %v", files)
			}
			if mark, new := f.Mark(), place == "replaced"; (mark == "killed") != new {
				t.Errorf("mark %q", mark)
			}
		})
	}
}

// rebuildAndWait runs in the process that is killed.
func rebuildAndWait(t *testing.T, dir, place string) {
	store, err := pages.Open(filepath.Join(dir, "pages-0.db"), pages.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := Open(filepath.Join(dir, "search-0.db"), store, Options{at: func(p string) {
		if p == place {
			os.Stdout.WriteString("there")
			select {}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Fatal(x.Rebuild(t.Context(), "killed", atOnce, nil))
}

// A rebuild that fails leaves the old index unchanged, and no other files.
func TestRebuildFails(t *testing.T) {
	f, _ := worn(t)
	want := answers(t, f.Index)
	for n := range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		turn := func(ctx context.Context) (func(), error) {
			if n--; n < 0 {
				cancel()
			}
			return func() {}, ctx.Err()
		}
		f.o.at = func(place string) {
			if n < 3 && place == "filled" {
				cancel()
			}
		}
		if err := f.Rebuild(ctx, "x", turn, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Rebuild = %v", err)
		}
		cancel()
		same(t, "after a failure", answers(t, f.Index), want)
		if files := f.files(); len(files) != 1 || f.Mark() != "" {
			t.Errorf("files %v, mark %q", files, f.Mark())
		}
	}
	f.o.at = func(string) {}
	// A folder in place of the new file that cannot be removed.
	if err := os.MkdirAll(filepath.Join(f.path()+suffixNew, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Rebuild(t.Context(), "x", atOnce, nil); err == nil {
		t.Error("Rebuild over a folder succeeded")
	}
	same(t, "after a failure", answers(t, f.Index), want)
	ro, err := OpenReadOnly(f.path()+"none", f.store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ro.Rebuild(t.Context(), "x", atOnce, nil); err == nil {
		t.Error("an index that is open for reading was rebuilt")
	}
}

// An index whose file is damaged while it is open is rebuilt next to it.
func TestRebuildRepairsDamage(t *testing.T) {
	f, _ := worn(t)
	want := answers(t, f.Index)
	raw, err := os.ReadFile(f.path())
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	copy(raw[2*page:], bytes.Repeat([]byte{0xa5}, len(raw)-2*page))
	file, err := os.OpenFile(f.path(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(raw, 0); err != nil {
		t.Fatal(err)
	}
	file.Close()
	if _, err := Run(t.Context(), crawl.SearchRequest{Query: "word1"}, nil, nil, local{f.Index}); err == nil || !strings.Contains(err.Error(), "curtsy reindex") {
		t.Errorf("the damage is not reported: %v", err)
	}
	if err := f.Rebuild(t.Context(), "1", atOnce, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "mended", answers(t, f.Index), want)
}

// A rebuilt file has no unused space, whatever its merges needed meanwhile.
func TestRebuildIsCompact(t *testing.T) {
	f := newFixture(t)
	var batch []pages.Page
	for i := range 3000 {
		batch = append(batch, page(fmt.Sprintf("https://h.example/%d", i), "en", fmt.Sprintf("t%d", i), strings.Repeat(fmt.Sprintf("a%d b%d c%d ", i, i*7, i%13), 30)))
	}
	f.add(batch...)
	before := f.size()
	if err := f.Rebuild(t.Context(), "1", atOnce, nil); err != nil {
		t.Fatal(err)
	}
	after := f.size()
	t.Logf("%d bytes of segments; file %d before, %d after", after.live, before.file, after.file)
	// What remains: the last, partly filled page of 4 KiB and a meta page for each bucket, and 64
	// KiB of growth.
	if after.file > after.live+after.live/20+192<<10 || after.live == 0 {
		t.Errorf("%d bytes for %d of segments", after.file, after.live)
	}
	for _, suffix := range []string{suffixBuild, suffixNew} {
		if _, err := os.Stat(f.path() + suffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", suffix, err)
		}
	}
}

type fileSize struct{ live, file int64 }

// size measures the segments and their file.
func (f *fixture) size() (r fileSize) {
	f.t.Helper()
	err := f.db.View(func(tx *bolt.Tx) error {
		v, err := viewOf(tx)
		for _, p := range v.parts {
			r.live += int64(p.Size())
		}
		return err
	})
	info, e := os.Stat(f.path())
	if err := errors.Join(err, e); err != nil {
		f.t.Fatal(err)
	}
	r.file = info.Size()
	return r
}
