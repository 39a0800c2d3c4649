package robotstag_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/curtsy/curtsy/pkg/robotstag"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func Example() {
	h := http.Header{}
	h.Add("X-Robots-Tag", "unavailable_after: 25 Jun 2030 15:00:00 PST")
	h.Add("X-Robots-Tag", "otherbot: noindex, nofollow")
	page := `<!doctype html><title>Hello</title><meta name="robots" content="nosnippet"><p>Hello!`

	s := robotstag.New("ExampleBot")
	s.AddHeaders(h)
	s.ScanHTML([]byte(page))

	d := s.Directives()
	fmt.Println("no excerpt:", d.NoSnippet)
	fmt.Println("out of the index in 2029:", d.At(time.Date(2029, 1, 1, 0, 0, 0, 0, time.UTC)).NoIndex)
	fmt.Println("out of the index in 2031:", d.At(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)).NoIndex)
	// Output:
	// no excerpt: true
	// out of the index in 2029: false
	// out of the index in 2031: true
}

// Sources explain the directives of a page.
func ExampleSet_Sources() {
	s := robotstag.New("ExampleBot")
	s.AddHeader("X-Robots-Tag", "noarchive; ExampleBot=noindex")
	s.AddMeta("robots", "all")
	for _, src := range s.Sources() {
		fmt.Printf("%s %s: %q\n", src.Where, src.Name, src.Value)
		for _, r := range src.Rules {
			fmt.Printf("  %s (to us alone: %v)\n", r.Name, r.Own)
		}
	}
	// Output:
	// header X-Robots-Tag: "noarchive; ExampleBot=noindex"
	//   noarchive (to us alone: false)
	//   noindex (to us alone: true)
	// meta robots: "all"
}

// A crawler that tokenizes a page once, for its links, uses a Head in the same loop.
func ExampleHead() {
	page := `<title>Shop</title><noscript><meta name=robots content=noarchive></noscript>
		<p>A visitor writes: <meta name=robots content=noindex> <a href=/next>next</a>`

	s := robotstag.New("ExampleBot")
	var head robotstag.Head
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		tt := z.Next()
		if tt == html.ErrorToken {
			break
		}
		switch tt {
		case html.TextToken:
			if !head.Closed() {
				head.Text(z.Text())
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			head.End(atom.Lookup(name))
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			tag := atom.Lookup(name)
			inHead := head.Start(tag)
			attrs := map[string]string{}
			for more {
				var key, val []byte
				key, val, more = z.TagAttr()
				attrs[string(key)] = string(val)
			}
			switch {
			case tag == atom.Meta && inHead:
				s.AddMeta(attrs["name"], attrs["content"])
			case tag == atom.A:
				fmt.Println("link:", attrs["href"])
			case tag == atom.Noscript:
				z.NextIsNotRawText()
			}
		}
	}
	fmt.Printf("%+v\n", s.Directives().NoArchive)
	fmt.Printf("%+v\n", s.Directives().NoIndex)
	// Output:
	// link: /next
	// true
	// false
}
