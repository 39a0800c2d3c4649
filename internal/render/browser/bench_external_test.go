//go:build external && linux

package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/render"
)

// BenchmarkExternalPage measures what a page of a small application costs by the clock: a shell, a
// bundle of 100 KiB, two answers of JSON, 100 rows. It reports the time to the first page, and the
// memory of all processes of the browser (their proportional share).
func BenchmarkExternalPage(b *testing.B) {
	r, err := New(Options{Pages: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	bundle := `const get = u => fetch(u).then(r => r.json()); setTimeout(async () => { const names = await get('/names'), list = await get('/list');
		for (const i of list) document.body.insertAdjacentHTML('beforeend', '<p><a href="/' + i + '">' + names[i % names.length] + '</a> ' + 'text '.repeat(30)) }, 500)` + "\n//" + strings.Repeat("x", 100<<10)
	list := make([]string, 100)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	answers := site{"https://a.example/app.js": bundle, "https://a.example/names": `["a","b"]`, "https://a.example/list": "[" + strings.Join(list, ",") + "]"}
	p := page("<script src=/app.js></script>")
	one := func() {
		var l log
		res, err := r.Render(b.Context(), p, answers.fetch(&l))
		if err != nil || strings.Count(string(res.HTML), "<p>") != 100 {
			b.Fatal(err)
		}
	}
	from := time.Now()
	if _, err := r.take(b.Context()); err != nil {
		b.Fatal(err)
	}
	start := time.Since(from)
	one()
	for b.Loop() {
		one()
	}
	b.ReportMetric(start.Seconds(), "start-s")
	var kib int64
	_, err = r.Render(b.Context(), p, func(q render.Request) render.Response {
		kib = 0
		for pr := range r.all {
			if pr.pages == 0 {
				continue
			}
			for pid := range families(pr.cmd.Process.Pid) {
				text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
				_, after, _ := strings.Cut(string(text), "\nPss:")
				var n int64
				_, _ = fmt.Sscan(after, &n)
				kib += n
			}
		}
		var l log
		return answers.fetch(&l)(q)
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(kib)/1024, "MiB")
}
