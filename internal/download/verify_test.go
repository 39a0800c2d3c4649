package download

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/simnet"
)

// We read what sha256sum writes for unusual names, and sha256sum accepts what we write.
func TestSumsOfOddNames(t *testing.T) {
	odd := []string{"plain.csv", "two words", " leading", "trailing ", "back\\slash", "new\nline", "car\rriage", "\\", "-", "*star", "über", "\xff"}
	dir := t.TempDir()
	b := &manifestLog{dir: dir, byPath: map[string]resource{}, byURL: map[string]string{}}
	var args []string
	for _, name := range odd {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		at := name
		if at == "-" {
			at = "./-" // alone it means standard input; our names never have this form
		}
		b.byPath[at] = resource{Path: at, Hash: "sha256:" + sumOf([]byte(name))}
		args = append(args, "./"+name)
	}
	if err := replace(dir, sumsName, b.writeSums); err != nil {
		t.Fatal(err)
	}
	check := exec.Command("sha256sum", "-c", "--strict", sumsName)
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != len(odd) {
		t.Errorf("%v\n%s", err, out)
	}
	theirs := exec.Command("sha256sum", args...)
	theirs.Dir = dir
	out, err := theirs.Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		if sum, name, ok := parseSum(line); !ok || name != "./"+odd[i] || sum != sumOf([]byte(odd[i])) {
			t.Errorf("%q: %q, %q, %v", line, sum, name, ok)
		}
	}
	for _, bad := range []string{"", "x", strings.Repeat("0", 64), strings.Repeat("0", 64) + "  ", strings.Repeat("g", 64) + "  x", strings.Repeat("0", 64) + " x", "# comment"} {
		if _, _, ok := parseSum(bad); ok {
			t.Errorf("%q is a line?", bad)
		}
	}
}

func TestVerify(t *testing.T) {
	body := bytesOf(900)
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string) error
		want  string
	}{
		{"nothing", func(*testing.T, string) error { return nil }, ""},
		{"missing", func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "a.csv")) }, "missing a.csv"},
		{"changed", func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "a.csv"), append(body[:899:899], body[899]+1), 0o644)
		}, "changed a.csv"},
		{"a link to the same", func(_ *testing.T, dir string) error {
			at := filepath.Join(dir, "a.csv")
			if err := os.Rename(at, filepath.Join(filepath.Dir(dir), "elsewhere")); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(filepath.Dir(dir), "elsewhere"), at)
		}, "changed a.csv"},
		{"extra", func(_ *testing.T, dir string) error { return os.Mkdir(filepath.Join(dir, "more"), 0o755) }, "extra more"},
		{"unfinished", func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "b.csv.part"), nil, 0o644)
		}, "unfinished b.csv.part"},
		{"aside", func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "b.csv.mismatch"), nil, 0o644)
		}, "aside b.csv.mismatch"},
		{"no package", func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, packageName)) }, "missing datapackage.json"},
		{"a package that is none", func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, packageName), []byte("{"), 0o644)
		}, "changed datapackage.json"},
		{"other lists", func(_ *testing.T, dir string) error {
			b, err := openManifestLog(dir)
			if err != nil {
				return err
			}
			r := b.byPath["a.csv"]
			r.Bytes++
			b.byPath["a.csv"], b.byPath["c.csv"] = r, resource{Path: "c.csv"}
			return replace(dir, packageName, b.writePackage)
		}, "unlisted c.csv, changed a.csv"},
		{"sums that name what lies elsewhere", func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, sumsName), []byte(sumLine(sumOf(body), "../x")+"rubbish\n"+sumLine(sumOf(body), "a.csv")), 0o644)
		}, "changed SHA256SUMS, changed ../x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			simnet.Test(t, func(t *testing.T) {
				s := newSite(t, content(`"1"`, body)) // a site allows one visit at a time
				get(t, options(t, s, dir), datasetOf("http://d.example/a.csv"))
			})
			if err := c.spoil(t, dir); err != nil {
				t.Fatal(err)
			}
			rep, err := Verify(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range rep.Problems {
				got = append(got, fmt.Sprintf("%s %s", p.Problem, p.Path))
			}
			if s := strings.Join(got, ", "); s != c.want || rep.OK != (c.want == "") {
				t.Errorf("%s: %+v", s, rep)
			}
		})
	}
	if _, err := Verify(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "curtsy datasets get --dir") {
		t.Errorf("an empty directory: %v", err)
	}
}
