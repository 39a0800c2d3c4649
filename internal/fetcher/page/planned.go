package page

import (
	"path"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
)

// Planned returns the result of a page in a crawl that is only planned, without requesting it. Its
// detail is the media type that its name promises, if the crawl stores no pages of that type.
func (p *Pages) Planned(u *crawl.VisitURL) crawl.Result {
	r := crawl.Result{URL: u.URL, Class: crawl.Refused, Reason: crawl.ReasonPlanned}
	kind := typesByName[strings.ToLower(path.Ext(u.URL.Path()))]
	if kind != "" && !metaDocument(u.URL, kind, false).named() && !p.storable(u.URL, kind) {
		r.Rule = kind
	}
	return r
}

// typesByName has the media types of the name endings that sitemaps list besides pages. A server
// may use another type.
var typesByName = map[string]string{
	".pdf": document.PDF, ".docx": document.DOCX, ".xlsx": document.XLSX, ".pptx": document.PPTX, ".odt": document.ODT, ".ods": document.ODS,
	".odp": document.ODP, ".epub": document.EPUB, ".csv": document.CSV, ".tsv": document.TSV, ".json": document.JSON, ".rss": document.RSS, ".atom": document.Atom,
	".doc": "application/msword", ".xls": "application/vnd.ms-excel", ".ppt": "application/vnd.ms-powerpoint",
	".md": answer.Markdown, ".txt": answer.Text,
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".svg": "image/svg+xml",
	".mp3": "audio/mpeg", ".mp4": "video/mp4", ".webm": "video/webm",
	".zip": "application/zip", ".gz": "application/gzip", ".tgz": "application/gzip", ".7z": "application/x-7z-compressed",
	".css": "text/css", ".js": "text/javascript",
}
