package download

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Problem is a problem of a directory.
type Problem struct {
	Path string `json:"path"`
	// missing, changed, doubtful (a remark of Get), extra, unfinished, aside, unlisted
	Problem string `json:"problem"`
	Detail  string `json:"detail,omitempty"`
}

// Report is what Verify found.
type Report struct {
	Dir      string    `json:"dir"`
	OK       bool      `json:"ok"`
	Files    int       `json:"files"` // listed
	Bytes    int64     `json:"bytes"` // of the files that are correct
	Problems []Problem `json:"problems"`

	damaged []Damaged
}

// Verify compares the files of a directory with its lists, SHA256SUMS and datapackage.json. For a
// directory without lists whose folders have lists, it verifies these folders. It reads every byte
// and changes nothing. It returns an error if there is nothing to compare with.
func Verify(ctx context.Context, dir string) (Report, error) {
	folders := Folders(dir)
	if folders == nil {
		return verify(ctx, dir)
	}
	all := Report{Dir: dir, OK: true, Problems: []Problem{}}
	for _, name := range folders {
		rep, err := verify(ctx, filepath.Join(dir, name))
		if err != nil {
			return all, err
		}
		all.OK, all.Files, all.Bytes = all.OK && rep.OK, all.Files+rep.Files, all.Bytes+rep.Bytes
		for _, p := range rep.Problems {
			p.Path = name + "/" + p.Path
			all.Problems = append(all.Problems, p)
		}
		for _, d := range rep.damaged {
			d.Dir = name
			all.damaged = append(all.damaged, d)
		}
	}
	return all, nil
}

// Folders returns the folders of datasets in a directory, sorted. It returns nil if the directory
// itself has files of datasets, or if there are no such folders.
func Folders(dir string) (names []string) {
	has := func(dir string) bool {
		for _, name := range []string{sumsName, logName} {
			if st, err := os.Lstat(filepath.Join(dir, name)); err == nil && st.Mode().IsRegular() {
				return true
			}
		}
		return false
	}
	if has(dir) {
		return nil
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() && has(filepath.Join(dir, e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names
}

// Damaged is a listed file that is missing or has changed.
type Damaged struct {
	Dir     string // folder within the verified directory; "": the directory itself
	Path    string
	Dataset string // ID of the file's dataset
}

// Damaged returns the files that should be fetched again.
func (r *Report) Damaged() []Damaged { return r.damaged }

// Quarantine renames a damaged file by appending .mismatch, so that Get fetches it again. For a
// missing file it does nothing.
func Quarantine(dir string, d Damaged) error {
	at := filepath.Join(dir, d.Dir, d.Path)
	if st, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	} else if st.IsDir() {
		return fmt.Errorf("%s is a directory; remove it", at)
	}
	return os.Rename(at, at+mismatchSuffix)
}

func verify(ctx context.Context, dir string) (Report, error) {
	rep := Report{Dir: dir, Problems: []Problem{}}
	add := func(path, problem, detail string) {
		rep.Problems = append(rep.Problems, Problem{path, problem, detail})
	}
	logged, _, err := readLog(dir)
	if err != nil {
		return rep, err
	}
	sums, err := readSums(dir, len(logged) > 0, add)
	if err != nil {
		return rep, err
	}
	pack, err := readPackage(dir)
	if err != nil {
		add(packageName, problemOf(err), err.Error())
	}
	if len(logged) > 0 { // the log is newer than the list
		add(sumsName, "unfinished", fmt.Sprintf("%d files are listed only in %s: run the same curtsy datasets get again to write it", len(logged), logName))
		pack.Resources = append(pack.Resources, logged...)
		for _, r := range logged {
			sums[r.Path] = strings.TrimPrefix(r.Hash, "sha256:")
		}
	}
	rep.Files = len(sums)
	described := map[string]resource{}
	for _, r := range pack.Resources {
		described[r.Path] = r
		if _, ok := sums[r.Path]; !ok {
			add(r.Path, "unlisted", packageName+" lists it, but "+sumsName+" does not")
		}
	}
	for _, name := range sorted(sums) {
		if ctx.Err() != nil {
			return rep, ctx.Err()
		}
		n, wrong := check(ctx, dir, name, sums[name])
		r, ok := described[name]
		switch {
		case wrong != nil:
			add(name, problemOf(wrong), wrong.Error())
			if ok && name == filepath.Base(name) {
				rep.damaged = append(rep.damaged, Damaged{Path: name, Dataset: r.Curtsy.Dataset})
			}
			continue
		case err == nil && !ok:
			add(name, "unlisted", sumsName+" lists it, but "+packageName+" does not")
		case ok && (r.Hash != "sha256:"+sums[name] || r.Bytes != n):
			add(name, "changed", packageName+" and "+sumsName+" disagree about it")
		case ok && r.Curtsy.Remark != "":
			add(name, "doubtful", r.Curtsy.Remark+"; to download it again, remove it")
		}
		rep.Bytes += n
	}
	if err := ctx.Err(); err != nil {
		return rep, err
	}
	if err := strangers(dir, sums, add); err != nil {
		return rep, err
	}
	rep.OK = len(rep.Problems) == 0
	return rep, nil
}

func problemOf(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "missing"
	}
	return "changed"
}

// check reads a listed file.
func check(ctx context.Context, dir, name, want string) (int64, error) {
	if name != filepath.Base(name) || strings.ContainsAny(name, `/\`) || name == "." || name == ".." {
		return 0, errors.New("it is in another directory: not checked")
	}
	sum, n, err := digestOf(dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	case err != nil:
		return 0, err
	case sum != want:
		return 0, fmt.Errorf("its SHA-256 is %s, but %s has %s", sum, sumsName, want)
	}
	return n, nil
}

// readSums reads SHA256SUMS.
func readSums(dir string, unfinished bool, add func(path, problem, detail string)) (map[string]string, error) {
	f, err := openRegular(dir, sumsName, os.O_RDONLY, false)
	if errors.Is(err, fs.ErrNotExist) && unfinished {
		return map[string]string{}, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: no dataset was downloaded into it; to list datasets, type: curtsy datasets; to download one: curtsy datasets get --dir %s ID",
			dir, sumsName, dir)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sums := map[string]string{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<10)
	for n := 1; lines.Scan(); n++ {
		sum, name, ok := parseSum(lines.Text())
		if !ok {
			add(sumsName, "changed", fmt.Sprintf("line %d is not a line of sha256sum", n))
			continue
		}
		sums[name] = sum
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", sumsName, err)
	}
	return sums, nil
}

// strangers reports files that exist and are not listed.
func strangers(dir string, sums map[string]string, add func(path, problem, detail string)) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		_, listed := sums[name]
		switch {
		case listed, name == sumsName, name == packageName, strings.HasPrefix(name, ownPrefix):
		case strings.HasSuffix(name, partSuffix):
			add(name, "unfinished", "to resume the download, run the same curtsy datasets get again")
		case strings.HasSuffix(name, stateSuffix):
		case strings.HasSuffix(name, mismatchSuffix):
			add(name, "aside", "its digest was not the announced one, or a repair replaced it; remove it when you no longer need it")
		default:
			add(name, "extra", "")
		}
	}
	return nil
}

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
