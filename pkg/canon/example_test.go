package canon_test

import (
	"fmt"

	"github.com/curtsy/curtsy/pkg/canon"
)

func ExampleParse() {
	for _, raw := range []string{
		"HTTP://Example.ORG:80/%7euser/./a/../b?x=1#top",
		"https://Bücher.example",
		"http://0x7f.1/",
		"mailto:someone@example.org",
	} {
		u, err := canon.Parse(raw)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(u)
	}
	// Output:
	// http://example.org/~user/b?x=1
	// https://xn--bcher-kva.example/
	// http://127.0.0.1/
	// not an absolute http or https URL
}

func ExampleBase_Join() {
	page, _ := canon.Parse("https://example.org/docs/intro.html")
	base := canon.NewBase(page)
	for _, href := range []string{"../img/a.png", "?print=1", "//cdn.example.net/x.css", "#part"} {
		u, _ := base.Join(href)
		fmt.Println(u)
	}
	// Output:
	// https://example.org/img/a.png
	// https://example.org/docs/intro.html?print=1
	// https://cdn.example.net/x.css
	// https://example.org/docs/intro.html
}

func ExampleHost_Registered() {
	u, _ := canon.Parse("https://www.shop.example.co.uk/cart")
	fmt.Println(u.Host(), u.Host().Registered(), u.Origin())
	// Output: www.shop.example.co.uk example.co.uk https://www.shop.example.co.uk
}
