package scope_test

import (
	"fmt"

	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/pkg/canon"
)

func ExampleScope_Decide() {
	seed, _ := canon.Parse("https://docs.example.org/manual/")
	s, err := scope.New(scope.Spec{Seeds: []canon.URL{seed}, Exclude: []string{`\.zip$`}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, raw := range []string{
		"https://www.example.org/about",
		"https://docs.example.org/manual/all.zip",
		"https://elsewhere.example.net/",
	} {
		u, _ := canon.Parse(raw)
		d := s.Decide(u)
		fmt.Println(d.In, d.Rule)
	}
	// Output:
	// true domain example.org
	// false exclude: \.zip$
	// false outside domain example.org
}

func ExampleTrap() {
	u, _ := canon.Parse("https://example.org/news/en/news/en/news/en/news/en/")
	fmt.Println(scope.Trap(u))
	// Output: trap: path repeats "news/en" 4 times true
}
