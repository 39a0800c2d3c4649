package document

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// Feeds: RSS 0.9x, 1.0 and 2.0, and Atom. Each entry becomes a heading that leads where the entry
// does, and its text.

// maxEntry is how much of one entry's text is read, in bytes.
const maxEntry = 1 << 20

// charsetReader decodes XML that is not in UTF-8.
func charsetReader(label string, r io.Reader) (io.Reader, error) {
	if e, _ := charset.Lookup(label); e != nil {
		return e.NewDecoder().Reader(r), nil
	}
	return nil, fmt.Errorf("charset %q is not known", label)
}

// LooksLikeFeed reports whether XML that begins so is a feed, and of which type.
func LooksLikeFeed(first []byte) string {
	first = bytes.TrimPrefix(first, []byte("\xef\xbb\xbf"))
	for _, f := range [...]struct{ tag, kind string }{{"<rss", RSS}, {"<feed", Atom}, {"<rdf:RDF", RSS}} {
		i := bytes.Index(first, []byte(f.tag))
		if i < 0 || f.tag == "<rdf:RDF" && !bytes.Contains(first, []byte("purl.org/rss/1.0")) {
			continue
		}
		if before := bytes.TrimSpace(first[:i]); len(before) == 0 || before[0] == '<' && bytes.IndexByte(before, '<') == 0 && !bytes.Contains(before, []byte("<html")) {
			return f.kind
		}
	}
	return ""
}

// entry is what is read of an item or entry, and of the feed itself.
type entry struct{ title, text, link strings.Builder }

func readFeed(w *writer, f File) error {
	r := &feed{w: w}
	err := walkXML(bytes.NewReader(f.Body), handlers{start: r.start, end: r.end, text: r.text})
	if err != nil && !errors.Is(err, errFull) && (errors.Is(err, ErrTooMuch) || !r.any) {
		return err // a feed that breaks off has said what came before
	}
	if !r.any && err == nil {
		return errors.New("this is no feed")
	}
	w.cut = w.cut || err != nil
	return nil
}

type feed struct {
	w      *writer
	any    bool // it is a feed
	path   []string
	at     *entry
	whole  entry
	told   bool // the feed's own title is written
	markup bool // text of an Atom entry is XHTML
}

func (r *feed) start(e xml.StartElement) error {
	name := e.Name.Local
	r.path = append(r.path, name)
	switch name {
	case "rss", "feed", "RDF":
		r.any = true
		if lang := attribute(e, "lang"); r.w.lang == "" {
			r.w.lang = lang
		}
		if r.at == nil {
			r.at = &r.whole
		}
	case "item", "entry":
		if err := r.head(); err != nil {
			return err
		}
		r.at = new(entry)
	case "link":
		if href := attribute(e, "href"); href != "" && r.at != nil && r.at.link.Len() == 0 {
			if rel := attribute(e, "rel"); rel == "" || rel == "alternate" {
				r.at.link.WriteString(href)
			}
		}
	}
	return nil
}

func (r *feed) end(name string) error {
	if n := len(r.path); n > 0 {
		r.path = r.path[:n-1]
	}
	switch name {
	case "item", "entry":
		e := r.at
		r.at = &r.whole
		if e == nil || e == &r.whole {
			return nil
		}
		return r.write("h2", e)
	case "rss", "feed", "RDF":
		return r.head()
	}
	return nil
}

// head writes what the feed says of itself, once.
func (r *feed) head() error {
	if r.told {
		return nil
	}
	r.told = true
	r.w.setTitle(r.whole.title.String())
	return r.write("h1", &r.whole)
}

func (r *feed) write(block string, e *entry) error {
	w := r.w
	w.begin(block)
	if u := strings.TrimSpace(e.link.String()); u != "" {
		w.startLink(u)
	}
	if err := w.say(plain(e.title.String())); err != nil {
		return err
	}
	w.end()
	return prose(w, e.text.String())
}

// text takes what an element holds that says something.
func (r *feed) text(s string) error {
	if r.at == nil || len(r.path) == 0 {
		return nil
	}
	var to *strings.Builder
	for i := len(r.path) - 1; i >= 0 && to == nil; i-- {
		switch r.path[i] {
		case "title":
			to = &r.at.title
		case "link":
			to = &r.at.link
		case "description", "summary", "content", "encoded", "subtitle":
			to = &r.at.text
		case "item", "entry", "channel", "feed", "author", "image", "textinput":
			return nil
		}
	}
	if to != nil && to.Len()+len(s) <= maxEntry {
		to.WriteString(s)
	}
	return nil
}

// plain is the text of HTML without its tags.
func plain(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.Write(z.Text())
		}
	}
}

// prose writes the text and the links of HTML that stands in a feed; nothing else of it.
func prose(w *writer, s string) error {
	z := html.NewTokenizer(strings.NewReader(s))
	hidden := ""
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			w.end()
			return nil
		}
		switch kind {
		case html.TextToken:
			if hidden == "" {
				if err := w.say(html.UnescapeString(string(z.Raw()))); err != nil {
					return err
				}
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			switch t.Data {
			case "script", "style", "noscript", "template":
				if kind == html.StartTagToken {
					hidden = t.Data
				}
			case "a":
				for _, a := range t.Attr {
					if a.Key == "href" && hidden == "" {
						w.startLink(a.Val)
					}
				}
			case "p", "div", "li", "br", "tr", "blockquote", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table":
				w.begin("p")
			default:
				w.gap()
			}
		case html.EndTagToken:
			t := z.Token()
			if t.Data == hidden {
				hidden = ""
			}
			switch t.Data {
			case "a":
				w.endLink()
			case "p", "div", "li", "tr", "blockquote", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table":
				w.end()
			}
		}
	}
}
