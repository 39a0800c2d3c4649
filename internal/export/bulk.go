package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Bulk writes documents in the bulk format of Elasticsearch and OpenSearch: a line that says what
// to do, a line with the document, each ended by a line feed. A document has the same _id in every
// export, so one that is loaded again replaces itself.
type Bulk struct {
	w     io.Writer
	index string
}

// NewBulk makes a writer. index, unless empty, is named in every action; without it the address
// that the file is sent to names one. The name is one that IndexName lets through.
func NewBulk(w io.Writer, index string) *Bulk { return &Bulk{w: w, index: index} }

// IndexName says what is wrong with the name of an index, by the rules that both servers have.
func IndexName(s string) error {
	switch {
	case s == "." || s == ".." || strings.ContainsAny(s[:min(1, len(s))], "-_+"):
		return fmt.Errorf("the name of an index must not be . or .. and must not begin with - _ or +")
	case len(s) > 255:
		return fmt.Errorf("the name of an index may have at most 255 bytes")
	case strings.ContainsAny(s, `\/*?"<>| ,#:`) || strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf(`the name of an index must not contain a space or any of \ / * ? " < > | , # :`)
	case s != strings.ToLower(s):
		return fmt.Errorf("the name of an index must be in lower case")
	}
	return nil
}

// Page adds a page, as it stands in the export in JSON lines, or takes one away. Its _id is the
// SHA-256 of its URL, since an _id has 512 bytes at most.
func (b *Bulk) Page(p *crawl.PageRow) error {
	if p.Removed != "" {
		return b.write("delete", DocumentID(p.URL), nil)
	}
	return b.write("index", DocumentID(p.URL), &p.PageRecord)
}

// Links adds a page with all its links, or takes one away that has none or is removed. Its _id is
// that of the page: so links that the page has no more go with what it was before.
func (b *Bulk) Links(l *crawl.PageLinks) error {
	if len(l.To) == 0 {
		return b.write("delete", DocumentID(l.From), nil)
	}
	return b.write("index", DocumentID(l.From), l)
}

// Dataset adds a dataset by its own ID. What its document says under keys that nobody knows is one
// text, JSON: as fields, keys of one name with values of two kinds would be refused.
func (b *Bulk) Dataset(d *crawl.DatasetInfo) error {
	extra := ""
	if len(d.Extra) > 0 {
		j, err := line(d.Extra)
		if err != nil {
			return err
		}
		extra = string(bytes.TrimSpace(j))
	}
	return b.write("index", d.ID, struct {
		*crawl.DatasetInfo
		Extra string `json:"extra,omitempty"`
	}{d, extra})
}

// DatasetGone takes a dataset away.
func (b *Bulk) DatasetGone(id string) error { return b.write("delete", id, nil) }

// DocumentID is the _id of a document that is found by a text: its SHA-256 in hex.
func DocumentID(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func (b *Bulk) write(action, id string, document any) error {
	type target struct {
		Index string `json:"_index,omitempty"`
		ID    string `json:"_id"`
	}
	what, err := json.Marshal(map[string]target{action: {b.index, id}})
	if err != nil {
		return err
	}
	lines := append(what, '\n')
	if document != nil {
		j, err := line(document)
		if err != nil {
			return err
		}
		lines = append(lines, j...)
	}
	_, err = b.w.Write(lines)
	return err
}
