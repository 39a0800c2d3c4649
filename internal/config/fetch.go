package config

import (
	"os"
	"path/filepath"
)

// Fetch limits the work of one fetcher and what it takes from a site.
type Fetch struct {
	Visits  int  `key:"visits" group:"Limits,common" usage:"visit ‹N› hosts at the same time" example:"256"`
	MaxBody Size `key:"max-body" group:"Limits" usage:"keep at most this ‹SIZE› of a page" example:"10MiB"`
	// MaxCatalogue bounds a JSON catalogue of datasets, which is read as a stream.
	MaxCatalogue Size `key:"max-catalogue" group:"Limits" usage:"read at most this ‹SIZE› of a dataset catalogue (data.json, CKAN, JSON-LD)" example:"64MiB"`
	// PageMemory bounds the memory of all large pages together, and of what is gathered from pages
	// with many links, until they are published. A page that does not fit waits.
	PageMemory Size `key:"page-memory" group:"Limits" usage:"use at most this ‹SIZE› of memory for large pages and for pages with many links; further ones wait" example:"256MiB"`
	Rendering  `key:",squash"`
	PDFToText  string `key:"pdftotext" group:"What is kept" usage:"read PDF files with the poppler program at ‹PATH› (empty: with the built-in reader)" example:"/usr/bin/pdftotext"`
}

// leastPageMemory is enough for a single large page.
const leastPageMemory = 32 << 20

// executable reports whether an absolute path names a program.
func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && filepath.IsAbs(path) && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

func newFetch() Fetch {
	return Fetch{Visits: 256, MaxBody: 10 << 20, MaxCatalogue: 64 << 20, PageMemory: 256 << 20, Rendering: newRendering()}
}

func (f Fetch) check(src *Source) error {
	switch {
	case f.Visits < 1 || f.Visits > 10000:
		return src.Refuse("visits", "must be 1 to 10000; use for example 256")
	case f.MaxBody < 1<<10:
		return src.Refuse("max-body", "is under 1KiB; use for example 10MiB")
	case f.MaxCatalogue < 1<<20:
		return src.Refuse("max-catalogue", "is under 1MiB; use for example 64MiB")
	case f.PDFToText != "" && !executable(f.PDFToText):
		return src.Refuse("pdftotext", "is not a program; use for example /usr/bin/pdftotext from the Debian package poppler-utils")
	case f.PageMemory < leastPageMemory:
		return src.Refuse("page-memory", "is under 32MiB; use for example 256MiB")
	}
	return f.Rendering.check(src)
}

// Rendering says how the scripts of pages are run.
type Rendering struct {
	Browser string `key:"render-browser" group:"Limits" usage:"run the scripts of pages with the Chromium at ‹PATH› (empty: curtsy crawl uses the one in PATH, and a fetcher uses the renderers of the NATS server)" example:"/usr/bin/chromium"`
	Slots   int    `key:"render-slots" group:"Limits" usage:"render ‹N› pages at the same time" example:"2"`
}

func newRendering() Rendering { return Rendering{Slots: 2} }

func (r Rendering) check(src *Source) error {
	switch {
	case r.Browser != "" && !executable(r.Browser):
		return src.Refuse("render-browser", "is not a program; use for example /usr/bin/chromium from the Debian package chromium")
	case r.Slots < 1 || r.Slots > 256:
		return src.Refuse("render-slots", "must be 1 to 256; use for example 2")
	}
	return nil
}
