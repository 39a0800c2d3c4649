// Package uses combines what robots.txt, headers and markup state about the use of one URL.
// pkg/robots, pkg/robotstag and htmlscan have read the statements, and this package adds them to a
// usage.Set. Like those packages it needs neither files nor the network.
package uses

import (
	"net/http"
	"strings"

	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/robotstag"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Robots adds what a robots.txt states about a URL, by the rules for us. pathQuery is that of
// Rules.Match. If the robots.txt states nothing, Robots allocates nothing.
func Robots(s *usage.Set, rules *robots.Rules, pathQuery string) {
	for _, l := range rules.Usage(pathQuery) {
		Line(s, l)
	}
}

// Line adds what one line of a robots.txt states.
func Line(s *usage.Set, l robots.UsageLine) {
	at := usage.Position{From: "robots.txt", Line: l.Line}
	switch l.Kind {
	case robots.ContentUsage:
		s.ContentUsage(at, l.Statement)
	case robots.ContentSignal:
		s.ContentSignal(at, l.Statement)
	case robots.License:
		s.License(at, l.Statement)
	}
}

// Training adds a statement about training if a robots.txt names crawlers that collect texts for
// training models, and closes the whole site to each of those that it names (formats §8.21).
func Training(s *usage.Set, file *robots.File, origin robots.Origin) {
	var closed robots.Verdict
	for _, token := range usage.TrainingTokens {
		if !file.Names(token) {
			continue
		}
		v := file.Rules(token, origin).Match("/")
		if v.Allowed || v.Line == 0 {
			return
		}
		if closed.Line == 0 {
			closed = v
		}
	}
	if closed.Line > 0 {
		s.Inferred(usage.Position{From: "robots.txt", Line: closed.Line}, closed.Rule)
	}
}

// Answer adds the statements in the header of an answer, and those in its page if the answer is
// one. url is the URL that was requested. Answer keeps nothing of r.
func Answer(s *usage.Set, header http.Header, r *htmlscan.Result, url string) {
	s.Headers(header)
	tags(s, r, strings.HasPrefix(strings.ToLower(header.Get("Content-Type")), "image/"))
	for _, m := range r.Marks {
		switch m.Kind {
		case htmlscan.MetaMark:
			s.Meta(m.Line, m.Name, m.Value)
		case htmlscan.LicenseLink:
			s.Link(usage.Position{From: "link rel=license", Line: m.Line}, m.Value)
		case htmlscan.LicenseText:
			at := usage.Position{From: "script " + usage.RSLType, Line: m.Line}
			doc, err := usage.ParseRSL([]byte(m.Value))
			if err != nil {
				s.Odd(at, err.Error(), m.Value)
				continue
			}
			s.RSL(doc, at, url)
		}
	}
}

// tags adds the robots tags about generative AI.
func tags(s *usage.Set, r *htmlscan.Result, image bool) {
	if !r.Directives.NoAI && !r.Directives.NoImageAI {
		return
	}
	var shown robotstag.Directives
	lines := map[string]int{}
	for _, src := range r.Tags {
		from := src.Where + " " + src.Name
		lines[from]++
		for _, rule := range src.Rules {
			if rule.Name == "noai" || rule.Name == "noimageai" {
				s.Tag(usage.Position{From: from, Line: lines[from]}, rule.Name, image)
				shown = shown.Merge(src.Directives())
			}
		}
	}
	// The sources in r.Tags are limited in number. Tags beyond the limit count as well.
	at := usage.Position{From: "robots tag", Line: 1}
	if r.Directives.NoAI && !shown.NoAI {
		s.Tag(at, "noai", image)
	}
	if r.Directives.NoImageAI && !shown.NoImageAI {
		s.Tag(at, "noimageai", image)
	}
}
