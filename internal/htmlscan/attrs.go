package htmlscan

// relation is what a rel attribute says of a link.
type relation struct {
	nofollow bool
	page     bool // for <link>: it leads to a page of its own, not to something the page is made of

	canonical bool // for <link>: it leads to the page's own address
	described bool // for <link>: it may lead to a description of the page
	linkset   bool // for <link>: or to a set of links
	license   bool // it leads to a licence
	alternate bool // for <link>: it leads to the same in another form: a feed, by its type
}

// pageRelations are the relations of <link> that lead to pages. All others name parts of the page
// (stylesheet, icon, preload, manifest), hints to a browser (preconnect, dns-prefetch) or machine
// interfaces (search, pingback, EditURI).
var pageRelations = [...]string{"alternate", "canonical", "next", "prev", "previous", "first", "last", "start", "index", "up",
	"contents", "toc", "chapter", "section", "subsection", "appendix", "glossary", "help", "author", "license", "copyright",
	"bookmark", "home", "shortlink", "amphtml"}

// relationOf reads a rel attribute: words in any order and case, separated by white space.
func relationOf(v []byte) (r relation) {
	style := false
	for len(v) > 0 {
		n := 0
		for n < len(v) && !isSpace(v[n]) {
			n++
		}
		word := v[:n]
		if n < len(v) {
			n++
		}
		v = v[n:]
		switch {
		case len(word) == 0:
		case equalFold(word, "nofollow"):
			r.nofollow = true
		case equalFold(word, "stylesheet"):
			style = true // an alternate stylesheet is no alternate page
		default:
			r.canonical = r.canonical || equalFold(word, "canonical")
			r.alternate = r.alternate || equalFold(word, "alternate")
			r.license = r.license || equalFold(word, "license")
			r.described = r.described || equalFold(word, "alternate") || equalFold(word, "describedby")
			r.linkset = r.linkset || equalFold(word, "linkset")
			for _, p := range pageRelations {
				if equalFold(word, p) {
					r.page = true
					break
				}
			}
		}
	}
	r.page = r.page && !style
	return r
}

// pageType reports whether a link's type attribute can be that of a page: rel=alternate
// is most often a feed.
func pageType(v []byte) bool {
	for i, c := range v {
		if c == ';' {
			v = v[:i]
			break
		}
	}
	from, to := trim(v, 0, len(v))
	v = v[from:to]
	return len(v) == 0 || equalFold(v, "text/html") || equalFold(v, "application/xhtml+xml") || equalFold(v, "text/plain")
}

// dataType reports whether a link's type attribute is the media type, parameters aside.
func dataType(v []byte, media string) bool {
	for i, c := range v {
		if c == ';' { // it may name a profile
			v = v[:i]
			break
		}
	}
	from, to := trim(v, 0, len(v))
	return equalFold(v[from:to], media)
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

// refreshTarget reads the content of <meta http-equiv=refresh> as the HTML standard's shared
// declarative refresh steps do, and returns the address in it: `5; url=next.html`. A refresh of the
// page itself, without an address, is none.
func refreshTarget(v []byte) (target []byte, ok bool) {
	v = skipSpace(v)
	if len(v) == 0 || !isDigit(v[0]) && v[0] != '.' {
		return nil, false
	}
	for len(v) > 0 && (isDigit(v[0]) || v[0] == '.') {
		v = v[1:]
	}
	if len(v) == 0 || v[0] != ';' && v[0] != ',' && !isSpace(v[0]) {
		return nil, false
	}
	v = skipSpace(v)
	if len(v) > 0 && (v[0] == ';' || v[0] == ',') {
		v = skipSpace(v[1:])
	}
	if len(v) >= 3 && equalFold(v[:3], "url") {
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
	for len(v) > 0 && isSpace(v[0]) {
		v = v[1:]
	}
	return v
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// equalFold compares ignoring the case of ASCII letters; lower must be lower case.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
