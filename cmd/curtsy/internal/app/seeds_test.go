package app

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

func TestReadSeeds(t *testing.T) {
	a := &App{Stdin: strings.NewReader("# mine\n\nhttps://b.test/x#frag\n  HTTPS://A.test \n")}
	got, err := a.ReadSeeds([]string{"https://a.test/"}, "-", new(config.Plan))
	if err != nil {
		t.Fatal(err)
	}
	if want := "[https://a.test/ https://b.test/x]"; fmt.Sprint(got) != want {
		t.Errorf("readSeeds = %v, want %v", got, want)
	}
}

// A person who types a name or a password expects it to be sent. So it is refused, and the error
// names the place for it and a command that works, and does not quote it.
func TestSeedsWithUserinfo(t *testing.T) {
	for raw, want := range map[string]string{
		"https://me:secret@a.test/x":  "use https://a.test/x",
		"https://secret@a.test":       "use https://a.test",
		"http://u:secret@e@a.test?@b": "use http://a.test?@b",
		"https://a.test/@user":        "",
		"https://a.test/?to=me@b":     "",
		"https://a.test/#me@b":        "",
	} {
		a := &App{Stdin: strings.NewReader(raw), Stderr: io.Discard}
		for i, read := range []func() error{
			func() error { _, err := a.ReadSeeds([]string{raw}, "", new(config.Plan)); return err },
			func() error { _, err := a.ReadSeeds(nil, "-", new(config.Plan)); return err },
		} {
			err := read()
			switch {
			case want == "" && err != nil, want != "" && err == nil:
				t.Errorf("%s (%d): %v", raw, i, err)
			case want != "" && (!strings.HasSuffix(err.Error(), want) || !strings.Contains(err.Error(), "a file for --credentials") || strings.Contains(err.Error(), "secret") || a.exitCode(t.Context(), err) != 2):
				t.Errorf("%s (%d): %v", raw, i, err)
			}
		}
	}
}

// Seeds stay in the spec, which is one NATS message, as long as they fit. Beyond that, one seed of
// each host stays.
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
