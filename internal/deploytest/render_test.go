//go:build external

package deploytest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// TestExternalSmokeRender crawls two applications with Chromium.
func TestExternalSmokeRender(t *testing.T) {
	t.Parallel()
	crawlApps(t, tenApps[:2])
}

// TestExternalTenApplications crawls the applications of issue 35 with Chromium: each has its right
// result, and no host receives a request that is early, parallel or forbidden.
func TestExternalTenApplications(t *testing.T) {
	t.Parallel()
	crawlApps(t, tenApps)
}

// crawlApps crawls applications with `curtsy crawl --render auto`, and checks what became of them.
func crawlApps(t *testing.T, apps []oneApp) {
	browsing(t)
	w := startAppWeb(t, hostsOf(apps))
	dir := t.TempDir()
	args := []string{"crawl", "--dir", dir, "--render", "auto", "--resolve", "*=" + w.addr, "--allow-private", "--delay", appDelay.String(), "--scope", "host", "--sitemaps=false", "--progress", "none", "--listen", "off"}
	for _, app := range apps {
		args = append(args, "http://"+app.name+".apps.test/")
	}
	run(t, program(t, "curtsy"), args...)
	w.checkPolite()
	pages := renderedPages(t, dir)
	for _, app := range apps {
		u := "http://" + app.name + ".apps.test/"
		p, stored := pages[u]
		if app.reason != "" {
			out := string(run(t, program(t, "curtsy"), "explain", "--dir", dir, u))
			if stored || !strings.Contains(out, app.reason) {
				t.Errorf("%s is stored: %v; explain says\n%s", app.name, stored, out)
			}
			continue
		}
		if p.Rendering != app.rendering {
			t.Errorf("%s: rendering %q, not %q:\n%s", app.name, p.Rendering, app.rendering, run(t, program(t, "curtsy"), "explain", "--dir", dir, u))
		}
		text := pageText(t, dir, u)
		for _, want := range app.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %q", app.name, want, text)
			}
		}
		for _, not := range app.not {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q in %q", app.name, not, text)
			}
		}
		for _, path := range app.links {
			if to, ok := pages["http://"+app.name+".apps.test"+path]; !ok || to.Rendering != "done" {
				t.Errorf("%s: the link to %s was not followed: %+v", app.name, path, to)
			}
		}
		for _, path := range app.forbidden {
			if got := w.requests(app.name + ".apps.test"); slices.Contains(got, path) {
				t.Errorf("%s: %s was requested: %q", app.name, path, got)
			}
		}
	}
}

// renderedPages are the stored pages of a crawl, by URL.
func renderedPages(t *testing.T, dir string) map[string]crawl.PageInfo {
	t.Helper()
	all := map[string]crawl.PageInfo{}
	for line := range bytes.Lines(run(t, program(t, "curtsy"), "pages", "--dir", dir, "--json")) {
		var p crawl.PageInfo
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all[p.URL] = p
	}
	return all
}

// pageText is the text of a stored page, as exports have it.
func pageText(t *testing.T, dir, u string) string {
	t.Helper()
	for line := range bytes.Lines(run(t, program(t, "curtsy"), "export", "pages", "--dir", dir, "--content", "text", "--format", "jsonl")) {
		var p struct{ URL, Text, Content string }
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if p.URL == u {
			return p.Text + p.Content
		}
	}
	return ""
}
