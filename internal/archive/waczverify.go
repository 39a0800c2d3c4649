package archive

import (
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/curtsy/curtsy/internal/warc"
)

const (
	// maxManifest is the largest datapackage.json that is read.
	maxManifest = 16 << 20
	// maxIndex is how many bytes of an index are read, unpacked.
	maxIndex = 64 << 30
)

// IsWACZ reports whether a path has the name of a WACZ file.
func IsWACZ(name string) bool { return strings.EqualFold(path.Ext(name), waczSuffix) }

// VerifyWACZ reads a WACZ file to its end: its manifest must match its digest, and list all files
// with their sizes and digests; its WARC files must pass Verify and be stored uncompressed, and its
// index must list their answers at their positions. It returns an error if the file is not a ZIP
// file or cannot be read.
func VerifyWACZ(name string) (v Verified, err error) {
	z, err := zip.OpenReader(name)
	if err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	defer z.Close()
	files := map[string]*zip.File{}
	for _, f := range z.File {
		if files[f.Name] != nil {
			v.problem("it contains %s more than once", f.Name)
		}
		if !strings.HasSuffix(f.Name, "/") {
			files[f.Name] = f
		}
	}
	about, err := v.manifest(files)
	if err != nil {
		v.problem("%s: %v", waczManifest, err)
		return v, nil
	}
	listed := map[string]bool{waczManifest: true, waczDigest: true}
	for _, r := range about.Resources {
		if listed[r.Path] {
			v.problem("%s is listed more than once in %s", r.Path, waczManifest)
			continue
		}
		listed[r.Path] = true
		if err := v.resource(files[r.Path], r); err != nil {
			v.problem("%s: %v", r.Path, err)
		}
	}
	for _, must := range []string{waczArchive, "indexes/", waczPages} {
		found := false
		for name := range files {
			found = found || strings.HasPrefix(name, must)
		}
		if !found {
			v.problem("it has no %s", must)
		}
	}
	var answers, indexed places
	for _, f := range z.File {
		if !listed[f.Name] && !strings.HasSuffix(f.Name, "/") {
			v.problem("%s is not listed in %s", f.Name, waczManifest)
		}
		err := error(nil)
		switch {
		case strings.HasPrefix(f.Name, waczArchive):
			err = v.packed(f, &answers)
		case strings.HasPrefix(f.Name, "indexes/"):
			err = index(f, &indexed)
		}
		if err != nil {
			v.problem("%s: %v", f.Name, err)
		}
	}
	if indexed != answers {
		v.problem("its index does not list its %d responses", v.Answers)
	}
	return v, nil
}

// manifest reads the manifest of a WACZ file.
func (v *Verified) manifest(files map[string]*zip.File) (about manifest, err error) {
	read := func(name string) ([]byte, error) {
		if files[name] == nil {
			return nil, errors.New("it does not exist")
		}
		r, err := files[name].Open()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		text, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
		if err == nil && len(text) > maxManifest {
			err = fmt.Errorf("it is longer than %d bytes", maxManifest)
		}
		return text, err
	}
	text, err := read(waczManifest)
	if err == nil {
		err = json.Unmarshal(text, &about)
	}
	if err != nil {
		return about, err
	}
	if about.Profile != "data-package" || about.Version == "" {
		v.problem("%s: its profile is %.40q, its wacz_version %.40q", waczManifest, about.Profile, about.Version)
	}
	if files[waczDigest] == nil {
		return about, nil // the digest is recommended, not required
	}
	var d manifestDigest
	beside, err := read(waczDigest)
	if err == nil {
		err = json.Unmarshal(beside, &d)
	}
	if err != nil || d.Path != waczManifest || !isDigest(d.Hash, text) {
		v.problem("%s does not match %s (%v)", waczManifest, waczDigest, err)
	}
	return about, nil
}

// resource compares a file with its entry in the manifest.
func (v *Verified) resource(f *zip.File, r resource) error {
	if f == nil {
		return errors.New("it does not exist")
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(in, r.Bytes+1))
	switch {
	case err != nil:
		return err
	case n != r.Bytes:
		return fmt.Errorf("its size is not the %d bytes given in %s", r.Bytes, waczManifest)
	case r.Hash == "":
		return fmt.Errorf("it has no digest in %s", waczManifest)
	case strings.HasPrefix(r.Hash, "sha256:") && r.Hash != warc.DigestOf([sha256.Size]byte(h.Sum(nil))):
		return fmt.Errorf("it does not match its digest in %s", waczManifest)
	}
	return nil
}

// packed checks a WARC file in the WACZ file.
func (v *Verified) packed(f *zip.File, answers *places) error {
	if strings.HasSuffix(f.Name, "/") {
		return nil
	}
	if f.Method != zip.Store && strings.HasSuffix(f.Name, ".gz") {
		v.problem("%s is compressed a second time: to read one record, all records before it must be read", f.Name)
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	defer v.warn(f.Name + " ")
	return v.records(r, path.Base(f.Name), answers)
}

// index adds the positions in an index. A summary has none.
func index(f *zip.File, to *places) error {
	if strings.HasSuffix(f.Name, ".idx") || strings.HasSuffix(f.Name, "/") {
		return nil
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	lines := io.LimitReader(r, maxIndex)
	if strings.HasSuffix(f.Name, ".gz") {
		z, err := gzip.NewReader(r)
		if err != nil {
			return err
		}
		lines = io.LimitReader(z, maxIndex)
	}
	return readEntries(lines, func(e warc.Entry) error {
		to.add(path.Base(e.Filename), e.Offset, e.Length, e.Within)
		return nil
	})
}
