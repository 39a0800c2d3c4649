package htmlscan

import "github.com/curtsy/curtsy/internal/html"

// relation is the meaning of a rel attribute.
type relation struct {
	nofollow bool
	page     bool // for <link>: it leads to another page, not to a part of this one

	canonical bool // for <link>: its address is the page's own
	described bool // for <link>: it may lead to a description of the page
	linkset   bool // for <link>: it may lead to a set of links
	license   bool // it leads to a licence
	alternate bool // for <link>: it leads to another form of the page, for example a feed
}

// pageRelations are the relations of <link> that lead to pages. All others name parts of the page
// (stylesheet, icon, preload, manifest), hints for a browser (preconnect, dns-prefetch) or machine
// interfaces (search, pingback, EditURI).
var pageRelations = [...]string{"alternate", "canonical", "next", "prev", "previous", "first", "last", "start", "index", "up",
	"contents", "toc", "chapter", "section", "subsection", "appendix", "glossary", "help", "author", "license", "copyright",
	"bookmark", "home", "shortlink", "amphtml"}

// relationOf reads a rel attribute: words in any order and case, separated by white space.
func relationOf(v []byte) (r relation) {
	style := false
	for len(v) > 0 {
		n := 0
		for n < len(v) && !html.IsSpace(v[n]) {
			n++
		}
		word := v[:n]
		if n < len(v) {
			n++
		}
		v = v[n:]
		switch {
		case len(word) == 0:
		case html.Is(word, "nofollow"):
			r.nofollow = true
		case html.Is(word, "stylesheet"):
			style = true // an alternate stylesheet is no page
		default:
			r.canonical = r.canonical || html.Is(word, "canonical")
			r.alternate = r.alternate || html.Is(word, "alternate")
			r.license = r.license || html.Is(word, "license")
			r.described = r.described || html.Is(word, "alternate") || html.Is(word, "describedby")
			r.linkset = r.linkset || html.Is(word, "linkset")
			for _, p := range pageRelations {
				if html.Is(word, p) {
					r.page = true
					break
				}
			}
		}
	}
	r.page = r.page && !style
	return r
}

// pageType reports whether the type attribute of a link can be that of a page. rel=alternate is
// mostly a feed.
func pageType(v []byte) bool {
	for i, c := range v {
		if c == ';' {
			v = v[:i]
			break
		}
	}
	from, to := trimmed(v, 0, len(v))
	v = v[from:to]
	return len(v) == 0 || html.Is(v, "text/html") || html.Is(v, "application/xhtml+xml") || html.Is(v, "text/plain")
}

// dataType reports whether the type attribute of a link is a media type, with any parameters.
func dataType(v []byte, media string) bool {
	for i, c := range v {
		if c == ';' { // it may name a profile
			v = v[:i]
			break
		}
	}
	from, to := trimmed(v, 0, len(v))
	return html.Is(v[from:to], media)
}

// Refresh returns the address in the value of a Refresh header, whose syntax is that of
// <meta http-equiv=refresh>. ok is false if it contains no address.
func Refresh(value string) (address string, ok bool) {
	target, ok := refreshTarget([]byte(value))
	return string(target), ok
}

// LeadsToPage reports whether a link with these values of rel and type is followed as a link to a
// page.
func LeadsToPage(rel, kind string) bool {
	r := relationOf([]byte(rel))
	return r.page && !r.nofollow && pageType([]byte(kind))
}

// refreshTarget reads the content of <meta http-equiv=refresh> by the "shared declarative refresh
// steps" of the HTML standard, and returns the address in it: `5; url=next.html`. ok is false for a
// refresh of the page itself, which has no address.
func refreshTarget(v []byte) (target []byte, ok bool) {
	v = skipSpace(v)
	if len(v) == 0 || !html.IsDigit(v[0]) && v[0] != '.' {
		return nil, false
	}
	for len(v) > 0 && (html.IsDigit(v[0]) || v[0] == '.') {
		v = v[1:]
	}
	if len(v) == 0 || v[0] != ';' && v[0] != ',' && !html.IsSpace(v[0]) {
		return nil, false
	}
	v = skipSpace(v)
	if len(v) > 0 && (v[0] == ';' || v[0] == ',') {
		v = skipSpace(v[1:])
	}
	if len(v) >= 3 && html.Is(v[:3], "url") {
		if rest := skipSpace(v[3:]); len(rest) > 0 && rest[0] == '=' {
			v = skipSpace(rest[1:])
		}
	}
	if len(v) > 0 && (v[0] == '"' || v[0] == '\'') {
		quote := v[0]
		v = v[1:]
		for i, c := range v {
			if c == quote {
				v = v[:i]
				break
			}
		}
	}
	return v, len(v) > 0
}

func skipSpace(v []byte) []byte {
	for len(v) > 0 && html.IsSpace(v[0]) {
		v = v[1:]
	}
	return v
}
