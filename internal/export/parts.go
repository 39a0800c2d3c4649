package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Parts is a writer that divides what is written into files of a folder: part-000001.ndjson and so
// on. What one call of Write writes is never divided. A file has its name as soon as it is
// complete. All access is through the folder, as with Files.
type Parts struct {
	root *os.Root
	most int64 // bytes of a file
	now  *os.File
	size int64 // of now
	n    int

	// TooLarge is how many items were left out because they are larger than a file may be.
	TooLarge int
}

const unfinishedPart = "part.unfinished"

// OpenParts begins an export into a folder, which must be empty or not exist; then it is created,
// readable by its owner only. Otherwise the error wraps ErrNotEmpty.
func OpenParts(dir string, most int64) (*Parts, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	here, err := fs.ReadDir(root.FS(), ".")
	if err == nil && len(here) > 0 {
		err = fmt.Errorf("%s: %w", dir, ErrNotEmpty)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Parts{root: root, most: most}, nil
}

// Write adds an item to the present file, or to a new one if it does not fit.
func (p *Parts) Write(item []byte) (int, error) {
	if int64(len(item)) > p.most {
		p.TooLarge++
		return len(item), nil
	}
	if p.now != nil && p.size+int64(len(item)) > p.most {
		if err := p.end(); err != nil {
			return 0, err
		}
	}
	if p.now == nil {
		var err error
		if p.now, err = p.root.OpenFile(unfinishedPart, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
			return 0, err
		}
	}
	n, err := p.now.Write(item)
	p.size += int64(n)
	return n, err
}

// end gives the present file its name.
func (p *Parts) end() error {
	err := p.now.Close()
	p.now, p.size = nil, 0
	if err != nil {
		return err
	}
	p.n++
	return p.root.Rename(unfinishedPart, fmt.Sprintf("part-%06d.ndjson", p.n))
}

// Close ends the last file.
func (p *Parts) Close() (err error) {
	if p.now != nil {
		err = p.end()
	}
	return errors.Join(err, p.root.Close())
}
