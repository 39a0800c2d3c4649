package indexer

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Formats §8.3, §8.21: an export for a purpose contains what its site allows for that purpose, for
// search also what it has no statement about, and counts what it leaves out. Every record has the
// statements about its page.
func TestUsage_8_3_ExportFor(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Embedded: true})
		said := func(path, says string) crawl.Page {
			p := page("https://a.example/"+path, 1, `<p>ocelot <a href="/of-`+path+`">x</a>`)
			var s usage.Set
			s.ContentSignal(usage.Position{From: "robots.txt", Line: 2}, says)
			if path == "inferred" {
				s.Inferred(usage.Position{From: "robots.txt", Line: 5}, "Disallow: /")
			}
			p.Usage = s.Statements()
			return p
		}
		w.hand(said("silent", ""), said("open", "search=yes, ai-train=yes"), said("closed", "ai-train=no, search=yes"), said("unsearched", "search=no"), said("inferred", ""))
		w.settled(x)
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, c := range []struct {
			q    crawl.ExportQuery
			want string
			left map[string]int64
		}{
			{crawl.ExportQuery{What: "pages"}, "closed inferred open silent unsearched", nil},
			{crawl.ExportQuery{What: "pages", For: []string{"ai-train"}}, "open", map[string]int64{"ai-train disallow": 2, "ai-train unknown": 2}},
			{crawl.ExportQuery{What: "pages", For: []string{"ai-train"}, UnknownToo: true}, "open silent unsearched", map[string]int64{"ai-train disallow": 2}},
			{crawl.ExportQuery{What: "pages", For: []string{"search"}}, "closed inferred open silent", map[string]int64{"search disallow": 1}},
			{crawl.ExportQuery{What: "pages", For: []string{"search", "ai-train"}, UnknownToo: true}, "open silent", map[string]int64{"search disallow": 1, "ai-train disallow": 2}},
			{crawl.ExportQuery{What: "links", For: []string{"ai-train"}}, "open", map[string]int64{"ai-train disallow": 2, "ai-train unknown": 2}},
		} {
			var b strings.Builder
			left, err := stoppedCrawl(r).Export(t.Context(), c.q, &b)
			if err != nil || !maps.Equal(left.Usage, c.left) {
				t.Errorf("%+v: left out %v, %v", c.q, left.Usage, err)
			}
			var got []string
			for l := range strings.Lines(b.String()) {
				var rec struct {
					URL, From string
					Usage     crawl.Usage
				}
				if err := json.Unmarshal([]byte(l), &rec); err != nil {
					t.Fatal(err)
				}
				name := strings.TrimPrefix(rec.URL+rec.From, "https://a.example/")
				got = append(got, name)
				if name == "inferred" && rec.URL != "" && (rec.Usage.AITrain != "disallow" || len(rec.Usage.Sources) != 1 || !rec.Usage.Sources[0].Inferred) {
					t.Errorf("%+v", rec.Usage)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%+v: %v, want %s", c.q, got, c.want)
			}
		}
		var b strings.Builder
		if _, err := stoppedCrawl(r).Export(t.Context(), crawl.ExportQuery{What: "pages", For: []string{"cats"}}, &b); err == nil || !strings.Contains(err.Error(), "unknown purpose") {
			t.Errorf("for cats: %v", err)
		}
	})
}
