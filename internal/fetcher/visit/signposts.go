package visit

import (
	"net/http"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxSignposts is how many documents the header of one page leads to.
const maxSignposts = 20

// signposts are the documents that tell of what a page is about, as its Link headers name them
// (FAIR Signposting; RFC 8288): those with rel=describedby that say by their type, or in their
// name, that they are JSON-LD, and sets of links in JSON (rel=linkset; RFC 9264), in which the site
// says what else belongs together. Of other types there is no reader.
func signposts(h http.Header, at canon.URL) (links []canon.URL) {
	base := canon.NewBase(at)
	for _, line := range h["Link"] {
		for len(line) > 0 && len(links) < maxSignposts {
			var target, rel, kind string
			target, rel, kind, line = nextLink(line)
			u, err := base.Join(target)
			if err != nil || target == "" {
				continue
			}
			certain, possible := metaDocument(u, mediaType(kind), kind == "")
			rels := strings.Fields(strings.ToLower(rel))
			wanted := slices.Contains(rels, "describedby") && (certain || possible) ||
				slices.Contains(rels, "linkset") && mediaType(kind) == catalog.TypeLinkset
			if wanted && !slices.Contains(links, u) {
				links = append(links, u)
			}
		}
	}
	return links
}

// nextLink reads one link of a Link header. Whatever is no link is passed over.
func nextLink(line string) (target, rel, kind, rest string) {
	_, line, ok := strings.Cut(line, "<")
	if !ok {
		return "", "", "", ""
	}
	target, line, _ = strings.Cut(line, ">")
	for {
		line = strings.TrimLeft(line, " \t")
		if !strings.HasPrefix(line, ";") {
			return target, rel, kind, strings.TrimPrefix(line, ",")
		}
		line = strings.TrimLeft(line[1:], " \t")
		end := strings.IndexAny(line, "=;,")
		if end < 0 {
			return target, rel, kind, ""
		}
		name := strings.ToLower(strings.TrimSpace(line[:end]))
		if line = line[end:]; line[0] != '=' {
			continue
		}
		var value string
		if line = strings.TrimLeft(line[1:], " \t"); strings.HasPrefix(line, `"`) {
			value, line, _ = strings.Cut(line[1:], `"`)
		} else if end = strings.IndexAny(line, ";,"); end < 0 {
			value, line = line, ""
		} else {
			value, line = line[:end], line[end:]
		}
		switch name {
		case "rel":
			rel = value
		case "type":
			kind = value
		}
	}
}
