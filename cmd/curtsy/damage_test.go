package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/catalog"
)

// maul damages a file in one of several ways.
func maul(t *testing.T, path string, whole []byte, how int, rnd *rand.Rand) {
	t.Helper()
	b := slices.Clone(whole)
	pages := len(b) / 4096
	switch how {
	case 0: // garbage from the first byte
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
	case 1: // all but the first two pages, which bbolt looks at when it opens
		clear(b[8192:])
	case 2:
		b = b[:pages/2*4096]
	default: // some pages
		for range max(pages/3, 1) {
			at := rnd.IntN(pages)
			clear(b[at*4096 : (at+1)*4096])
		}
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Whatever the damage to a file of a crawl, no command panics. A command that needs the file names
// it and suggests what to do, and that works.
func TestDamagedFiles(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newStoppedCrawl(t)
		rnd := rand.New(rand.NewPCG(1, 2))
		seeds := append([]string{"crawl", "--dir", r.dir, "--allow-private", "--delay", "0s", "--resolve", r.web.Resolve()}, r.web.Seeds()...)
		say := func(args ...string) (int, string) {
			t.Helper()
			var stdout, stderr bytes.Buffer
			code := runs(t, t.Context(), args, strings.NewReader(""), &stdout, &stderr)
			return code, stderr.String()
		}
		for _, c := range []struct {
			glob, remedy string
			// Commands of which each fails if the file is unreadable from end to end,
			fails []string
			code  int // and ends with this. Of search the other shards answer.
		}{
			{"frontier-*.db", `mv (\S+) (\S+)\)`, []string{"status", "hosts", "pages", "updates", "crawl"}, app.ExitFailed},
			{"pages-*.db", `mv (\S+) (\S+)\)`, []string{"pages", "export pages", "datasets", "reindex", "search page", "crawl"}, app.ExitFailed},
			{"search-*.db", `curtsy reindex --dir (\S+)`, []string{"search page"}, app.ExitPartial},
		} {
			{
				files, err := filepath.Glob(filepath.Join(r.dir, c.glob))
				if err != nil || len(files) == 0 {
					t.Fatal(files, err)
				}
				path := files[0]
				whole, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				os.Remove(path + "-wal")
				os.Remove(path + "-shm")
				for how := range 5 {
					maul(t, path, whole, how, rnd)
					for _, line := range c.fails {
						if line == "crawl" && how > 1 {
							continue // takes its time
						}
						args := append(strings.Fields(line), "--dir", r.dir)
						if line == "crawl" {
							args = seeds
						}
						code, said := say(args...)
						if how < 2 && code != c.code {
							t.Errorf("damage %d: curtsy %s exits with %d:\n%s", how, line, code, said)
						}
						if code != app.ExitOK && (!strings.Contains(said, path) || !regexp.MustCompile(c.remedy).MatchString(said)) {
							t.Errorf("damage %d: curtsy %s names neither file nor way out:\n%s", how, line, said)
						}
					}
				}
				// The advice, word for word.
				maul(t, path, whole, 1, rnd)
				line := c.fails[0]
				_, said := say(append(strings.Fields(line), "--dir", r.dir)...)
				do := regexp.MustCompile(c.remedy).FindStringSubmatch(said)
				switch len(do) {
				case 3:
					if err := os.Rename(do[1], do[2]); err != nil {
						t.Fatal(err)
					}
					if code, said := say(seeds...); code != app.ExitOK {
						t.Fatalf("the crawl does not go on: %s", said)
					}
				case 2:
					if code, said := say("reindex", "--dir", do[1]); code != app.ExitOK {
						t.Fatalf("no reindex: %s", said)
					}
				default:
					t.Fatalf("no advice: %s", said)
				}
				if got := storedBy(t, "--dir", r.dir); !slices.Equal(got, r.all) {
					t.Errorf("%d pages after that, before %d", len(got), len(r.all))
				}
				for _, line := range append(c.fails, "status", "search page") {
					if line != "crawl" {
						if code, said := say(append(strings.Fields(line), "--dir", r.dir)...); code != app.ExitOK {
							t.Errorf("curtsy %s after that: %s", line, said)
						}
					}
				}
			}
		}
	})
}

// Details of the command line.
func TestVersionFlagAndCompletion(t *testing.T) {
	if a, b := curtsy(t, 0, "--version"), curtsy(t, 0, "version"); a != b {
		t.Errorf("--version says %q, version %q", a, b)
	}
	for typed, want := range map[string]string{
		"export pages --format": "jsonl parquet csv bulk files markdown chunks text html", "export pages --content": "text markdown html",
		"export links --format": "jsonl parquet csv bulk", "export datasets --format": strings.Join(catalog.Formats, " ") + " parquet bulk",
		"crawl --scope": "page prefix host subdomains domain any", "crawl --sign-form": "string dictionary jwks",
		"crawl --progress": "auto plain json none", "crawl --purpose": "search ai-input ai-train tdm", "plan --types": "html text markdown data feed pdf office", "seed --scope": "page prefix host subdomains domain any", "crawl --updates-latency": "day week month",
		"crawl --log-level": "debug info warn error auto", "status --log-format": "json text auto", "rup index --log-level": "debug info warn error auto",
		"updates prefer https://a.test/": "day week month any", "rup register --latency": "day week month",
		"datasets --license": strings.Join(catalog.Licenses(), " ") + " unknown", "datasets get --license": strings.Join(catalog.Licenses(), " ") + " unknown",
		"check": "robots host robotstag usage datatxt rupinfo rupreport signature mobile-agent", "export": "pages links datasets",
	} {
		got := curtsy(t, 0, append(append([]string{"__complete"}, strings.Fields(typed)...), "")...)
		words, _, _ := strings.Cut(got, ":4\n") // 4: no files
		var list []string
		for line := range strings.Lines(words) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			list = append(list, word)
		}
		if !strings.HasSuffix(got, ":4\n") || strings.Join(list, " ") != want {
			t.Errorf("%s completes to %q, want %q", typed, got, want)
		}
	}
}
