package crawl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
)

func TestForget(t *testing.T) {
	var s Spec
	for _, text := range []string{"D.example", "https://E.example/a", "http://e.example:80/b/?x", "d.example"} {
		entry, err := ParseForgotten(text)
		if err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(s.Forgotten)
		next, _, err := s.Forget(entry, false)
		if err != nil || !slices.Equal(before, s.Forgotten) {
			t.Fatalf("%v; the old spec is %v, was %v", err, s.Forgotten, before)
		}
		s = next
	}
	if want := []string{"d.example", "http://e.example/b/?x", "https://e.example/a"}; !slices.Equal(s.Forgotten, want) {
		t.Errorf("forgotten: %q, want %q", s.Forgotten, want)
	}
	f := NewForgotten(s.Forgotten)
	for u, want := range map[canon.URL]bool{
		"https://d.example/": true, "http://d.example:8080/x": true, "https://www.d.example/": false, "https://e.example/a": true, "https://e.example/ab": true,
		"http://e.example/a": false, "http://e.example/b/?xy": true, "http://e.example/b/": false,
	} {
		if f.Has(u) != want {
			t.Errorf("%s: %v", u, !want)
		}
	}
	if all, some := f.Host("d.example"); !all || some {
		t.Error("a host")
	}
	if all, some := f.Host("e.example"); all || !some {
		t.Error("a host with prefixes")
	}
	if (Forgotten{}).Has("https://d.example/") {
		t.Error("nothing forgotten")
	}
	back, changed, err := s.Forget("d.example", true)
	if err != nil || !changed || NewForgotten(back.Forgotten).Has("https://d.example/") {
		t.Errorf("undone: %v, %v, %v", back.Forgotten, changed, err)
	}
	if _, changed, _ := back.Forget("d.example", true); changed {
		t.Error("undone twice")
	}
	for _, text := range []string{"", "no host", "ftp://d.example/", "/path"} {
		if e, err := ParseForgotten(text); err == nil || !strings.Contains(err.Error(), "d.example") {
			t.Errorf("%q: %q, %v", text, e, err)
		}
	}
}

func TestForgetLimits(t *testing.T) {
	var s Spec
	for i := range MaxForgotten - 1 {
		s.Forgotten = append(s.Forgotten, fmt.Sprintf("h%04d.example", i))
	}
	s, _, err := s.Forget("z.example", false)
	if err != nil || len(s.Forgotten) != MaxForgotten {
		t.Errorf("at the limit: %d, %v", len(s.Forgotten), err)
	}
	if _, changed, err := s.Forget("zz.example", false); !errors.Is(err, ErrForgetFull) || changed {
		t.Errorf("past the limit: %v", err)
	}
	long := "https://l.example/" + strings.Repeat("x", MaxForgottenBytes)
	if _, _, err := (Spec{}).Forget(long[:MaxForgottenBytes], false); err != nil {
		t.Errorf("as many bytes as may be: %v", err)
	}
	if _, _, err := (Spec{}).Forget(long, false); !errors.Is(err, ErrForgetFull) {
		t.Errorf("more bytes than may be: %v", err)
	}
}
