package uses_test

import (
	"net/http"
	"testing"

	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/uses"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Whatever a site sends: each source can be found, what is said is what the sources say, and a
// stricter word never allows more.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("User-agent: *\nContent-Usage: /x train-ai=n\nLicense: https://l.example/\nUser-agent: GPTBot\nDisallow: /"), "/x",
		[]byte(`<!doctype html><script type="application/rsl+xml"><rsl xmlns="https://rslstandard.org/rsl"><content url=""/></rsl></script>`+
			`<meta name=tdm-reservation content=1><meta name=robots content="noai,max-snippet:3"><link rel=license type="application/rsl+xml" href=l>`),
		"search=y, train-ai=n", "curtsy: noai")
	f.Add([]byte("Content-Signal: use=immediate"), "/", []byte("<meta name=tdm-policy content=x>"), "?", "otherbot;noindex")
	var scanner htmlscan.Scanner
	f.Fuzz(func(t *testing.T, robotsTxt []byte, path string, page []byte, use, tag string) {
		file := robots.Parse(robotsTxt)
		var s usage.Set
		uses.Robots(&s, file.Rules("curtsy", origin), path)
		uses.Training(&s, file, origin)
		alone := s.Preferences()
		header := http.Header{"Content-Usage": {use}, "Content-Signal": {use}, "X-Robots-Tag": {tag}, "Robots-Tag": {tag}, "Content-Type": {"text/html"}}
		r := scanner.Scan(htmlscan.Page{URL: "https://a.example/x", Body: page, HTML: true, Header: header, Token: "curtsy"})
		uses.Answer(&s, header, &r, "https://a.example/x")
		said, concluded := s.Preferences(), s.Concluded()
		var sum usage.Preferences
		for _, src := range s.Sources() {
			if src.Line < 1 || src.From == "" || len(src.Text) > 200 || src.Value == usage.Unknown {
				t.Errorf("source %+v", src)
			}
			sum[src.Purpose] = max(sum[src.Purpose], src.Value)
		}
		if sum != concluded {
			t.Errorf("sources say %v, the set %v", sum, concluded)
		}
		for p, v := range concluded {
			if v < said[p] || said[p] < alone[p] && p != int(usage.TDM) {
				t.Errorf("robots.txt %v, with the answer %v, with what is inferred %v", alone, said, concluded)
			}
		}
		lines := len(robotsTxt) + 1
		for _, l := range file.UsageFor("curtsy") {
			if l.Line < 1 || l.Line > lines {
				t.Errorf("%+v of %d lines", l, lines)
			}
		}
	})
}
