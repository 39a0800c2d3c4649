package scope

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
)

const sitesFile = `sites:
  docs.example.org:
    subdomains: true
    include: ["/docs/**"]
    exclude: ["**/print/**"]
  old.docs.example.org:
    exclude: ["/**"]
  "*.example.net":
    exclude: ["/private/**"]
`

// Site rules narrow what the settings allow, and take in the names below an entry. Refusals name
// the entry's line.
func TestSiteRules(t *testing.T) {
	spec := crawl.Spec{Scope: "host", Seeds: []string{"https://docs.example.org/docs/", "https://a.example.net/"}, Exclude: []string{`\.zip$`}, Sites: sitesFile}
	rules, err := siterules.Of(&spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Of(&spec, rules)
	if err != nil {
		t.Fatal(err)
	}
	for u, want := range map[canon.URL]string{
		"https://docs.example.org/docs/a":         "+host docs.example.org",
		"https://docs.example.org/about":          "-site rules:",
		"https://docs.example.org/docs/print/a":   "-site rules:5: exclude **/print/**",
		"https://docs.example.org/docs/a.zip":     `-exclude: \.zip$`,
		"https://en.docs.example.org/anything":    "+site rules:2: docs.example.org: subdomains",
		"https://x.en.docs.example.org/":          "+site rules:2: docs.example.org: subdomains",
		"https://en.docs.example.org/a.zip":       `-exclude: \.zip$`,
		"https://old.docs.example.org/docs/":      "-site rules:7: exclude /**",
		"https://www.example.org/docs/":           "-outside the 2 hosts of the seeds",
		"https://a.example.net/":                  "+host a.example.net",
		"https://a.example.net/private/x":         "-site rules:9: exclude /private/**",
		"https://b.example.net/":                  "-outside the 2 hosts of the seeds",
		"https://notdocs.example.org/docs/":       "-outside the 2 hosts of the seeds",
		"https://docs.example.org.evil.example/":  "-outside the 2 hosts of the seeds",
		"https://docs.example.org/docs/print/../": "+host docs.example.org",
	} {
		u, err := canon.Parse(string(u))
		if err != nil {
			t.Fatal(err)
		}
		d := s.Decide(u)
		got := "-" + d.Rule
		if d.In {
			got = "+" + d.Rule
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", u, got, want)
		}
	}
	if d := s.Add("https://www.example.org/").Decide("https://en.docs.example.org/x"); !d.In {
		t.Error("a scope with more seeds has no site rules")
	}
}

func TestOfRefusesAWrongSeed(t *testing.T) {
	if _, err := Of(&crawl.Spec{Seeds: []string{"x y"}}, nil); err == nil {
		t.Error("a seed that is no URL is accepted")
	}
}
