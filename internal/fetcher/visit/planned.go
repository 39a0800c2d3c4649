package visit

import (
	"path"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document"
)

// planned says what would become of a page, without asking for it. Its detail is the type that its
// name promises, if the crawl keeps none of that type.
func (v *Visit) planned(u *crawl.VisitURL) crawl.Result {
	r := crawl.Result{URL: u.URL, Class: crawl.Refused, Reason: crawl.ReasonPlanned}
	kind := typesByName[strings.ToLower(path.Ext(u.URL.Path()))]
	if certain, possible := metaDocument(u.URL, kind, false); kind != "" && !certain && !possible && !v.storable(kind) {
		r.Rule = kind
	}
	return r
}

// typesByName are media types that the ending of a name promises, of those that sitemaps name
// beside pages. A server may say otherwise.
var typesByName = map[string]string{
	".pdf": document.PDF, ".docx": document.DOCX, ".xlsx": document.XLSX, ".pptx": document.PPTX, ".odt": document.ODT, ".ods": document.ODS,
	".odp": document.ODP, ".csv": document.CSV, ".tsv": document.TSV, ".json": document.JSON, ".rss": document.RSS, ".atom": document.Atom,
	".doc": "application/msword", ".xls": "application/vnd.ms-excel", ".ppt": "application/vnd.ms-powerpoint",
	".md": typeMarkdown, ".txt": typeText,
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".svg": "image/svg+xml",
	".mp3": "audio/mpeg", ".mp4": "video/mp4", ".webm": "video/webm",
	".zip": "application/zip", ".gz": "application/gzip", ".tgz": "application/gzip", ".7z": "application/x-7z-compressed",
	".css": "text/css", ".js": "text/javascript",
}
