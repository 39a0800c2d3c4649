package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/version"
)

// commitTime is the time of the commit in these tests.
var commitTime = time.Date(2026, 11, 27, 6, 12, 24, 0, time.UTC)

// untar returns the entries of a tar archive, in their order.
func untar(t *testing.T, body []byte) (names []string, headers map[string]*tar.Header, files map[string][]byte) {
	t.Helper()
	headers, files = map[string]*tar.Header{}, map[string][]byte{}
	r := tar.NewReader(bytes.NewReader(body))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return names, headers, files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		names, headers[h.Name] = append(names, h.Name), h
	}
}

// An archive has its files in a fixed order, with the time of the commit and without an owner, in
// whatever order they are given; so the same files give the same bytes.
func TestArchives(t *testing.T) {
	files := []file{
		{name: "x/curtsy", mode: 0o755, body: []byte("program")}, {name: "x/man/man1/curtsy.1", mode: 0o644, body: []byte("manual")},
		{name: "x/README.md", mode: 0o644, body: []byte("a\nb\n")}, {name: "x/link", mode: 0o777, link: "curtsy"},
	}
	backward := slices.Clone(files)
	slices.Reverse(backward)
	one, err := tarOf(files, commitTime)
	if err != nil {
		t.Fatal(err)
	}
	two, err := tarOf(backward, commitTime)
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("the order of the files changes the tar archive (%v)", err)
	}
	names, headers, _ := untar(t, one)
	if got := strings.Join(names, " "); got != "x/ x/README.md x/curtsy x/link x/man/ x/man/man1/ x/man/man1/curtsy.1" {
		t.Errorf("entries: %s", got)
	}
	for name, h := range headers {
		if !h.ModTime.Equal(commitTime) || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%s: %v, owner %d %q", name, h.ModTime, h.Uid, h.Uname)
		}
	}
	if headers["x/curtsy"].Mode != 0o755 || headers["x/link"].Linkname != "curtsy" {
		t.Errorf("mode %o, link to %q", headers["x/curtsy"].Mode, headers["x/link"].Linkname)
	}
}

// An image has all names of the program, its files have a neutral owner, and each digest in it is
// that of the blob that it names, for readers of OCI layouts and of docker save.
func TestImage(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, []byte("certificates"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := release{ca: ca, commit: "abc", time: commitTime}
	texts := []file{{name: "LICENSE", mode: 0o644, body: []byte("licence")}}
	image, err := r.image("arm64", []byte("program"), texts)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.image("arm64", []byte("program"), texts); err != nil || !bytes.Equal(image, again) {
		t.Errorf("the same image again differs (%v)", err)
	}
	_, _, files := untar(t, image)
	for name, body := range files {
		if digest, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && digest != "" && digest != sum(body) {
			t.Errorf("%s has the digest %s", name, sum(body))
		}
	}
	read := func(name string, into any) {
		t.Helper()
		if err := json.Unmarshal(files[name], into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	type descriptor struct {
		MediaType, Digest string
		Size              int
		Annotations       map[string]string
	}
	var index struct{ Manifests []descriptor }
	read("index.json", &index)
	var refs []string
	for _, m := range index.Manifests {
		if m.Digest != index.Manifests[0].Digest {
			t.Errorf("the index names two images: %s and %s", index.Manifests[0].Digest, m.Digest)
		}
		refs = append(refs, m.Annotations["io.containerd.image.name"], m.Annotations["org.opencontainers.image.ref.name"])
	}
	const library = "docker.io/library/curtsy:"
	if want := []string{library + version.Number, version.Number, library + "latest", "latest"}; !slices.Equal(refs, want) {
		t.Errorf("the index has the names %q, want %q", refs, want)
	}
	blobOf := func(d descriptor) string {
		t.Helper()
		name := "blobs/sha256/" + strings.TrimPrefix(d.Digest, "sha256:")
		if len(files[name]) != d.Size {
			t.Errorf("%s has %d bytes, not %d", d.MediaType, len(files[name]), d.Size)
		}
		return name
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	read(blobOf(index.Manifests[0]), &manifest)
	var config struct {
		Architecture, OS string
		Config           struct {
			User       string
			Entrypoint []string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	read(blobOf(manifest.Config), &config)
	if config.Architecture != "arm64" || config.OS != "linux" || config.Config.User != "65532:65532" || len(config.RootFS.DiffIDs) != 1 || len(manifest.Layers) != 1 {
		t.Errorf("the configuration is %+v with %d layers", config, len(manifest.Layers))
	}
	var saved []struct {
		Config string
		Layers []string
	}
	read("manifest.json", &saved)
	if saved[0].Config != blobOf(manifest.Config) || saved[0].Layers[0] != blobOf(manifest.Layers[0]) {
		t.Errorf("docker load reads %+v", saved)
	}
	z, err := gzip.NewReader(bytes.NewReader(files[blobOf(manifest.Layers[0])]))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if "sha256:"+sum(layer) != config.RootFS.DiffIDs[0] {
		t.Error("the layer is not the one of the configuration")
	}
	_, headers, content := untar(t, layer)
	for _, name := range names {
		if h := headers["bin/"+name]; h == nil || h.Linkname != "curtsy" {
			t.Errorf("bin/%s is %+v", name, h)
		}
	}
	if string(content["etc/ssl/certs/ca-certificates.crt"]) != "certificates" || string(content["bin/curtsy"]) != "program" ||
		headers["bin/curtsy"].Mode != 0o755 || headers["data/"].Uid != nobody || headers["tmp/"].Mode != 0o1777 || content["usr/share/doc/curtsy/LICENSE"] == nil {
		t.Errorf("the layer has %+v", headers)
	}
}

// A bill of materials names each module with its version and the sum in go.sum.
func TestBill(t *testing.T) {
	m := modules{program: "00", BuildInfo: &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{
		{Path: "go.etcd.io/bbolt", Version: "v1.5.0", Sum: "h1:MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI="},
		{Path: "example.org/a", Version: "v1.0.0+incompatible"},
	}}}
	r := release{commit: "abc", time: commitTime}
	body, err := r.bill(m)
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		BOMFormat, SpecVersion, SerialNumber string
		Components                           []struct {
			Purl   string
			Hashes []struct{ Alg, Content string }
		}
		Dependencies []struct{ DependsOn []string }
	}
	if err := json.Unmarshal(body, &bom); err != nil {
		t.Fatal(err)
	}
	if bom.BOMFormat != "CycloneDX" || bom.SpecVersion != "1.6" || len(bom.SerialNumber) != len("urn:uuid:")+36 || len(bom.Components) != 3 || len(bom.Dependencies[0].DependsOn) != 3 {
		t.Errorf("the bill is %s", body)
	}
	if c := bom.Components[1]; c.Purl != "pkg:golang/go.etcd.io/bbolt@v1.5.0" || c.Hashes[0].Content != "3132333435363738393031323334353637383930313233343536373839303132" {
		t.Errorf("a component is %+v", c)
	}
	if got := bom.Components[2].Purl; got != "pkg:golang/example.org/a@v1.0.0%2Bincompatible" {
		t.Errorf("a component is %s", got)
	}
	if again, err := r.bill(m); err != nil || !bytes.Equal(body, again) {
		t.Errorf("the same bill again differs (%v)", err)
	}
	m.Deps[0].Sum = "h1:*"
	if _, err := r.bill(m); err == nil {
		t.Error("a sum that is none is taken")
	}
}

// A release replaces an earlier one in its folder, and removes nothing from a folder with other
// files.
func TestOutput(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "dist")
	r := release{out: dir}
	names := func() (all []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	fill := func() {
		t.Helper()
		if err := empty(dir); err != nil {
			t.Fatal(err)
		}
		if left := names(); len(left) > 0 {
			t.Errorf("an earlier release leaves %q", left)
		}
		for _, name := range []string{"curtsy_1_linux_amd64.tar.gz", "SHA256SUMS"} {
			if err := r.write(name, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill()
	fill()
	for name, add := range map[string]func(string) error{
		"zebra.go": func(at string) error { return os.WriteFile(at, nil, 0o600) },
		"curtsy_d": func(at string) error { return os.Mkdir(at, 0o755) },
	} {
		at := filepath.Join(dir, name)
		if err := add(at); err != nil {
			t.Fatal(err)
		}
		if err := empty(dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("a folder with %s is refused with %v", name, err)
		}
		if left := names(); len(left) != 3 {
			t.Errorf("of a folder with %s, %q is left", name, left)
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
	}
}

// A release names a commit, so it may have nothing that the commit does not have: new files count
// as well as changed ones.
func TestSourceIsTheCommit(t *testing.T) {
	t.Chdir(t.TempDir())
	git := func(args ...string) {
		t.Helper()
		if _, err := output("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@a.example", "-c", "commit.gpgsign=false"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	var r release
	if err := r.source(); err != nil || len(r.commit) < 40 {
		t.Fatalf("commit %q: %v", r.commit, err)
	}
	if err := os.WriteFile("new.go", []byte("package main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.source(); err == nil || !strings.Contains(err.Error(), "new.go") {
		t.Errorf("a new file is refused with %v", err)
	}
	r.dirty = true
	if err := r.source(); err != nil {
		t.Errorf("with -dirty: %v", err)
	}
}

// The links point to the program next to them.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	if err := makeLinks(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if to, err := os.Readlink(filepath.Join(dir, name)); err != nil || to != "curtsy" {
			t.Errorf("%s leads to %q (%v)", name, to, err)
		}
	}
	if err := makeLinks(dir); err == nil {
		t.Error("links that are there already are made again")
	}
}
