// Command release builds all files of a release of Curtsy from this source, into dist/:
//
//	go run ./deploy/release
//
// For each target it makes an archive with the program, its manual and its completions, and a list
// of the modules in it (a CycloneDX SBOM). For Linux it also makes a container image and, if
// dpkg-deb is installed, a Debian package. SHA256SUMS has the checksums of all files.
//
// The same commit gives the same bytes with the same release of Go, whatever the folder, the time
// and the user are. Two things come from the machine: the bundle of certificate authorities in the
// image (-ca), and dpkg-deb.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/version"
)

// defaultTargets are the targets for which the program can be built. Windows is not one of them:
// file locks, and opening a file without following symbolic links, are written for Unix.
const defaultTargets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

func main() {
	var r release
	flag.StringVar(&r.out, "out", "dist", "write the files to this `folder`")
	flag.StringVar(&r.ca, "ca", "/etc/ssl/certs/ca-certificates.crt", "put this `bundle` of certificate authorities into the image")
	flag.BoolVar(&r.dirty, "dirty", false, "build also when files are changed or new that are not committed")
	targets := flag.String("targets", defaultTargets, "build for these systems and processors")
	links := flag.String("links", "", "only make links with the other names of the program, in this `folder`")
	flag.Parse()
	err := error(nil)
	switch {
	case flag.NArg() > 0:
		err = fmt.Errorf("unknown argument %q", flag.Arg(0))
	case *links != "":
		err = makeLinks(*links)
	default:
		err = r.run(strings.Split(*targets, ","))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// names are the other names under which the program is called in an image.
var names = []string{"agenthost", "feeder", "fetcher", "frontier", "indexer", "nats-server", "renderer", "rupd"}

// makeLinks makes links to curtsy with its other names in dir.
func makeLinks(dir string) error {
	for _, name := range names {
		if err := os.Symlink("curtsy", filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// release is one run.
type release struct {
	out, ca string
	dirty   bool

	scratch string    // removed at the end
	commit  string    // hash
	time    time.Time // of the commit
	docs    []file    // manual and completions
	texts   []file    // licence and other texts
}

// file is a file of an archive.
type file struct {
	name string
	mode int64
	link string // the target of a symbolic link, which has no body
	uid  int
	dir  bool
	body []byte
}

func (r *release) run(targets []string) (err error) {
	if _, err := os.Stat("internal/version/version.go"); err != nil {
		return errors.New("run it in the root folder of the source")
	}
	if err := r.source(); err != nil {
		return err
	}
	if r.scratch, err = os.MkdirTemp("", "curtsy-release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.scratch)) }()
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	if err := empty(r.out); err != nil {
		return err
	}
	if err := r.documents(); err != nil {
		return err
	}
	for _, target := range targets {
		system, arch, ok := strings.Cut(strings.TrimSpace(target), "/")
		if !ok {
			return fmt.Errorf("target %q: use for example linux/amd64", target)
		}
		if err := r.target(system, arch); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
	}
	return r.sums()
}

// empty makes the folder of the release, and removes an earlier release from it. If the folder has
// any other file, it returns an error and removes nothing.
func empty(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		ours := strings.HasPrefix(e.Name(), "curtsy_") || e.Name() == "SHA256SUMS"
		if !ours || !e.Type().IsRegular() {
			return fmt.Errorf("%s contains %s, which is no file of a release; use a new folder", dir, e.Name())
		}
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// source determines which commit this is. Files that git does not know count as changes, because go
// build would compile them.
func (r *release) source() error {
	out, err := output("git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	hash, seconds, _ := strings.Cut(strings.TrimSpace(out), " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	r.commit, r.time = hash, time.Unix(n, 0).UTC()
	changed, err := output("git", "status", "--porcelain", "--untracked-files=normal")
	if err == nil && changed != "" && !r.dirty {
		return fmt.Errorf("these files are changed or new, and not committed (-dirty builds all the same):\n%s", changed)
	}
	return err
}

// documents makes the manual and the completions, with a program for this machine.
func (r *release) documents() error {
	program, err := r.build(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	man := filepath.Join(r.scratch, "man1")
	if _, err := output(program, "manual", man); err != nil {
		return err
	}
	pages, err := os.ReadDir(man)
	if err != nil {
		return err
	}
	for _, p := range pages {
		body, err := os.ReadFile(filepath.Join(man, p.Name()))
		if err != nil {
			return err
		}
		r.docs = append(r.docs, file{name: "man/man1/" + p.Name(), mode: 0o644, body: body})
	}
	for shell, name := range map[string]string{"bash": "curtsy.bash", "zsh": "_curtsy", "fish": "curtsy.fish"} {
		script, err := output(program, "completion", shell)
		if err != nil {
			return err
		}
		r.docs = append(r.docs, file{name: "completions/" + name, mode: 0o644, body: []byte(script)})
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		r.texts = append(r.texts, file{name: name, mode: 0o644, body: body})
	}
	return nil
}

// target makes all files for one system and processor.
func (r *release) target(system, arch string) error {
	program, err := r.build(system, arch)
	if err != nil {
		return err
	}
	mods, err := modulesOf(program)
	if err != nil {
		return err
	}
	licences, err := mods.licences()
	if err != nil {
		return err
	}
	texts := append(slices.Clone(r.texts), file{name: "THIRD_PARTY_LICENSES", mode: 0o644, body: licences})
	base := fmt.Sprintf("curtsy_%s_%s_%s", version.Number, system, arch)
	bill, err := r.bill(mods)
	if err != nil {
		return err
	}
	if err := r.write(base+".cdx.json", bill); err != nil {
		return err
	}
	body, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	files := slices.Concat([]file{{name: "curtsy", mode: 0o755, body: body}}, r.docs, texts)
	if err := r.archive(base, files); err != nil {
		return err
	}
	if system != "linux" {
		return nil
	}
	image, err := r.image(arch, body, texts)
	if err != nil {
		return err
	}
	if err := r.write(base+".oci.tar", image); err != nil {
		return err
	}
	return r.debian(arch, program)
}

// build builds the program for a system and a processor, once, and returns its file.
func (r *release) build(system, arch string) (string, error) {
	program := filepath.Join(r.scratch, system+"_"+arch, "curtsy")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	began := time.Now()
	const in = "github.com/curtsy/curtsy/internal/version."
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program,
		"-ldflags", "-s -w -X "+in+"commit="+r.commit+" -X "+in+"date="+r.time.Format(time.RFC3339), "./cmd/curtsy")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	fmt.Printf("built for %s/%s in %v\n", system, arch, time.Since(began).Round(time.Second))
	return program, nil
}

// debian makes the Debian package, if dpkg-deb is installed.
func (r *release) debian(arch, program string) error {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		fmt.Println("no Debian package: there is no dpkg-deb here")
		return nil
	}
	tool, err := r.build(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	cmd := exec.Command("deploy/build-deb")
	cmd.Env = append(os.Environ(), "OUT="+r.out, "ARCH="+arch, "BIN="+filepath.Dir(program), "TOOL="+tool)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("deploy/build-deb: %w\n%s", err, out)
	}
	return nil
}

// sums writes SHA256SUMS and prints the files of the release.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		f, err := os.Open(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		h := sha256.New()
		n, err := io.Copy(h, f)
		f.Close()
		if err != nil {
			return err
		}
		fmt.Printf("%10d  %s\n", n, e.Name())
		fmt.Fprintf(&list, "%s  %s\n", hex.EncodeToString(h.Sum(nil)), e.Name())
	}
	return r.write("SHA256SUMS", []byte(list.String()))
}

func (r *release) write(name string, body []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), body, 0o644)
}

// output runs a program to its end and returns its standard output.
func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w\n%s", err, failed.Stderr)
		}
		return "", fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(args, " "), err)
	}
	return string(out), nil
}
