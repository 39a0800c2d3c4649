package crawl

import (
	"time"

	"github.com/curtsy/curtsy/pkg/usage"
)

// Kinds of documents that tell of datasets, most trusted first: what the owner of a site lists,
// what travels with the data, what a page says of itself, what a portal says of many.
const (
	DatasetDataTxt     = "data.txt"
	DatasetDataPackage = "datapackage"
	DatasetCroissant   = "croissant"
	DatasetJSONLD      = "json-ld"
	DatasetDCAT        = "dcat"
	DatasetCKAN        = "ckan"
	DatasetLinkset     = "linkset"
	DatasetHeader      = "link-header" // the Link headers of a page
)

// DatasetKinds are all kinds, in the order of trust.
var DatasetKinds = []string{DatasetDataTxt, DatasetDataPackage, DatasetCroissant, DatasetJSONLD, DatasetDCAT, DatasetCKAN, DatasetLinkset, DatasetHeader}

// DatasetClaim is what one document says of one dataset, as read. Empty means that it does not say.
type DatasetClaim struct {
	Kind     string `json:"kind"`     // one of DatasetKinds
	Document string `json:"document"` // URL of the document, after redirects
	Form     string `json:"form,omitempty"`
	Line     int    `json:"line,omitempty"` // in a data.txt
	N        int    `json:"n"`              // which of the document's datasets, from 0
	// Of a claim too long for a message: the lists of part 1, 2, … continue those of part 0.
	Part   int    `json:"part,omitempty"`
	Origin string `json:"origin"`          // whose document it is
	Depth  int    `json:"depth,omitempty"` // of a nested data.txt: how many files lead to it
	// Fills names the claim of the file above, by its Document and N, that tells
	// of the same dataset.
	Fills *DatasetRef `json:"fills,omitempty"`

	// An identifier meant for the whole world: URL or DOI.
	ID          string `json:"id,omitempty"`
	Page        string `json:"page,omitempty"` // for people
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	License     string `json:"license,omitempty"` // as written
	Publisher   string `json:"publisher,omitempty"`
	Version     string `json:"version,omitempty"`
	Issued      string `json:"issued,omitempty"` // as written
	Modified    string `json:"modified,omitempty"`
	Type        string `json:"type,omitempty"`
	TypeImplied string `json:"type_implied,omitempty"` // what a data.txt that names no type means
	Source      string `json:"source,omitempty"`

	Creators []string        `json:"creators,omitempty"`
	Keywords []string        `json:"keywords,omitempty"`
	Files    []DatasetFile   `json:"files,omitempty"`
	Rows     *int64          `json:"rows,omitempty"`
	Cols     *int64          `json:"cols,omitempty"`
	Columns  []DatasetColumn `json:"columns,omitempty"`
	Extra    map[string]any  `json:"extra,omitempty"`

	// LeftOut is how many more datasets the document tells of, which are past
	// what one site may tell.
	LeftOut int `json:"left_out,omitempty"`

	External  bool      `json:"external,omitempty"`
	Allowed   bool      `json:"allowed"` // by a data.txt's own rules; true for other documents
	FetchedAt time.Time `json:"fetched_at"`
	Expires   time.Time `json:"expires,omitzero"`
	// Changed is when what is held of the document last changed, by the clock of its indexer; zero:
	// it was stored before that was noted.
	Changed time.Time `json:"changed,omitzero"`

	// Usage is what is said of the use of the document (formats §8).
	Usage usage.Statements `json:"usage,omitempty"`
}

// Untell takes the prose out of a claim whose document says nosnippet. What stands under keys that
// nobody knows may be prose too.
func (c *DatasetClaim) Untell() {
	c.Description, c.Extra = "", nil
	for i := range c.Columns {
		c.Columns[i].Description = ""
	}
}

// DatasetRef names a claim.
type DatasetRef struct {
	Document string `json:"document"`
	N        int    `json:"n"`
}

// DatasetFile is one file of a dataset.
type DatasetFile struct {
	URL string `json:"url"` // absolute, http or https
	// Directory says that files lie under the URL, and that it is none itself: nothing to download.
	Directory bool   `json:"directory,omitempty"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	Bytes     *int64 `json:"bytes,omitempty"`
	SHA256    string `json:"sha256,omitempty"` // lower-case hex, as the others
	SHA512    string `json:"sha512,omitempty"`
	SHA1      string `json:"sha1,omitempty"`
	MD5       string `json:"md5,omitempty"`
}

// DatasetInfo is one line of `curtsy datasets`: one dataset, put together from all
// documents that tell of it.
type DatasetInfo struct {
	// Short and the same as long as its address is; `curtsy datasets get` takes it.
	ID          string        `json:"id"`
	URLs        []string      `json:"urls"`
	Files       []DatasetFile `json:"files"`
	Identifier  string        `json:"identifier"` // as a document gives it: URL or DOI
	Page        string        `json:"page"`
	Name        string        `json:"name"`
	Title       string        `json:"title"`
	Description string        `json:"description"`
	License     string        `json:"license"` // as the site writes it
	// Its SPDX identifier; null: unknown, never guessed.
	SPDX      *string         `json:"spdx"`
	Publisher string          `json:"publisher"`
	Creators  []string        `json:"creators"`
	Keywords  []string        `json:"keywords"`
	Version   string          `json:"version"`
	Issued    string          `json:"issued"`
	Modified  string          `json:"modified"`
	Type      string          `json:"type"`
	Rows      *int64          `json:"rows"`
	Cols      *int64          `json:"cols"`
	Columns   []DatasetColumn `json:"columns"`
	Source    string          `json:"source"`
	// All other keys of a data.txt, as text, lists and objects.
	Extra  map[string]any `json:"extra"`
	Origin string         `json:"origin"` // whose document it is in
	// Where the data.txt was, after redirects; empty: none tells of it.
	DataTxt string `json:"data_txt"`
	Form    string `json:"form"` // records or yaml
	Line    int    `json:"line"` // in that file
	// A URL is on another host, under that host's robots.txt alone.
	External bool `json:"external"`
	// By the file's own rules; robots.txt is asked when it is fetched.
	Allowed   bool      `json:"allowed"`
	FetchedAt time.Time `json:"fetched_at"`
	// Of the data.txt that leads; absent: no data.txt does.
	Expires time.Time `json:"expires,omitzero"`

	// LicenseByHost says that the licence is the word of the host of every file; without
	// files, of the document's own host. What another site says of somebody's files gives
	// nobody the right to use them.
	LicenseByHost bool `json:"license_by_host"`
	// AlsoDescribedAt are documents of other sites that tell of the same dataset. They lead nothing
	// and add nothing to it.
	AlsoDescribedAt []DatasetSource `json:"also_described_at"`

	// The documents it is made of, most trusted first.
	Sources    []DatasetSource   `json:"sources"`
	Provenance map[string]string `json:"provenance"` // field → the document it is from
	// Field → what other documents say instead.
	Conflicts map[string][]DatasetStatement `json:"conflicts"`
	// Usage is what the sites of these documents say of their use, the strictest of each.
	Usage Usage `json:"usage"`

	// Changed is when one of all these documents last changed, by which `--since` chooses.
	Changed time.Time `json:"-"`
}

// DatasetRemoved is a line of an export of what changed: a dataset that was known is no part of it
// any more.
type DatasetRemoved struct {
	ID      string `json:"id"`
	Removed string `json:"removed"` // why: "gone", or what its site says of a use
}

// ChangedBy notes when a document that tells of the dataset changed.
func (d *DatasetInfo) ChangedBy(c *DatasetClaim) {
	at := c.Changed
	if at.IsZero() {
		at = c.FetchedAt
	}
	if at.After(d.Changed) {
		d.Changed = at
	}
}

// DatasetSource is a document that tells of a dataset.
type DatasetSource struct {
	Kind      string    `json:"kind"`
	Document  string    `json:"document"`
	FetchedAt time.Time `json:"fetched_at"`
	// More datasets it tells of, past what one site may tell; they are nowhere listed.
	LeftOut int `json:"left_out,omitempty"`
}

// DatasetStatement is what a document says of a field in contradiction to a more trusted one.
type DatasetStatement struct {
	Value    string `json:"value"`
	Document string `json:"document"`
}

// DatasetColumn describes one column of a table.
type DatasetColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
}

// DataRule is the line of a /data.txt that closes a URL of its origin to fetches of datasets, as
// the answer to "data-rule".
type DataRule struct {
	Document string `json:"document"` // the data.txt, after redirects
	Line     int    `json:"line"`
}
