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

// File is one file that is wanted.
type File struct {
	Dataset *crawl.DatasetInfo
	About   crawl.DatasetFile
	URL     canon.URL
	Name    string // in the directory; given by Get
}

// Outcome is what became of a file, or of a dataset without files.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"    // fetched, in this run or together with earlier ones
	Had     Outcome = "had"     // there already
	Refused Outcome = "refused" // not to be had: forbidden, or not a file at all
	Failed  Outcome = "failed"  // could not be had, at least not now
	Limited Outcome = "limit"   // a limit of ours is in the way
)

// Result tells of one file.
type Result struct {
	Dataset string  `json:"id"`
	URL     string  `json:"url"`
	Path    string  `json:"path"`             // in the directory; "": nothing of it is there
	Bytes   int64   `json:"bytes"`            // of the file, or of what there is of it
	SHA256  string  `json:"sha256,omitempty"` // of the whole file
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
}

// Plan lists the files of datasets, each URL once, and the datasets that have none to get,
// with the reason. Directories are no files: if a data.txt names the files in a directory,
// these are listed themselves.
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
			u, err := canon.Parse(f.URL)
			if err != nil {
				none = append(none, Result{Dataset: d.ID, URL: f.URL, Outcome: Refused, Reason: err.Error()})
				continue
			}
			if !seen[u] {
				seen[u] = true
				files = append(files, File{Dataset: d, About: f, URL: u})
			}
		}
	}
	return files, none
}

// unwanted says why no file of a dataset is requested; "" if some are.
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

// Outlook is what getting datasets brings, as far as it is known beforehand.
type Outlook struct {
	Datasets, Files int
	Bytes           int64          // of the files whose size a document tells
	Unknown         int            // files of which none does
	Formats         map[string]int // by media type, or what stands for it
}

// Look is the outlook on files.
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
		if f.About.Bytes != nil {
			o.Bytes += *f.About.Bytes
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
