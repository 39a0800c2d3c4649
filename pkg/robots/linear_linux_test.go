package robots_test

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/robots"
)

// The work grows in proportion to the bytes, also for hostile input.
func TestParseIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	for name, unit := range map[string]string{
		"rules":           "Disallow: /abc/def\n",
		"wildcards":       "Disallow: /*a*b%41\n",
		"CR only":         "Disallow: /abc/def\r",
		"agents":          "User-agent: a\n",
		"agents, hosts":   "User-agent: a\nHost: a.example\n",
		"groups":          "User-agent: *\nDisallow: /x\n",
		"delays":          "User-agent: *\nCrawl-delay: 1\nAllow: /\n",
		"one line":        "a:",
		"comments":        "#",
		"blank":           "\r\n",
		"blanks":          " ",
		"escapes":         "%",
		"sitemaps":        "Sitemap: /s\n",
		"clean params":    "Clean-param: a&b&c /x*\n",
		"agent servers":   "Mobile-agent-server: / a://b\n",
		"long hosts":      "Host: " + strings.Repeat("a.", 100) + "a\n",
		"nested":          "",
		"hosts, no match": "Host: a.example\n",
	} {
		t.Run(name, func(t *testing.T) {
			body := func(size int) []byte {
				b := []byte("User-agent: *\n")
				for n := 1; len(b) < size; n++ {
					if unit != "" {
						b = append(b, unit...)
					} else { // each pattern starts with the one before
						b = append(b, "Disallow: /"+strings.Repeat("a", n)+"\n"...)
					}
				}
				return b
			}
			work := func(b []byte) func() {
				return func() { robots.Parse(b).Rules("anybot", origin).Match("/aaaaaaa") }
			}
			testaid.Linear(t, name, work(body(robots.MaxBytes/8)), work(body(robots.MaxBytes-1024)))
		})
	}
}
