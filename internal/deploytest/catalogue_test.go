//go:build external

package deploytest

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// A data.json of 60 MiB with 50,000 datasets is complete in the catalogue. Fetching and storing it
// takes less than 150 MiB of memory more than the same crawl without it (32 MiB, m), and listing
// it, which needs all datasets in memory, less than 200 MiB (137 MiB, m).
func TestExternalCatalogue(t *testing.T) {
	const sets, size, limit, listLimit = 50_000, 60 << 20, 150 << 20, 200 << 20
	var with atomic.Bool
	text := strings.Repeat("What was counted, where, and by whom. ", 24)
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>A portal</title><a href="/data.json">all of it</a>`)
	})
	mux.HandleFunc("/data.json", func(w http.ResponseWriter, r *http.Request) {
		if !with.Load() {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		b := bufio.NewWriterSize(w, 1<<16)
		fmt.Fprint(b, `{"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": [`)
		n := 0
		for i := range sets {
			k, _ := fmt.Fprintf(b, `{"@type": "dcat:Dataset", "identifier": "set-%[1]d", "title": "Set %[1]d", "description": "%[2]s", "accessLevel": "public",
 "keyword": ["counts", "number %[1]d"], "modified": "2026-01-01", "publisher": {"name": "The office"}, "license": "https://creativecommons.org/licenses/by/4.0/",
 "distribution": [{"downloadURL": "http://%[3]s/f/%[1]d.csv", "mediaType": "text/csv"}]}`, i, text, r.Host)
			if n += k; i < sets-1 {
				b.WriteByte(',')
			}
		}
		fmt.Fprint(b, "]}", strings.Repeat(" ", max(size-n, 0)))
		b.Flush()
	})
	web := httptest.NewServer(mux)
	defer web.Close()
	run := func(args ...string) (out []byte, peak int64) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program(t, "curtsy"), args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("curtsy %s: %v\n%s", strings.Join(args, " "), err, errs.Bytes())
		}
		return out, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	}
	crawl := func(dir string) int64 {
		_, peak := run("crawl", "--dir", dir, "--allow-private", "--scope", "host", "--delay", "20ms", "--progress", "none", "--listen", "off", web.URL+"/")
		return peak
	}
	empty, full := t.TempDir(), t.TempDir()
	without := crawl(empty)
	with.Store(true)
	taken := crawl(full)
	_, listless := run("datasets", "--json", "--dir", empty)
	list, listing := run("datasets", "--json", "--dir", full)
	t.Logf("peak memory: %d MiB without, %d MiB with it; listing %d and %d MiB", without>>20, taken>>20, listless>>20, listing>>20)
	if n := bytes.Count(list, []byte("\n")); n != sets {
		t.Errorf("%d datasets are listed, want %d", n, sets)
	}
	if taken-without > limit {
		t.Errorf("%d MiB more to take it in", (taken-without)>>20)
	}
	if listing-listless > listLimit {
		t.Errorf("%d MiB more to list it", (listing-listless)>>20)
	}
}
