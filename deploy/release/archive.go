package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"slices"
	"time"
)

// archive writes a tar.gz file in which all files are below one folder.
func (r *release) archive(base string, files []file) error {
	files = slices.Clone(files)
	for i := range files {
		files[i].name = base + "/" + files[i].name
	}
	body, err := tarOf(files, r.time)
	if err != nil {
		return err
	}
	if body, err = gzipOf(body); err != nil {
		return err
	}
	return r.write(base+".tar.gz", body)
}

// tarOf makes a tar archive of files and their folders. It only depends on its arguments.
func tarOf(files []file, at time.Time) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range withFolders(files) {
		h := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.uid, Gid: f.uid, ModTime: at, Size: int64(len(f.body)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		switch {
		case f.dir:
			h.Name, h.Typeflag = f.name+"/", tar.TypeDir
		case f.link != "":
			h.Linkname, h.Typeflag = f.link, tar.TypeSymlink
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return buf.Bytes(), err
}

// withFolders returns the files and the folders that they are in, sorted by name.
func withFolders(files []file) []file {
	all := slices.Clone(files)
	known := map[string]bool{}
	for _, f := range files {
		if f.dir {
			known[f.name] = true
		}
	}
	for _, f := range files {
		for i, c := range f.name {
			if dir := f.name[:i]; c == '/' && !known[dir] {
				known[dir] = true
				all = append(all, file{name: dir, mode: 0o755, dir: true})
			}
		}
	}
	slices.SortFunc(all, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return all
}

func gzipOf(body []byte) ([]byte, error) {
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, bytes.NewReader(body)); err != nil {
		return nil, err
	}
	err = w.Close()
	return buf.Bytes(), err
}
