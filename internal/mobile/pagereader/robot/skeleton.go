package robot

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/pkg/robotstag"
)

// skeleton returns what is sent of a document whose robots tags ask that it is not indexed: those
// of its tags that a crawl needs, as HTML in which they mean the same. It is not ok for other
// documents, nor where the robot cannot be sure.
func (r *run) skeleton(body []byte) (tags []byte, ok bool) {
	r.tags.Reset(r.in.Token)
	for name, value := range reading.Head(r.head).All() {
		r.tags.AddHeader(name, value)
	}
	s := skeleton{set: &r.tags}
	contentType := reading.Head(r.head).Get("Content-Type")
	if isHTML(contentType) {
		page, known := asciiCompatible(body, contentType)
		if !known {
			return nil, false
		}
		if reading.MediaType(contentType) == html.TypeXHTML {
			page = html.FromXHTML(page)
		}
		s.scan(page)
	}
	if !r.tags.Directives().At(r.now).NoIndex {
		return nil, false
	}
	return s.out, true
}

func isHTML(contentType string) bool {
	media := reading.MediaType(contentType)
	return media == "text/html" || media == html.TypeXHTML
}

const bom = "\xEF\xBB\xBF"

// asciiCompatible returns a page in which an octet below 0x80 is that character. Nearly all
// charsets of the web are like that as far as tags go. UTF-16 is decoded. Charsets that change
// their meaning by escape sequences are not known here.
func asciiCompatible(body []byte, contentType string) (page []byte, known bool) {
	charset := strings.ToLower(contentType)
	_, charset, _ = strings.Cut(charset, "charset=")
	charset = strings.Trim(charset, "\"' ")
	switch {
	case bytes.HasPrefix(body, []byte(bom)):
	case bytes.HasPrefix(body, []byte("\xFE\xFF")):
		return decode16(body, true), true
	case bytes.HasPrefix(body, []byte("\xFF\xFE")):
		return decode16(body, false), true
	case strings.HasPrefix(charset, "utf-16be"):
		return decode16(body, true), true
	case strings.HasPrefix(charset, "utf-16"):
		return decode16(body, false), true
	case bytes.IndexByte(body, 0x1b) >= 0 || bytes.IndexByte(body, 0) >= 0:
		return nil, false
	}
	return body, true
}

// decode16 decodes UTF-16 into UTF-8 with a byte order mark, which comes before all other marks of
// a charset.
func decode16(body []byte, big bool) []byte {
	page := append(make([]byte, 0, len(bom)+len(body)), bom...)
	var high rune // the first half of a character
	for i := 0; i+1 < len(body); i += 2 {
		c := rune(body[i])<<8 | rune(body[i+1])
		if !big {
			c = c>>8 | c&0xff<<8
		}
		if i == 0 && c == 0xFEFF {
			continue
		}
		switch {
		case high != 0 && c >= 0xDC00 && c < 0xE000:
			page = utf8.AppendRune(page, 0x10000+(high-0xD800)<<10+(c-0xDC00))
			high = 0
			continue
		case high != 0:
			page = utf8.AppendRune(page, utf8.RuneError)
			high = 0
		}
		if c >= 0xD800 && c < 0xDC00 {
			high = c
			continue
		}
		page = utf8.AppendRune(page, c) // of a second half alone it makes U+FFFD
	}
	return page
}

// skeleton collects the tags of a page.
type skeleton struct {
	set    *robotstag.Set
	out    []byte
	inBody bool // what was written last is in the body
}

// scan reads a page.
func (s *skeleton) scan(page []byte) {
	if bytes.HasPrefix(page, []byte(bom)) {
		s.out = append(s.out, bom...)
	}
	var head robotstag.Head
	templates := 0 // open template elements, whose content does not belong to the page
	for z := (html.Reader{Page: page}); ; {
		kind, val, attrs := z.Next()
		switch kind {
		case html.End:
			return
		case html.Text:
			if !head.Closed() {
				head.Text(html.Unescape(val))
			}
		case html.EndTag:
			if !head.Closed() {
				head.End(atom.Lookup(val))
			}
			if templates > 0 && string(val) == "template" {
				templates--
			}
		case html.StartTag:
			metaInHead := !head.Closed() && head.Start(atom.Lookup(val))
			if string(val) == "template" {
				templates++
			} else if templates == 0 {
				s.element(string(val), attrs, metaInHead, !head.Closed())
			}
		}
	}
}

// element keeps an element that a crawl needs.
func (s *skeleton) element(name string, attrs []byte, metaInHead, inHead bool) {
	var keep []string
	switch name {
	case "meta":
		keep = s.meta(attrs, metaInHead)
	case "a", "area", "base", "link":
		if has(attrs, "href") {
			keep = []string{"href", "rel", "type"}
		}
	case "frame", "iframe":
		if has(attrs, "src") {
			keep = []string{"src"}
		}
	}
	if len(keep) == 0 {
		return
	}
	if !inHead && !s.inBody {
		s.out, s.inBody = append(s.out, "<body>\n"...), true
	}
	s.out = append(append(s.out, '<'), name...)
	for key, val, rest := html.NextAttr(attrs); key != nil; key, val, rest = html.NextAttr(rest) {
		for _, k := range keep {
			if html.Is(key, k) {
				s.attribute(k, val)
			}
		}
	}
	switch name {
	case "a", "iframe":
		s.out = append(append(append(s.out, "></"...), name...), ">\n"...)
	default:
		s.out = append(s.out, "/>\n"...)
	}
}

func has(attrs []byte, name string) bool {
	for key, _, rest := html.NextAttr(attrs); key != nil; key, _, rest = html.NextAttr(rest) {
		if html.Is(key, name) {
			return true
		}
	}
	return false
}

// attribute writes an attribute with its value as it stands in the page.
func (s *skeleton) attribute(name string, val []byte) {
	quote := byte('"')
	if bytes.IndexByte(val, '"') >= 0 {
		quote = '\''
	}
	s.out = append(append(append(s.out, ' '), name...), '=', quote)
	for _, c := range val {
		if c == quote { // a value without quotes may have both
			s.out = append(s.out, "&#39;"...)
		} else {
			s.out = append(s.out, c)
		}
	}
	s.out = append(s.out, quote)
}

// meta adds a robots tag to the set. It returns the attributes to keep of a meta element: of a
// robots tag, of a charset, and of a refresh, which leads to another page.
func (s *skeleton) meta(attrs []byte, inHead bool) (keep []string) {
	name, content := html.Value(html.Attr(attrs, "name")), html.Value(html.Attr(attrs, "content"))
	if inHead && s.set.WantsMeta(name) {
		s.set.AddMeta(string(name), string(content))
		keep = append(keep, "name", "content")
	}
	if equiv := html.Value(html.Attr(attrs, "http-equiv")); html.Is(equiv, "refresh") || html.Is(equiv, "content-type") {
		keep = append(keep, "http-equiv", "content")
	}
	if has(attrs, "charset") {
		keep = append(keep, "charset")
	}
	return keep
}
