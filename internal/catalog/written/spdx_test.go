package written

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// testdata/licenses.tsv has what publishers write for a licence, and its SPDX identifier. An empty
// one means that the text leaves it open, or that SPDX does not list the licence.
func TestSPDX(t *testing.T) {
	f, err := os.Open("testdata/licenses.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		in, want, ok := strings.Cut(lines.Text(), "\t")
		if strings.HasPrefix(in, "#") || in == "" {
			continue
		}
		if n++; !ok {
			t.Errorf("no tab in %q", in)
		}
		if got := SPDX(in); got != want {
			t.Errorf("SPDX(%q) = %q, want %q", in, got, want)
		}
		if upper := SPDX(strings.ToUpper(in)); upper != want && !strings.Contains(in, "ç") {
			t.Errorf("SPDX(%q) = %q, want %q", strings.ToUpper(in), upper, want)
		}
	}
	if n < 250 {
		t.Errorf("only %d rows", n)
	}
}

// Every identifier of SPDX's list is recognised, also as an address, and every name as well.
func TestSPDXList(t *testing.T) {
	names := map[string]string{}
	for line := range strings.Lines(spdxList) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(id, "#") {
			continue
		}
		want := id
		if _, now, ok := strings.Cut(name, "→\t"); ok {
			want, name = now, ""
		}
		if got := SPDX("https://spdx.org/licenses/" + id + ".html"); got != want {
			t.Errorf("the address of %s: %q", id, got)
		}
		if strings.ContainsAny(id, "-0123456789") || spdxWords[id] {
			if got := SPDX(id); got != want {
				t.Errorf("%s: %q, want %q", id, got, want)
			}
		} else if got := SPDX(id); got != "" {
			t.Errorf("%s is a word, and is read as %q", id, got)
		}
		for _, n := range []string{id, name} {
			if other, twice := names[plainLicense(n)]; n != "" && twice && other != want {
				t.Errorf("%q is %s and %s", n, other, want)
			}
			names[plainLicense(n)] = want
		}
		if name != "" && !strings.ContainsAny(name, ";|") {
			if got := SPDX(name); got != want {
				t.Errorf("%q: %q, want %q", name, got, want)
			}
		}
	}
	for id, others := range spdxOthers {
		if licenses().ids[strings.ToLower(id)] != id {
			t.Errorf("SPDX has no %s", id)
		}
		for _, name := range others {
			if got := SPDX(name); got != id {
				t.Errorf("%q: %q, want %q", name, got, id)
			}
		}
	}
	for at, id := range spdxURLs {
		if licenses().ids[strings.ToLower(id)] != id || SPDX("https://www."+at) != id {
			t.Errorf("%s: %q", at, SPDX("https://www."+at))
		}
	}
}

func TestSPDXLimit(t *testing.T) {
	name := "MIT" + strings.Repeat(" ", maxLicense-len("MIT")-len("License")) + "License"
	if got := SPDX(name); got != "MIT" {
		t.Errorf("%d bytes: %q", len(name), got)
	}
	if got := SPDX("x" + name); got != "" {
		t.Errorf("%d bytes: %q", len(name)+1, got)
	}
	if got := SPDX(strings.Replace(name, " ", "  ", 1)); got != "" {
		t.Errorf("%d bytes: %q", len(name)+1, got)
	}
}

func FuzzSPDX(f *testing.F) {
	for _, s := range []string{"CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/deed.de", "Creative Commons Attribution 4.0 International (CC BY 4.0)", "dl-de/by-2-0", "GPLv3+"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id := SPDX(s); id != "" && SPDX(id) != id {
			t.Errorf("%q is %q, and that is %q", s, id, SPDX(id))
		}
	})
}
