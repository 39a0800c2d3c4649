package data

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
)

// Limits of a file for --known.
const (
	maxKnown     = 4 << 20  // datasets
	maxKnownLine = 64 << 20 // bytes
)

// knownDatasets are the IDs of datasets in earlier exports. A crawl does not store what it exported
// before, so the user has to bring the list.
type knownDatasets map[string]string // with why one is not in the export, if that is known

// readKnown reads exports of datasets in JSON Lines, one after another, or IDs, one a line. A later
// line can remove an earlier one.
func readKnown(r io.Reader, most int) (knownDatasets, error) {
	all := knownDatasets{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxKnownLine)
	n := 0
	for s.Scan() {
		n++
		text := bytes.TrimSpace(s.Bytes())
		var row struct{ ID, Removed string }
		switch {
		case len(text) == 0:
			continue
		case text[0] != '{':
			row.ID = string(text)
		default:
			if err := json.Unmarshal(text, &row); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			if row.ID == "" {
				return nil, fmt.Errorf(`line %d: no "id"; use the jsonl export of datasets, or one id a line`, n)
			}
		}
		if row.Removed != "" {
			delete(all, row.ID)
			continue
		}
		if all[row.ID] = ""; len(all) > most {
			return nil, fmt.Errorf("more than %d datasets", most)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return all, nil
}

func openKnown(file string) (knownDatasets, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, app.Usage("--known: %v", err)
	}
	defer f.Close()
	all, err := readKnown(f, maxKnown)
	if err != nil {
		return nil, app.Usage("--known %s: %v", file, err)
	}
	return all, nil
}

// gone is why a known dataset is not in an export, unless another reason is known: no document
// contains it any more, or not in a form that is exported.
const gone = "gone"

// seen records that a dataset exists, and why it is not in the export. why is "" if the dataset
// is in the export.
func (k knownDatasets) seen(id, why string) {
	switch _, was := k[id]; {
	case !was:
	case why == "":
		delete(k, id)
	default:
		k[id] = why
	}
}

// remove writes the known datasets that are left when all others have been seen. It returns how
// many the format cannot express.
func (k knownDatasets) remove(out *rows) (unnamed int, err error) {
	if out.removed == nil {
		return len(k), nil
	}
	for _, id := range slices.Sorted(maps.Keys(k)) {
		why := k[id]
		if why == "" {
			why = gone
		}
		if err := out.removed(id, why); err != nil {
			return 0, err
		}
	}
	return 0, err
}
