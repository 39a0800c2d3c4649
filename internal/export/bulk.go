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

// Bulk writes documents in the bulk format of Elasticsearch and OpenSearch: a line with the action
// and a line with the document, each ended by a line feed. A document has the same _id in every
// export, so that it replaces the document of an earlier export.
type Bulk struct {
	w     io.Writer
	index string
}

// NewBulk makes a writer. Every action names index, unless it is empty; then the address that the
// file is sent to must name one. index is valid according to IndexName.
func NewBulk(w io.Writer, index string) *Bulk { return &Bulk{w: w, index: index} }

// IndexName reports what is wrong with the name of an index, by the rules of both servers.
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

// Page adds a page as it is in the export in JSON lines, or removes one. Its _id is the SHA-256 of
// its URL, because an _id has 512 bytes at most.
func (b *Bulk) Page(p *crawl.PageRow) error {
	if p.Removed != "" {
		return b.write("delete", DocumentID(p.URL), nil)
	}
	return b.write("index", DocumentID(p.URL), &p.PageRecord)
}

// Links adds a page with all its links, or removes a page without links. Its _id is that of the
// page, so that old links of the page disappear.
func (b *Bulk) Links(l *crawl.PageLinks) error {
	if len(l.To) == 0 {
		return b.write("delete", DocumentID(l.From), nil)
	}
	return b.write("index", DocumentID(l.From), l)
}

// Dataset adds a dataset by its own ID. Unknown keys of its document become one text in JSON. As
// fields they would be refused if one key had values of two types.
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

// DatasetGone removes a dataset.
func (b *Bulk) DatasetGone(id string) error { return b.write("delete", id, nil) }

// DocumentID is the _id for a document with such a key: the SHA-256 of the key in hex.
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
