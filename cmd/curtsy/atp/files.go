package atp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/curtsy/curtsy/internal/mobile/reading"
)

// files stores documents in a directory. The paths come from a stranger: no file outside of the
// directory is touched, and no symbolic link in it is followed.
type files struct{ root *os.Root }

// openFiles opens the directory, and creates it if there is none.
func openFiles(dir string) (*files, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &files{root}, nil
}

// store writes a document. An earlier copy of it is replaced.
func (f *files) store(urlPath, contentType string, body []byte) error {
	names, err := fileNames(urlPath, contentType)
	if err != nil {
		return err
	}
	for i := range names {
		name := path.Join(names[:i+1]...)
		last := i == len(names)-1
		info, err := f.root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && last:
		case errors.Is(err, fs.ErrNotExist):
			err = f.root.Mkdir(name, 0o755)
			if err != nil {
				return err
			}
		case err != nil:
			return err
		case last && !info.Mode().IsRegular():
			return fmt.Errorf("%s is there, and it is no regular file", name)
		case !last && !info.IsDir():
			return fmt.Errorf("%s is there, and it is no directory", name)
		}
	}
	// The file that is there is not written to: it could be one with several names.
	name := path.Join(names...)
	if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = w.Write(body)
	return errors.Join(err, w.Close())
}

// fileNames are the names of directories and of the file for a document: the segments of its path
// as they are spelled in the URL, so that two paths never have the same file.
func fileNames(urlPath, contentType string) ([]string, error) {
	rest := strings.TrimPrefix(urlPath, "/")
	before, query, hasQuery := strings.Cut(rest, "?")
	if before == "" || strings.HasSuffix(before, "/") {
		before += "index"
		if reading.MediaType(contentType) == "text/html" {
			before += ".html"
		}
	}
	if hasQuery {
		before += "?" + strings.ReplaceAll(query, "/", "%2F")
	}
	names := strings.Split(before, "/")
	for _, name := range names {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `\:`) && os.PathSeparator != '/' || len(name) > 255 {
			return nil, fmt.Errorf("%q cannot be the name of a file", name)
		}
	}
	return names, nil
}
