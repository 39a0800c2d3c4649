package download

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// logName is the manifest log: one resource per line, in JSON. It exists while a Get runs, and
// after one that was killed.
const logName = ownPrefix + "book"

// readLog returns the resources in the log, and the end of its last complete line: a crash may have
// left an incomplete line. In that case the NAME.part.json of that file still exists.
func readLog(dir string) (all []resource, end int64, err error) {
	f, err := openRegular(dir, logName, os.O_RDONLY, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return all, end, nil
		}
		if err != nil {
			return nil, 0, err
		}
		var r resource
		if err := json.Unmarshal(line, &r); err != nil || r.Path == "" {
			return nil, 0, fmt.Errorf("%s is damaged at byte %d: remove it; files that it lists and %s does not are then downloaded again, under other names",
				filepath.Join(dir, logName), end, packageName)
		}
		all, end = append(all, r), end+int64(len(line))
	}
}

// append writes a resource to the log, and returns when it is on disk.
func (b *manifestLog) append(r resource) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if b.log == nil {
		if err := b.openLog(); err != nil {
			return err
		}
	}
	if _, err := b.log.Write(append(line, '\n')); err != nil {
		// An incomplete line is cut off when the log is opened again.
		return errors.Join(err, b.closeLog())
	}
	return b.log.Sync()
}

func (b *manifestLog) openLog() error {
	_, end, err := readLog(b.dir)
	if err != nil {
		return err
	}
	f, err := openRegular(b.dir, logName, os.O_WRONLY, true)
	if err != nil {
		return err
	}
	if err := f.Truncate(end); err != nil {
		return errors.Join(err, f.Close())
	}
	if _, err := f.Seek(end, io.SeekStart); err != nil {
		return errors.Join(err, f.Close())
	}
	b.log = f
	return syncDir(b.dir)
}

func (b *manifestLog) closeLog() error {
	f := b.log
	if b.log = nil; f == nil {
		return nil
	}
	return f.Close()
}

// dropLog removes the log when the lists contain all of it.
func (b *manifestLog) dropLog() error {
	return errors.Join(b.closeLog(), removed(os.Remove(filepath.Join(b.dir, logName))))
}
