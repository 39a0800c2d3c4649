package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

func TestReadSeeds(t *testing.T) {
	a := &app{stdin: strings.NewReader("# mine\n\nhttps://b.test/x#frag\n  HTTPS://A.test \n")}
	got, err := a.readSeeds([]string{"https://a.test/"}, "-")
	if err != nil {
		t.Fatal(err)
	}
	if want := "[https://a.test/ https://b.test/x]"; fmt.Sprint(got) != want {
		t.Errorf("readSeeds = %v, want %v", got, want)
	}
}

// Seeds stay in the spec, which is one NATS message, as long as they fit; then one a host stays.
func TestAddSeeds(t *testing.T) {
	var many []canon.URL
	for i := range 20000 {
		many = append(many, canon.URL(fmt.Sprintf("https://h%d.test/a/rather/long/path/to/page%d.html", i%100, i)))
	}
	spec := crawl.Spec{Scope: "host", Seeds: []string{"https://h0.test/"}}
	if err := addSeeds(&spec, many[:10]); err != nil || len(spec.Seeds) != 11 {
		t.Errorf("a few: %d seeds, %v", len(spec.Seeds), err)
	}
	if err := addSeeds(&spec, many[:10]); err != nil || len(spec.Seeds) != 11 {
		t.Errorf("the same again: %d seeds, %v", len(spec.Seeds), err)
	}
	if err := addSeeds(&spec, many); err != nil || len(spec.Seeds) != 100 {
		t.Errorf("many: %d seeds, %v; want one for each of 100 hosts", len(spec.Seeds), err)
	}
	spec = crawl.Spec{Scope: "prefix"}
	if err := addSeeds(&spec, many); err == nil {
		t.Error("many seeds with --scope prefix: no error")
	}
}
