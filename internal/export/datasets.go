package export

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Dataset is a row of the table of datasets. crawl.DatasetInfo describes the columns. Values with
// arbitrary keys are one column with JSON.
type Dataset struct {
	ID            string     `parquet:"id"`
	Title         *string    `parquet:"title,optional"`
	Name          *string    `parquet:"name,optional"`
	Description   *string    `parquet:"description,optional"`
	License       *string    `parquet:"license,optional,dict"`
	SPDX          *string    `parquet:"spdx,optional,dict"`
	LicenseByHost bool       `parquet:"license_by_host"`
	Publisher     *string    `parquet:"publisher,optional,dict"`
	Creators      []string   `parquet:"creators,list"`
	Keywords      []string   `parquet:"keywords,list"`
	Version       *string    `parquet:"version,optional"`
	Issued        *string    `parquet:"issued,optional"`
	Modified      *string    `parquet:"modified,optional"`
	Identifier    *string    `parquet:"identifier,optional"`
	Page          *string    `parquet:"page,optional"`
	URLs          []string   `parquet:"urls,list"`
	Files         []File     `parquet:"files,list"`
	Type          *string    `parquet:"type,optional,dict"`
	Rows          *int64     `parquet:"rows,optional"`
	Cols          *int64     `parquet:"cols,optional"`
	Columns       []Column   `parquet:"columns,list"`
	Source        *string    `parquet:"source,optional"`
	Origin        string     `parquet:"origin,dict"`
	DataTxt       *string    `parquet:"data_txt,optional,dict"`
	External      bool       `parquet:"external"`
	Allowed       bool       `parquet:"allowed"`
	FetchedAt     *time.Time `parquet:"fetched_at,optional,timestamp(millisecond)"`
	Expires       *time.Time `parquet:"expires,optional,timestamp(millisecond)"`
	Documents     []string   `parquet:"documents,list"` // sources, the most trusted first
	AlsoAt        []string   `parquet:"also_described_at,list"`
	Extra         *string    `parquet:"extra_json,optional"`
	Provenance    *string    `parquet:"provenance_json,optional"`
	Conflicts     *string    `parquet:"conflicts_json,optional"`
	UsageSearch   *string    `parquet:"usage_search,optional,dict"`
	UsageAIInput  *string    `parquet:"usage_ai_input,optional,dict"`
	UsageAITrain  *string    `parquet:"usage_ai_train,optional,dict"`
	UsageTDM      *string    `parquet:"usage_tdm,optional,dict"`
	Removed       *string    `parquet:"removed,optional,dict"` // see DatasetGone
}

// DatasetGone makes the row of a dataset that is no longer a part of the export. It has no other
// values.
func DatasetGone(id, why string) Dataset { return Dataset{ID: valid(id), Removed: text(why)} }

// File is a file of a dataset.
type File struct {
	URL       string  `parquet:"url"`
	Directory bool    `parquet:"directory"`
	Name      *string `parquet:"name,optional"`
	MediaType *string `parquet:"media_type,optional"`
	Bytes     *int64  `parquet:"bytes,optional"`
	SHA256    *string `parquet:"sha256,optional"`
	SHA512    *string `parquet:"sha512,optional"`
	SHA1      *string `parquet:"sha1,optional"`
	MD5       *string `parquet:"md5,optional"`
	// BytesAbout is rounded; it has a value only if Bytes has none.
	BytesAbout *int64 `parquet:"bytes_about,optional"`
}

// Column is a column of a dataset that is a table.
type Column struct {
	Name        string  `parquet:"name"`
	Type        *string `parquet:"type,optional"`
	Description *string `parquet:"description,optional"`
}

// DatasetOf makes the row of a dataset.
func DatasetOf(d *crawl.DatasetInfo) (Dataset, error) {
	row := Dataset{
		ID: valid(d.ID), Title: text(d.Title), Name: text(d.Name), Description: text(d.Description), License: text(d.License), LicenseByHost: d.LicenseByHost,
		Publisher: text(d.Publisher), Creators: texts(d.Creators), Keywords: texts(d.Keywords), Version: text(d.Version), Issued: text(d.Issued),
		Modified: text(d.Modified), Identifier: text(d.Identifier), Page: text(d.Page), URLs: texts(d.URLs), Type: text(d.Type), Rows: d.Rows, Cols: d.Cols,
		Source: text(d.Source), Origin: valid(d.Origin), DataTxt: text(d.DataTxt), External: d.External, Allowed: d.Allowed, FetchedAt: new(d.FetchedAt.UTC()),
		UsageSearch: text(d.Usage.Search), UsageAIInput: text(d.Usage.AIInput), UsageAITrain: text(d.Usage.AITrain), UsageTDM: text(d.Usage.TDM),
	}
	if d.SPDX != nil {
		row.SPDX = text(*d.SPDX)
	}
	if !d.Expires.IsZero() {
		row.Expires = new(d.Expires.UTC())
	}
	for _, f := range d.Files {
		row.Files = append(row.Files, File{URL: valid(f.URL), Directory: f.Directory, Name: text(f.Name), MediaType: text(f.MediaType), Bytes: f.Bytes,
			SHA256: text(f.SHA256), SHA512: text(f.SHA512), SHA1: text(f.SHA1), MD5: text(f.MD5), BytesAbout: f.BytesAbout})
	}
	for _, c := range d.Columns {
		row.Columns = append(row.Columns, Column{Name: valid(c.Name), Type: text(c.Type), Description: text(c.Description)})
	}
	for _, s := range d.Sources {
		row.Documents = append(row.Documents, valid(s.Document))
	}
	for _, s := range d.AlsoDescribedAt {
		row.AlsoAt = append(row.AlsoAt, valid(s.Document))
	}
	for _, o := range []struct {
		to   **string
		none bool
		v    any
	}{{&row.Extra, len(d.Extra) == 0, d.Extra}, {&row.Provenance, len(d.Provenance) == 0, d.Provenance}, {&row.Conflicts, len(d.Conflicts) == 0, d.Conflicts}} {
		if o.none {
			continue
		}
		b, err := line(o.v)
		if err != nil {
			return row, err
		}
		*o.to = text(string(bytes.TrimSuffix(b, []byte{'\n'})))
	}
	return row, nil
}

func texts(all []string) (valids []string) {
	for _, s := range all {
		valids = append(valids, valid(s))
	}
	return valids
}

// line encodes v as one line of JSON, like the exports in JSON lines.
func line(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return crawl.SafeJSON(b.Bytes()), nil
}
