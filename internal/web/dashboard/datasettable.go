package dashboard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
)

// datasetTable has all datasets in the order in which they are listed. The values by which they are
// filtered are in memory, about 200 bytes each. What is shown of them, and their words, is in files
// that have no name.
type datasetTable struct {
	state, forgotten string // by asker.Crawl.DatasetsState
	at               time.Time
	missing          error // an ask.ErrIncomplete when shards did not answer

	rows              []datasetPlace
	byID              map[string]int32
	licenses, formats []string // the most frequent
	texts, records    disk.Spool
}

// datasetPlace is the part of a dataset by which it is found.
type datasetPlace struct {
	license string
	formats []string
	hosts   string // of its document and its files, a line each
	bytes   int64  // of all its files; -1: not known
	words   uint32 // length of its text, which follows that of the one before
	row     uint32 // length of its row in records
	whole   uint32 // length of the whole dataset, which is stored after the row
	at      int64  // where its row begins
}

// makeTable asks for all datasets.
func makeTable(ctx context.Context, c *asker.Crawl) (t *datasetTable, err error) {
	t = &datasetTable{byID: map[string]int32{}, at: time.Now()}
	if t.state, t.forgotten, err = c.DatasetsState(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(t.texts.Open(), t.records.Open()); err != nil {
		t.close()
		return nil, err
	}
	licenses, formats, one := choices{}, choices{}, same{}
	t.missing = c.Datasets(ctx, func(d crawl.DatasetInfo) error {
		row, hosts := rowOf(d), hostsOf(&d)
		p := datasetPlace{license: one.text(licenseOf(&d)), formats: one.list(row.Formats), hosts: one.text(hosts), bytes: row.Bytes, at: t.records.Size()}
		if !row.Known {
			p.bytes = -1
		}
		licenses.add(p.license)
		for _, f := range p.formats {
			formats.add(f)
		}
		var err error
		if p.words, err = t.texts.Add([]byte(wordsOf(&d))); err != nil {
			return err
		}
		for _, v := range []struct {
			to *uint32
			is any
		}{{&p.row, row}, {&p.whole, d}} {
			b, err := json.Marshal(v.is)
			if err == nil {
				*v.to, err = t.records.Add(b)
			}
			if err != nil {
				return err
			}
		}
		t.byID[d.ID] = int32(len(t.rows))
		t.rows = append(t.rows, p)
		return nil
	})
	err = errors.Join(t.texts.Flush(), t.records.Flush())
	if t.missing != nil && !errors.Is(t.missing, ask.ErrIncomplete) {
		err = t.missing
	}
	if err != nil {
		t.close()
		return nil, err
	}
	t.licenses, t.formats = licenses.sorted(), formats.sorted()
	return t, nil
}

// hostsOf are the hosts of a dataset's document and of its files, one a line.
func hostsOf(d *crawl.DatasetInfo) string {
	all := []string{hostOf(d.Origin)}
	for i := range d.Files {
		if h := hostOf(d.Files[i].URL); h != all[len(all)-1] && !slices.Contains(all, h) && len(all) < hostsKept {
			all = append(all, h)
		}
	}
	return strings.Join(all, "\n")
}

// hostsKept is the number of hosts of its files by which a dataset is found.
const hostsKept = 100

// datasetFilter selects rows of a list; its zero value selects all.
type datasetFilter struct {
	words                       []string // in lower case
	license, format, host, size string
}

// each calls take for every dataset in order, and reports whether the filter selects it.
func (t *datasetTable) each(f datasetFilter, take func(i int, matches bool)) error {
	said := bufio.NewReaderSize(t.texts.Reader(), 1<<18)
	var text []byte
	for i := range t.rows {
		p := &t.rows[i]
		ok := (f.license == "" || strings.EqualFold(f.license, p.license)) && (f.format == "" || slices.Contains(p.formats, f.format)) &&
			strings.Contains(p.hosts, f.host) && p.within(f.size)
		if len(f.words) > 0 {
			text = slices.Grow(text[:0], int(p.words))[:p.words]
			if _, err := io.ReadFull(said, text); err != nil {
				return fmt.Errorf("the catalogue's texts: %w", err)
			}
			for _, w := range f.words {
				ok = ok && bytes.Contains(text, []byte(w))
			}
		}
		take(i, ok)
	}
	return nil
}

// within reports whether the dataset's size is in a range; "" is any.
func (p *datasetPlace) within(key string) bool {
	if key == "" {
		return true
	}
	i := slices.IndexFunc(sizeRanges, func(s sizeRange) bool { return s.Key == key })
	if i < 0 || key == "unknown" {
		return i >= 0 && p.bytes < 0
	}
	return p.bytes >= sizeRanges[i].From && p.bytes < sizeRanges[i].To
}

// row is the i-th dataset as a row of a list.
func (t *datasetTable) row(i int) (r datasetRow, err error) {
	p := &t.rows[i]
	return r, decode(&t.records, p.at, p.row, &r)
}

// dataset is the one with an ID.
func (t *datasetTable) dataset(id string) (d crawl.DatasetInfo, found bool, err error) {
	i, found := t.byID[id]
	if !found {
		return d, false, nil
	}
	p := &t.rows[i]
	return d, true, decode(&t.records, p.at+int64(p.row), p.whole, &d)
}

// close closes the files, after which nothing may be read. A nil table has none.
func (t *datasetTable) close() {
	if t != nil {
		t.texts.Close()
		t.records.Close()
	}
}

// same shares one copy of values that are the same in many rows.
type same map[string][]string

func (s same) text(v string) string { return s.list([]string{v})[0] }

func (s same) list(all []string) []string {
	if len(all) == 0 {
		return nil
	}
	key := strings.Join(all, "\x00")
	have, ok := s[key]
	if !ok {
		have = slices.Clone(all)
		s[key] = have
	}
	return have
}

// decode reads a record of JSON.
func decode(from *disk.Spool, at int64, size uint32, v any) error {
	b, err := from.Read(nil, at, size)
	if err != nil {
		return fmt.Errorf("the catalogue's records: %w", err)
	}
	return json.Unmarshal(b, v)
}
