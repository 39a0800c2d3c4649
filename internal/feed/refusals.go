package feed

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/disk"
)

// maxRefusals is the size of the file of refused changes, in bytes, from which it is put aside as
// FILE.1, in place of an earlier one.
const maxRefusals = 64 << 20

// Refusal is a line of the file of changes that a sink has refused for good.
type Refusal struct {
	Time    time.Time       `json:"time"`
	URL     string          `json:"url,omitempty"`
	ID      string          `json:"id"`
	Version int64           `json:"version"`
	Reason  string          `json:"reason"`
	Row     json.RawMessage `json:"row"`
}

// refusals appends to the file of refused changes.
type refusals struct {
	path string

	mu   sync.Mutex // guards what follows
	file *os.File   // nil until there is something to write
}

// add appends changes and syncs the file. A change may be in it twice, because what follows may
// fail.
func (d *refusals) add(refused []Refused) error {
	var lines []byte
	now := time.Now().UTC().Truncate(time.Millisecond)
	for _, r := range refused {
		row, err := r.Change.JSON()
		if err != nil {
			return err
		}
		line, err := encode(Refusal{Time: now, URL: r.Change.Row.URL, ID: r.Change.ID, Version: r.Change.Version, Reason: r.Reason, Row: row})
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.append(lines); err != nil {
		return fmt.Errorf("store what the sink refused: %w", err)
	}
	return nil
}

func (d *refusals) append(lines []byte) error {
	if d.file == nil {
		if info, err := os.Stat(d.path); err == nil && info.Size() >= maxRefusals {
			if err := os.Rename(d.path, d.path+".1"); err != nil {
				return err
			}
		}
		f, err := os.OpenFile(d.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, disk.FileMode)
		if err != nil {
			return err
		}
		d.file = f
		if err := d.mend(); err != nil {
			return err
		}
	}
	if _, err := d.file.Write(lines); err != nil {
		return err
	}
	if err := d.file.Sync(); err != nil {
		return err
	}
	if info, err := d.file.Stat(); err == nil && info.Size() >= maxRefusals {
		err := d.file.Close()
		d.file = nil
		return err
	}
	return nil
}

// mend ends a line that a process that was killed did not end.
func (d *refusals) mend() error {
	info, err := d.file.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := d.file.ReadAt(last, info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = d.file.WriteString("\n")
	return err
}

func (d *refusals) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.file != nil {
		_ = d.file.Close() // it was synced
		d.file = nil
	}
}
