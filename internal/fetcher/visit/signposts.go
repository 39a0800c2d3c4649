package visit

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
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
			var l link
			l, line = nextLink(line)
			u, err := base.Join(l.target)
			if err != nil || l.target == "" {
				continue
			}
			certain, possible := metaDocument(u, mediaType(l.kind), l.kind == "")
			rels := l.relations()
			wanted := slices.Contains(rels, "describedby") && (certain || possible) ||
				slices.Contains(rels, "linkset") && mediaType(l.kind) == catalog.TypeLinkset
			if wanted && !slices.Contains(links, u) {
				links = append(links, u)
			}
		}
	}
	return links
}

// signs are what links in a header may say of the dataset that a page is about.
var signs = []string{"type", "cite-as", "license", "item"}

// signposted is what a page's Link headers say of the dataset that it is about, as a set of links
// in JSON. nil: nothing, or more than a page may bring; sites that have more to say keep a set of
// links (rel=linkset). A link with another anchor than the page does not speak of it.
func signposted(h http.Header, at canon.URL) []byte {
	type target struct {
		Href  string `json:"href"`
		Type  string `json:"type,omitempty"`
		Title string `json:"title,omitempty"`
	}
	stated, isDataset := map[string][]target{}, false
	for _, line := range h["Link"] {
		for len(line) > 0 {
			var l link
			l, line = nextLink(line)
			if l.target == "" || l.anchor != "" && !isPage(l.anchor, at) {
				continue
			}
			for _, rel := range l.relations() {
				if slices.Contains(signs, rel) {
					stated[rel] = append(stated[rel], target{l.target, l.kind, l.title})
					isDataset = isDataset || rel == "type" && catalog.IsDatasetType(l.target)
				}
			}
		}
	}
	if !isDataset || len(stated["item"])+len(stated["cite-as"]) == 0 {
		return nil
	}
	context := map[string]any{"anchor": at}
	for rel, targets := range stated {
		context[rel] = targets
	}
	set, err := json.Marshal(map[string]any{"linkset": []any{context}})
	if err != nil || len(set) > crawl.MaxSignposts {
		return nil
	}
	return set
}

// isPage reports whether an anchor is the page itself, and not a part of it.
func isPage(anchor string, at canon.URL) bool {
	u, err := canon.NewBase(at).Join(anchor)
	return err == nil && u == at && !strings.Contains(anchor, "#")
}

// link is one of a Link header.
type link struct{ target, rel, kind, title, anchor string }

func (l *link) relations() []string { return strings.Fields(strings.ToLower(l.rel)) }

// nextLink reads one link of a Link header. Whatever is no link is passed over. Of a parameter that
// comes twice the first counts (RFC 8288 §3.2, §3.3).
func nextLink(line string) (l link, rest string) {
	_, line, ok := strings.Cut(line, "<")
	if !ok {
		return link{}, ""
	}
	l.target, line, _ = strings.Cut(line, ">")
	seen := map[string]bool{}
	for {
		line = strings.TrimLeft(line, " \t")
		if !strings.HasPrefix(line, ";") {
			return l, strings.TrimPrefix(line, ",")
		}
		line = strings.TrimLeft(line[1:], " \t")
		end := strings.IndexAny(line, "=;,")
		if end < 0 {
			return l, ""
		}
		name := strings.ToLower(strings.TrimSpace(line[:end]))
		if line = line[end:]; line[0] != '=' {
			continue
		}
		var value string
		if line = strings.TrimLeft(line[1:], " \t"); strings.HasPrefix(line, `"`) {
			value, line = quoted(line[1:])
		} else if end = strings.IndexAny(line, ";,"); end < 0 {
			value, line = line, ""
		} else {
			value, line = line[:end], line[end:]
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		switch name {
		case "rel":
			l.rel = value
		case "type":
			l.kind = value
		case "title":
			l.title = value
		case "anchor":
			l.anchor = value
		}
	}
}

// quoted reads a quoted string whose first quote was read (RFC 9110 §5.6.4).
func quoted(s string) (value, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
