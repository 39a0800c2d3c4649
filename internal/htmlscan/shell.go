package htmlscan

import (
	"bytes"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The limits of what a page may have that is nothing without its scripts. They were chosen with one
// half of the pages in testdata/shells; TestShells shows what they do with the other half.
const (
	// shellText is how many bytes of text, without white space, such a page has at most: a notice
	// that it is being loaded, a few words of a footer.
	shellText = 160
	// shellNotice is the same for text in noscript. More than that is a page for readers without
	// scripts, which we are.
	shellNotice = 300
	// shellLinks is how many links it has at most.
	shellLinks = 3
	// shellWait is how many bytes of text a page has at most that has nothing but this text to show
	// that it is a shell: a request to wait.
	shellWait = 60
	// shellInline is how many bytes a script in a page without the mark of an application has at
	// least. A shorter one can lead to another page, but it builds none.
	shellInline = 200
)

// shell gathers whether a page is nothing without its scripts. It looks at a page only until it
// knows better: an ordinary page has enough text in its first lines.
type shell struct {
	open bool // the page may still be a shell

	text, notice int // bytes of text, and of text in noscript
	waiting      int // bytes of text that asks to wait
	links        int
	noscripts    int // open noscript elements
	page         canon.URL

	heading bool // the last tag began a heading of the first rank

	mount  bool // there is a mark of an application
	inline bool // there is a script in the page that is not one that counts visitors
	script bool // there is a script of the site that may build the page
	remote bool // there is a script of another host, which is mostly one that counts visitors
	says   bool // text in noscript says that JavaScript is needed
	image  bool
}

func (s *shell) reset(page canon.URL) { *s = shell{open: true, page: page} }

// needsScript decides when the whole page was read.
func (s *shell) needsScript() bool {
	switch {
	case !s.open:
		return false
	case s.mount && (s.script || s.remote || s.inline), s.says && s.script:
		return true // with as much text as is allowed
	}
	// Without a mark it must be empty. A short page with text is a short page: "It works!".
	return s.script && !s.image && s.links == 0 && s.text == s.waiting && s.text <= shellWait
}

// words looks at text of the body.
func (s *shell) words(text []byte) {
	n := visible(text)
	if n == 0 {
		return
	}
	if s.noscripts > 0 {
		s.notice += n
		s.says = s.says || contains(text, "javascript")
		s.open = s.notice <= shellNotice
		return
	}
	s.text += n
	waits := n <= shellWait && (contains(text, "loading") || contains(text, "wait"))
	if waits {
		s.waiting += n
	}
	s.open = s.text <= shellText && (waits || !s.heading)
}

// visible counts the bytes of a text that are no white space. A character reference counts as one.
func visible(text []byte) (n int) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c <= ' ' {
			continue
		}
		if c == '&' {
			if end := bytes.IndexByte(text[i:min(len(text), i+10)], ';'); end > 0 {
				if bytes.HasPrefix(text[i:], []byte("&nbsp")) {
					n--
				}
				i += end
			}
		}
		if n++; n > shellNotice {
			return n // it is enough for every limit
		}
	}
	return n
}

// contains reports whether a text has a word, which is in lower case.
func contains(text []byte, word string) bool {
	for ; len(text) >= len(word); text = text[1:] {
		if text[0]|0x20 == word[0] && html.Is(text[:len(word)], word) {
			return true
		}
	}
	return false
}

// end looks at the end of an element.
func (s *shell) end(name []byte) {
	s.heading = false
	if s.noscripts > 0 && string(name) == "noscript" {
		s.noscripts--
	}
}

// start looks at the beginning of an element, outside of templates.
func (s *shell) start(z *html.Reader, name, attrs []byte) {
	s.heading = string(name) == "h1"
	if s.noscripts > 0 {
		return // the pictures that count visitors are here, and frames
	}
	switch string(name) {
	case "noscript":
		s.noscripts++
		return
	case "script":
		s.run(z, attrs)
		return
	case "a":
		if s.links++; s.links > shellLinks {
			s.open = false
		}
		return
	case "frameset", "select", "textarea", "embed", "object", "video", "audio", "table":
		s.open = false // there is something to see
		return
	case "input":
		if !html.Is(html.Value(html.Attr(attrs, "type")), "hidden") {
			s.open = false // a form, as for logging in
		}
		return
	case "iframe":
		if src := html.Attr(attrs, "src"); len(src) > 0 && !contains(src[:min(len(src), 11)], "javascript:") && !contains(src[:min(len(src), 6)], "about:") {
			s.open = false // its content is at another address, which is a link
		}
		return
	case "meta":
		if html.Is(html.Value(html.Attr(attrs, "http-equiv")), "refresh") {
			s.open = false // it leads to another page
		}
		return
	case "img":
		s.image = true
		return
	}
	if !s.mount {
		s.mount = isMount(name, attrs)
	}
}

// mounts are the values of id that the tools of applications give to the element in which an
// application is shown.
var mounts = [...]string{"root", "app", "__next", "__nuxt", "___gatsby", "svelte", "main-app", "app-root", "react-root", "reactroot",
	"react-app", "application", "app-container", "app-mount", "appmount", "mount", "swagger-ui", "redoc", "redoc-container", "elm", "__docusaurus", "q-app",
	"ember-application", "main-outlet", "kbn-loading-message", "vue-app", "sapper", "root-app", "spa", "ext-viewport",
	"single-spa-application", "blazor-error-ui", "components-reconnect-modal", "graphiql", "scalar-app", "storybook-root", "api-reference"}

// isMount reports whether an element is the place of an application: it has the id of one, the mark
// of a framework, or is an element of the site's own.
func isMount(name, attrs []byte) bool {
	if len(attrs) == 0 {
		return len(name) > 3 && bytes.IndexByte(name, '-') > 0 || string(name) == "redoc"
	}
	if bytes.IndexByte(name, '-') > 0 || string(name) == "redoc" {
		return true
	}
	for key, val, rest := html.NextAttr(attrs); key != nil; key, val, rest = html.NextAttr(rest) {
		switch {
		case html.Is(key, "id"):
			for _, m := range mounts {
				if html.Is(val, m) {
					return true
				}
			}
		case html.Is(key, "ng-app"), html.Is(key, "data-ng-app"), html.Is(key, "ng-view"), html.Is(key, "ui-view"), html.Is(key, "data-reactroot"),
			html.Is(key, "data-sveltekit-preload-data"), html.Is(key, "data-main"), html.Is(key, "data-page"), html.Is(key, "v-cloak"):
			return true
		}
	}
	return false
}

// run looks at a script element.
func (s *shell) run(z *html.Reader, attrs []byte) {
	src := html.Attr(attrs, "src")
	kind := html.Value(html.Attr(attrs, "type"))
	module := html.Is(kind, "module")
	if len(kind) > 0 && !module && !contains(kind, "javascript") && !contains(kind, "ecmascript") && !contains(kind, "babel") {
		return // data, a template
	}
	if len(src) == 0 {
		text := z.Raw()
		if len(text) > 0 && !counts(text[:min(len(text), 4<<10)]) {
			s.inline = true
			s.script = s.script || module || len(text) >= shellInline
		}
		return
	}
	src = html.Value(src)
	switch {
	case counts(src):
	case s.foreign(src):
		s.remote = true
	default:
		s.script = true
	}
}

// foreign reports whether an address is of another host than the page.
func (s *shell) foreign(src []byte) bool {
	src = skipSpace(src)
	n := bytes.Index(src[:min(len(src), len("https://"))], []byte("//"))
	if n < 0 {
		return false
	}
	host := src[n+2:]
	if end := bytes.IndexAny(host, ":/?#"); end >= 0 {
		host = host[:end]
	}
	return !html.Is(host, string(s.page.Host()))
}

// counters are in the scripts of services that count visitors, ask them for consent or show
// advertisements. They do not build pages.
var counters = [...]string{"gtag", "googletagmanager", "google-analytics", "analytics", "_paq", "matomo", "piwik", "fbq(", "hotjar", "plausible", "umami",
	"clarity.ms", "adsbygoogle", "cookieconsent", "cloudflareinsights", "speculationrules", "goatcounter", "yandex", "hm.baidu", "statcounter", "newrelic", "nreum"}

// counts reports whether a script, or its address, is one that counts visitors.
func counts(script []byte) bool {
	for _, word := range counters {
		if contains(script, word) {
			return true
		}
	}
	return false
}
