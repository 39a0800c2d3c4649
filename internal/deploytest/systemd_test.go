//go:build external

package deploytest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExternalSmokeSystemd checks the units with the tools of systemd: it knows all settings in
// them, the programs that they start exist, and each exposes little (at most 2.0 of 10; a renderer
// makes namespaces for its browsers, and has 2.1).
func TestExternalSmokeSystemd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The programs where these tests build them.
	bin := filepath.Dir(program(t, "curtsy"))
	files, err := filepath.Glob(filepath.Join(root, "deploy", "systemd", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var units []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		body := strings.NewReplacer("/usr/lib/curtsy/", bin+"/", "/usr/bin/", bin+"/").Replace(string(text))
		unit := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(unit, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(file) {
		case ".target":
			units = append(units, unit)
		case ".service":
			units = append(units, unit)
			threshold := "--threshold=20"
			if filepath.Base(file) == "curtsy-renderer.service" {
				threshold = "--threshold=21"
			}
			run(t, "systemd-analyze", "security", "--offline=true", threshold, "--no-pager", unit)
		}
	}
	if len(units) != 8 {
		t.Errorf("there are %d units", len(units))
	}
	// It warns about what it does not know, and still ends without an error.
	out, err := try("sh", append([]string{"-c", `systemd-analyze verify --man=no --recursive-errors=no "$@" 2>&1`, "sh"}, units...)...)
	if err != nil || strings.Contains(string(out), dir) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	under := t.TempDir()
	for _, d := range []string{"etc", "usr/lib/sysusers.d", "usr/lib/tmpfiles.d"} {
		if err := os.MkdirAll(filepath.Join(under, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "systemd-sysusers", "--root="+under, filepath.Join(dir, "curtsy.sysusers"))
	run(t, "systemd-tmpfiles", "--root="+under, "--create", filepath.Join(dir, "curtsy.tmpfiles"))
	if info, err := os.Stat(filepath.Join(under, "var/lib/curtsy")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("/var/lib/curtsy: %v %v", info, err)
	}
}
