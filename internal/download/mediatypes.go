package download

import (
	"path"
	"strings"
)

// extensions has the usual extension of a media type. Types that say nothing about a file, such as
// application/octet-stream, are not here.
var extensions = map[string]string{
	"text/csv": ".csv", "application/csv": ".csv", "text/x-csv": ".csv", "text/comma-separated-values": ".csv",
	"text/tab-separated-values": ".tsv", "text/plain": ".txt", "text/html": ".html", "application/xhtml+xml": ".xhtml", "text/markdown": ".md",
	"application/json": ".json", "text/json": ".json", "application/geo+json": ".geojson", "application/vnd.geo+json": ".geojson", "application/ld+json": ".jsonld",
	"application/x-ndjson": ".ndjson", "application/jsonl": ".jsonl", "application/topo+json": ".topojson",
	"application/xml": ".xml", "text/xml": ".xml", "application/rdf+xml": ".rdf", "text/turtle": ".ttl", "application/n-triples": ".nt", "application/n-quads": ".nq",
	"application/trig": ".trig", "application/gml+xml": ".gml", "application/vnd.google-earth.kml+xml": ".kml", "application/vnd.google-earth.kmz": ".kmz",
	"application/gpx+xml": ".gpx", "application/atom+xml": ".atom", "application/yaml": ".yaml", "text/yaml": ".yaml", "application/x-yaml": ".yaml",
	"application/pdf": ".pdf", "application/zip": ".zip", "application/x-zip-compressed": ".zip", "application/gzip": ".gz", "application/x-gzip": ".gz",
	"application/x-tar": ".tar", "application/x-7z-compressed": ".7z", "application/x-bzip2": ".bz2", "application/x-xz": ".xz", "application/zstd": ".zst",
	"application/vnd.rar": ".rar", "application/x-rar-compressed": ".rar",
	"application/vnd.ms-excel": ".xls", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx", "application/vnd.oasis.opendocument.spreadsheet": ".ods",
	"application/msword": ".doc", "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx", "application/vnd.oasis.opendocument.text": ".odt",
	"application/vnd.apache.parquet": ".parquet", "application/x-parquet": ".parquet", "application/x-netcdf": ".nc", "application/netcdf": ".nc",
	"application/x-hdf5": ".h5", "application/x-hdf": ".hdf", "application/geopackage+sqlite3": ".gpkg", "application/vnd.sqlite3": ".sqlite", "application/x-sqlite3": ".sqlite",
	"image/tiff": ".tif", "image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/svg+xml": ".svg", "image/webp": ".webp",
	"audio/mpeg": ".mp3", "audio/wav": ".wav", "video/mp4": ".mp4",
}

// mediaType returns a media type without its parameters, in lower case. Catalogues also write a
// mere extension, such as CSV: then it is "".
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	if s = strings.ToLower(strings.TrimSpace(s)); strings.Contains(s, "/") {
		return s
	}
	return ""
}

// extensionOf returns the usual extension of a media type as an answer or a catalogue writes it, or
// "".
func extensionOf(kind string) string {
	if m := mediaType(kind); m != "" {
		return extensions[m]
	}
	if ext := "." + strings.ToLower(strings.Trim(kind, " .")); plausible(ext) && formats[ext[1:]] {
		return ext
	}
	return ""
}

// formats are the extensions without their dots, in lower case.
var formats = func() map[string]bool {
	all := map[string]bool{"geojson": true, "gpkg": true, "shp": true, "tgz": true, "jpeg": true, "tiff": true, "htm": true, "dta": true, "sav": true, "rds": true, "api": true}
	for _, ext := range extensions {
		all[ext[1:]] = true
	}
	return all
}()

// plausible reports whether the end of a name is an extension and not, say, the version at the end
// of zenodo.1234: it is short and has letters and digits only, at least one of them a letter.
func plausible(ext string) bool {
	if len(ext) < 2 || len(ext) > 11 {
		return false
	}
	letter := false
	for _, c := range []byte(strings.ToLower(ext[1:])) {
		switch {
		case c >= 'a' && c <= 'z':
			letter = true
		case c < '0' || c > '9':
			return false
		}
	}
	return letter
}

// programs are extensions of what makes an answer, and not of the answer.
var programs = map[string]bool{".php": true, ".asp": true, ".aspx": true, ".ashx": true, ".jsp": true, ".cgi": true, ".do": true, ".action": true, ".cfm": true,
	".dll": true, ".exe": true, ".pl": true, ".html": true, ".htm": true}

// zipped are extensions of files that are ZIP archives, packed those of other packed files.
var (
	zipped = map[string]bool{".zip": true, ".xlsx": true, ".ods": true, ".docx": true, ".odt": true, ".kmz": true}
	packed = map[string]bool{".zip": true, ".gz": true, ".7z": true, ".bz2": true, ".xz": true, ".zst": true, ".rar": true, ".tar": true, ".tgz": true}
)

// hasExt reports whether a name ends in an extension that says what the file is.
func hasExt(name string) bool {
	ext := path.Ext(name)
	return plausible(ext) && ext != name
}
