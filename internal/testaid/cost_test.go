package testaid

import (
	"bytes"
	"fmt"
	"testing"
)

// complaints is a test that keeps its errors.
type complaints struct {
	testing.TB
	all []string
}

func (c *complaints) Helper() {}
func (c *complaints) Errorf(format string, args ...any) {
	c.all = append(c.all, fmt.Sprintf(format, args...))
}

// costs returns the errors of CheckCost for a page that costs what cost does for its size.
func costs(t *testing.T, size int, cost func(size int) func()) []string {
	c := &complaints{TB: t}
	pages := func(size int) []Bomb { return []Bomb{{"a page", make([]byte, size)}} }
	CheckCost(c, "reading", size, pages, func(b Bomb) func() { return cost(len(b.Body)) })
	return c.all
}

var kept []byte

// TestCheckCostAllocates: the size of the page is allowed in addition to the limit.
func TestCheckCostAllocates(t *testing.T) {
	const size = 32 << 20
	for alloc, want := range map[int]int{MaxAlloc: 0, MaxAlloc + size + 1<<20: 1} {
		got := costs(t, size, func(n int) func() {
			if n < size {
				return func() {}
			}
			return func() { kept = make([]byte, alloc) }
		})
		if len(got) != want {
			t.Errorf("%d bytes allocated: %q, want %d errors", alloc, got, want)
		}
	}
	kept = nil
}

// TestBombs: each page has a name of its own and about the requested size. A document may be
// smaller, because it has a limited number of parts.
func TestBombs(t *testing.T) {
	for what, bombs := range map[string]func(int) []Bomb{"HTML": HTMLBombs, "JSON": JSONBombs} {
		for _, size := range []int{16 << 10, 256 << 10} {
			names := map[string]bool{}
			for _, b := range bombs(size) {
				if names[b.Name] {
					t.Errorf("%s: two are named %q", what, b.Name)
				}
				names[b.Name] = true
				if n := len(b.Body); what == "HTML" && n < size/2 || n > 2*size+128<<10 {
					t.Errorf("%s, %s: %d bytes, and %d were requested", what, b.Name, n, size)
				}
				if what == "JSON" && !bytes.ContainsAny(b.Body[:1], "[{") {
					t.Errorf("%s, %s begins with %q", what, b.Name, b.Body[:1])
				}
			}
			if len(names) < 20 {
				t.Errorf("%s: only %d pages", what, len(names))
			}
		}
	}
}
