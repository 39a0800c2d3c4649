package dashboard

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// checkMarkup fails for what a page must never have, whatever sites send: markup of sites, links
// elsewhere than to the web, links that send a referrer, fields without labels, tables that a
// screen reader cannot describe.
func checkMarkup(t *testing.T, body string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(body, "\u202e\u2066\x00") {
		t.Error("text of a site turns the direction of the page")
	}
	labels, ids := map[string]bool{}, map[string]bool{}
	each(doc, func(n *html.Node) {
		if n.Data == "label" {
			labels[attr(n, "for")] = true
		}
		if id := attr(n, "id"); id != "" && ids[id] {
			t.Errorf("two elements have the id %s", id)
		} else if id != "" {
			ids[id] = true
		}
	})
	each(doc, func(n *html.Node) {
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
				t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			}
		}
		switch n.Data {
		case "script":
			if src := attr(n, "src"); !strings.HasPrefix(src, "/static/") || n.FirstChild != nil {
				t.Errorf("a script: %q", src)
			}
		case "img", "object", "embed", "base", "style":
			t.Errorf("there is <%s>", n.Data)
		case "a":
			checkLink(t, n)
		case "table":
			if find(n, "caption") == nil {
				t.Error("a table has no caption")
			}
		case "th":
			if attr(n, "scope") == "" {
				t.Error("a <th> has no scope")
			}
		case "input", "select", "textarea":
			if attr(n, "type") != "hidden" && !labels[attr(n, "id")] {
				t.Errorf("<%s name=%q> has no label", n.Data, attr(n, "name"))
			}
		case "svg":
			if attr(n, "aria-hidden") != "true" && attr(n, "aria-label") == "" {
				t.Error("a picture has no text")
			}
		case "h1", "h2", "h3", "td", "dd", "p", "li":
			if n := longest(n); n > 2500 {
				t.Errorf("a text has %d characters", n)
			}
		}
	})
}

func checkLink(t *testing.T, n *html.Node) {
	t.Helper()
	u, err := url.Parse(attr(n, "href"))
	switch {
	case err != nil:
		t.Errorf("a link to %q: %v", attr(n, "href"), err)
	case u.Scheme == "" && u.Host == "":
	case u.Scheme != "http" && u.Scheme != "https":
		t.Errorf("a link to %q", u)
	case !strings.Contains(attr(n, "rel"), "noreferrer"):
		t.Errorf("the link to %q tells who looks", u)
	}
}

func each(n *html.Node, do func(*html.Node)) {
	if n.Type == html.ElementNode {
		do(n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		each(c, do)
	}
}

func find(n *html.Node, name string) (found *html.Node) {
	each(n, func(c *html.Node) {
		if c.Data == name && found == nil {
			found = c
		}
	})
	return found
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// longest is how many bytes the longest text right under n has.
func longest(n *html.Node) (most int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			most = max(most, len(c.Data))
		}
	}
	return most
}
