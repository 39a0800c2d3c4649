package crawl

import (
	"time"

	"github.com/curtsy/curtsy/pkg/usage"
)

// The kinds of documents about datasets, the most trusted first: lists of a site's owner, files
// beside the data, pages about themselves, portals about many datasets.
const (
	DatasetDataTxt     = "data.txt"
	DatasetDataPackage = "datapackage"
	DatasetCroissant   = "croissant"
	DatasetJSONLD      = "json-ld"
	DatasetDCAT        = "dcat"
	DatasetCKAN        = "ckan"
	DatasetAPI         = "api" // an answer of a repository or portal of another kind
	DatasetLinkset     = "linkset"
	DatasetHeader      = "link-header" // the Link headers of a page
)

// DatasetUnread is the kind of a claim about no dataset: its document could not be read whole.
const DatasetUnread = "unread"

// DatasetKinds are all kinds, in the order of trust.
var DatasetKinds = []string{DatasetDataTxt, DatasetDataPackage, DatasetCroissant, DatasetJSONLD, DatasetDCAT, DatasetCKAN, DatasetAPI, DatasetLinkset, DatasetHeader}

// DatasetClaim is what one document states about one dataset. Fields are empty if it states
// nothing.
type DatasetClaim struct {
	Kind     string `json:"kind"`     // one of DatasetKinds, or DatasetUnread
	Document string `json:"document"` // URL of the document, after redirects
	Form     string `json:"form,omitempty"`
	Line     int    `json:"line,omitempty"` // in a data.txt
	N        int    `json:"n"`              // which of the document's datasets, from 0
	// Part is the number of a part of a claim that is too long for a message. The lists of parts 1,
	// 2, … continue those of part 0.
	Part   int    `json:"part,omitempty"`
	Origin string `json:"origin"`          // of the document
	Depth  int    `json:"depth,omitempty"` // of a nested data.txt: how many files lead to it
	// Fills is the claim of the file above about the same dataset.
	Fills *DatasetRef `json:"fills,omitempty"`

	// ID is a global identifier: a URL or DOI.
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
	TypeImplied string `json:"type_implied,omitempty"` // by a data.txt without a type
	Source      string `json:"source,omitempty"`

	Creators []string        `json:"creators,omitempty"`
	Keywords []string        `json:"keywords,omitempty"`
	Files    []DatasetFile   `json:"files,omitempty"`
	Rows     *int64          `json:"rows,omitempty"`
	Cols     *int64          `json:"cols,omitempty"`
	Columns  []DatasetColumn `json:"columns,omitempty"`
	Extra    map[string]any  `json:"extra,omitempty"`

	// LeftOut is how many more datasets the document has, beyond the limit for one site.
	LeftOut int `json:"left_out,omitempty"`

	External  bool      `json:"external,omitempty"`
	Allowed   bool      `json:"allowed"` // by the rules of the data.txt; true for other documents
	FetchedAt time.Time `json:"fetched_at"`
	Expires   time.Time `json:"expires,omitzero"`
	// Changed is when the stored contents of the document last changed, by the clock of its
	// indexer. Zero means that this was not recorded then.
	Changed time.Time `json:"changed,omitzero"`

	// Usage is what the document may be used for (formats §8).
	Usage usage.Statements `json:"usage,omitempty"`

	// Unread is, with DatasetUnread, why the document could not be read whole, and at which bytes.
	Unread string `json:"unread,omitempty"`
}

// RemoveProse removes all prose from a claim, because its document has nosnippet. This includes the
// values of unknown keys, which may be prose.
func (c *DatasetClaim) RemoveProse() {
	c.Description, c.Extra = "", nil
	for i := range c.Columns {
		c.Columns[i].Description = ""
	}
}

// DatasetRef identifies a claim.
type DatasetRef struct {
	Document string `json:"document"`
	N        int    `json:"n"`
}

// DatasetFile is one file of a dataset.
type DatasetFile struct {
	URL string `json:"url"` // absolute, http or https
	// Directory: the URL is a directory of files, and cannot be downloaded itself.
	Directory bool   `json:"directory,omitempty"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	Bytes     *int64 `json:"bytes,omitempty"`
	SHA256    string `json:"sha256,omitempty"` // lower-case hex, like the others
	SHA512    string `json:"sha512,omitempty"`
	SHA1      string `json:"sha1,omitempty"`
	MD5       string `json:"md5,omitempty"`
	// BytesAbout is a size in words, such as "8.2 MB". It is rounded, so no file is verified by it.
	// It is nil if Bytes has the exact size.
	BytesAbout *int64 `json:"bytes_about,omitempty"`
}

// DatasetInfo is one line of `curtsy datasets`: one dataset, merged from all documents about it.
type DatasetInfo struct {
	// ID is short, and the same while the address is the same. `curtsy datasets get` accepts it.
	ID          string        `json:"id"`
	URLs        []string      `json:"urls"`
	Files       []DatasetFile `json:"files"`
	Identifier  string        `json:"identifier"` // as a document gives it: URL or DOI
	Page        string        `json:"page"`
	Name        string        `json:"name"`
	Title       string        `json:"title"`
	Description string        `json:"description"`
	License     string        `json:"license"` // as the site writes it
	// SPDX is the SPDX identifier of the licence. Null: unknown. It is never guessed.
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
	// Extra has all other keys of a data.txt, as text, lists and objects.
	Extra  map[string]any `json:"extra"`
	Origin string         `json:"origin"` // of the document
	// DataTxt is the URL of the data.txt after redirects; empty: the dataset is in none.
	DataTxt string `json:"data_txt"`
	Form    string `json:"form"` // records or yaml
	Line    int    `json:"line"` // in that file
	// External: a URL is on another host, so that only the robots.txt of that host applies.
	External bool `json:"external"`
	// Allowed is by the rules of the data.txt. The robots.txt is checked at the fetch.
	Allowed   bool      `json:"allowed"`
	FetchedAt time.Time `json:"fetched_at"`
	// Expires is that of the most trusted data.txt; zero means that there is none.
	Expires time.Time `json:"expires,omitzero"`

	// LicenseByHost: the licence is stated by the hosts of all files or, without files, by the host
	// of the document. A statement of another site gives no right to use the files.
	LicenseByHost bool `json:"license_by_host"`
	// AlsoDescribedAt are documents of other sites about the same dataset. Nothing is taken from
	// them.
	AlsoDescribedAt []DatasetSource `json:"also_described_at"`

	// Sources are the documents that it is merged from, the most trusted first.
	Sources    []DatasetSource   `json:"sources"`
	Provenance map[string]string `json:"provenance"` // field → the document it is from
	// Conflicts has, by field, the different statements of other documents.
	Conflicts map[string][]DatasetStatement `json:"conflicts"`
	// Usage is what these documents may be used for: the strictest statement for each purpose.
	Usage Usage `json:"usage"`

	// Changed is when one of these documents last changed. `--since` uses it.
	Changed time.Time `json:"-"`
}

// DatasetRemoved is a line of an export of changes: the dataset is no longer a part of the export.
type DatasetRemoved struct {
	ID      string `json:"id"`
	Removed string `json:"removed"` // "gone", or a purpose that its site does not allow
}

// ChangedBy updates Changed with the time of a claim.
func (d *DatasetInfo) ChangedBy(c *DatasetClaim) {
	at := c.Changed
	if at.IsZero() {
		at = c.FetchedAt
	}
	if at.After(d.Changed) {
		d.Changed = at
	}
}

// DatasetSource is a document about a dataset.
type DatasetSource struct {
	Kind      string    `json:"kind"`
	Document  string    `json:"document"`
	FetchedAt time.Time `json:"fetched_at"`
	// LeftOut is how many more datasets it has, beyond the limit for one site. They are not listed.
	LeftOut int `json:"left_out,omitempty"`
}

// DatasetStatement is a statement of a document about a field that contradicts a more trusted one.
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

// DataRule is a line of a /data.txt that forbids the fetch of a URL of its origin as a dataset.
type DataRule struct {
	Document string `json:"document"` // the data.txt, after redirects
	Line     int    `json:"line"`
}
