package download

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// File is a file to fetch.
type File struct {
	Dataset *crawl.DatasetInfo
	About   crawl.DatasetFile
	URL     canon.URL
	Target  string // path and query of URL as they are spelled in the catalogue
	Name    string // in the directory; assigned by Get, for a new file when it begins to arrive
}

// Outcome is the result for a file, or for a dataset without files.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"    // fetched, in this run or partly in earlier ones
	Had     Outcome = "had"     // existed already
	Refused Outcome = "refused" // not available: forbidden, or not a file
	Failed  Outcome = "failed"  // not available now
	Limited Outcome = "limit"   // one of our limits
)

// Result describes one file.
type Result struct {
	Dataset string  `json:"id"`
	URL     string  `json:"url"`
	Path    string  `json:"path"`             // in the directory; "": nothing was stored
	Bytes   int64   `json:"bytes"`            // of the file, or of the stored part
	SHA256  string  `json:"sha256,omitempty"` // of the whole file
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	// Remark is why a complete file may not be the announced one: a web page in its place, or
	// another size. Verify reports it as well.
	Remark string `json:"remark,omitempty"`
}

// Aside reports whether the file was stored beside its name, because it has another digest than the
// announced one.
func (r *Result) Aside() bool {
	return r.Outcome == Failed && strings.HasSuffix(r.Path, mismatchSuffix)
}

// Plan lists the files of datasets, each URL once, and the datasets that have no file to fetch,
// with the reason. Directories are not files: if a data.txt names the files in a directory, these
// are listed instead.
func Plan(datasets []crawl.DatasetInfo) (files []File, none []Result) {
	seen := map[canon.URL]bool{}
	for i := range datasets {
		d := &datasets[i]
		if why := unwanted(d); why != "" {
			none = append(none, Result{Dataset: d.ID, URL: strings.Join(d.URLs, " "), Outcome: Refused, Reason: why})
			continue
		}
		for _, f := range d.Files {
			if f.Directory {
				continue
			}
			u, target, err := canon.NewBase("").JoinAsWritten(f.URL)
			if err != nil {
				none = append(none, Result{Dataset: d.ID, URL: f.URL, Outcome: Refused, Reason: err.Error()})
				continue
			}
			if !seen[u] {
				seen[u] = true
				files = append(files, File{Dataset: d, About: f, URL: u, Target: target})
			}
		}
	}
	return files, none
}

// unwanted returns why no file of a dataset is requested, or "".
func unwanted(d *crawl.DatasetInfo) string {
	switch {
	case !d.Allowed:
		return fmt.Sprintf("%s line %d does not allow this crawler to download it", d.DataTxt, d.Line)
	case slices.ContainsFunc(d.Files, func(f crawl.DatasetFile) bool { return !f.Directory }):
		return ""
	case len(d.Files) > 0:
		return "it is a directory of datasets, not a file"
	case d.Page != "":
		return "no document lists a file of it; its page is " + d.Page
	}
	return "no document lists a file of it"
}

// Outlook is what is known about a download before it begins.
type Outlook struct {
	Datasets, Files int
	Bytes           int64          // of the files whose size a document states, at least about
	Unknown         int            // files without a stated size
	Formats         map[string]int // by media type, or a replacement for it
}

// Look returns the outlook for files.
func Look(files []File) Outlook {
	o := Outlook{Formats: map[string]int{}}
	seen := map[string]bool{}
	for i := range files {
		f := &files[i]
		if !seen[f.Dataset.ID] {
			seen[f.Dataset.ID] = true
			o.Datasets++
		}
		o.Files++
		if size := cmp.Or(f.About.Bytes, f.About.BytesAbout); size != nil {
			o.Bytes += *size
		} else {
			o.Unknown++
		}
		kind := f.About.MediaType
		if kind == "" {
			kind = strings.ToLower(strings.TrimPrefix(path.Ext(lastSegment(string(f.URL))), "."))
		}
		o.Formats[cmp.Or(kind, "unknown")]++
	}
	return o
}
