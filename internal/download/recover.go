package download

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// enter lists a file that has its name, and removes its state. It may run twice.
func (b *manifestLog) enter(r resource) error {
	if err := b.add(r); err != nil {
		return err
	}
	return dropState(b.dir, r.Path)
}

// settle completes the steps between a file's last byte and its entry in the lists that a crash has
// interrupted.
func (b *manifestLog) settle() error {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), stateSuffix)
		if !ok {
			continue
		}
		st, err := readState(b.dir, name)
		if err != nil || !st.Done || st.Resource == nil || st.Resource.Path != name {
			continue // to be continued, or not ours
		}
		if err := b.settleOne(name, st); err != nil {
			return err
		}
	}
	return nil
}

func (b *manifestLog) settleOne(name string, st state) error {
	part := name + partSuffix
	switch sum, n, err := digestOf(b.dir, part); {
	case errors.Is(err, fs.ErrNotExist): // it has its name
	case err != nil:
		return err
	case sum != st.SHA256 || n != st.Written:
		return nil // it starts again if it is requested again
	default:
		if err := nameIt(b.dir, name); err != nil {
			return err
		}
	}
	sum, n, err := digestOf(b.dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && (sum != st.SHA256 || n != st.Written):
		return dropState(b.dir, name) // it was removed or replaced by somebody
	case err != nil:
		return err
	}
	return b.enter(*st.Resource)
}

// digestOf reads a file of the directory.
func digestOf(dir, name string) (sum string, n int64, err error) {
	f, err := openRegular(dir, name, os.O_RDONLY, false)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// name assigns each file the name that it has in the directory, if it has one. A new file gets its
// name when it begins to arrive: see newName.
func (b *manifestLog) name(files []File) ([]File, error) {
	at := map[string]string{}
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		b.taken.add(e.Name())
		if name, ok := strings.CutSuffix(e.Name(), stateSuffix); ok {
			b.taken.add(name)
			if st, err := readState(b.dir, name); err == nil && st.URL != "" {
				at[st.URL] = name
			}
		} else if name, ok := strings.CutSuffix(e.Name(), partSuffix); ok {
			b.taken.add(name)
		}
	}
	for _, r := range b.byPath {
		b.taken.add(r.Path)
		if filepath.Base(r.Path) != r.Path {
			continue // we write no such file
		}
		at[r.Curtsy.URL] = r.Path
	}
	named := make([]File, len(files))
	for i, f := range files {
		f.Name = at[string(f.URL)]
		named[i] = f
	}
	return named, nil
}

// newName returns an unused name, which is used from now on.
func (b *manifestLog) newName(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken.take(name)
}
