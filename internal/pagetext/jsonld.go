package pagetext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/internal/lenientjson"
)

// maxScripts is how many scripts of a page are searched for JSON-LD.
const maxScripts = 1000

// maxFixed is how many bytes of all scripts of a page together are repaired.
const maxFixed = 4 << 20

// ScriptReport describes a script of JSON-LD that is not strict JSON.
type ScriptReport struct {
	Number int   // of the script among those with JSON-LD, from 1
	Offset int64 // where it begins in the page as it was served, -1 if that is not known
	lenientjson.Report
}

// String describes the report in one line, with offsets in the page if they are known.
func (s *ScriptReport) String() string {
	where := fmt.Sprintf("script %d of JSON-LD, from byte %d of the page", s.Number, s.Offset)
	if s.Offset < 0 {
		where = fmt.Sprintf("script %d of JSON-LD, bytes from its beginning", s.Number)
	}
	return where + ": " + strings.TrimPrefix(s.Report.String(), "JSON: ")
}

// isList reports whether the members of a list of this name are left out one by one if they cannot
// be read.
func isList(name []byte) bool {
	if i := bytes.LastIndexAny(name, ":/#"); i >= 0 {
		name = name[i+1:]
	}
	return string(name) == "@graph" || string(name) == "dataset" || string(name) == "itemListElement"
}

// LinkedData returns the JSON-LD of a page as one JSON array if it may describe datasets, nil
// otherwise. What the page describes in microdata or RDFa follows, as JSON-LD, if it has a dataset.
// Scripts that cannot be read as JSON are left out, and so are those with which the result would be
// longer than limit bytes. For a page without any of these it only searches for a few words. It
// builds no tree, so its memory does not grow with the page.
func (x *Extractor) LinkedData(contentType, charsetName string, body []byte, limit int) []byte {
	linked, _ := x.LinkedDataReport(contentType, charsetName, body, limit)
	return linked
}

// LinkedDataReport also returns what was odd in the scripts that are not strict JSON. Package
// lenientjson describes how they are read.
func (x *Extractor) LinkedDataReport(contentType, charsetName string, body []byte, limit int) (linked []byte, odd []ScriptReport) {
	if contentType == "text/plain" || contentType == html.TypeMarkdown {
		return nil, nil
	}
	served := body
	if wide := strings.HasPrefix(strings.ToLower(charsetName), "utf-16"); !wide && !mayLink(body) {
		return nil, nil
	} else if body = html.Decode(body, charsetName); wide && !mayLink(body) {
		return nil, nil
	}
	_, body = html.Convert(contentType, body)
	ahead := servedBefore(served, body)
	out := []byte{'['}
	s, scripts, fixed := html.Reader{Page: body, Scripts: true}, 0, 0
	for {
		kind, val, attrs := s.Next()
		if kind == html.End {
			break
		}
		if kind != html.StartTag {
			continue
		}
		if string(val) != "script" || !isLinkedData(html.Attr(attrs, "type")) {
			continue
		}
		if scripts++; scripts > maxScripts {
			break
		}
		raw := s.Raw()
		text := scriptText(raw)
		var report lenientjson.Report
		switch {
		case len(out)+len(text)+2 > limit:
			report = tooLong(text, limit)
			text = nil
		case json.Valid(text):
		case fixed+len(raw) > maxFixed:
			report = tooLong(text, maxFixed)
			text = nil
		default:
			fixed += len(raw)
			if text, report = lenientjson.Fix(raw, isList); len(out)+len(text)+2 > limit {
				report = tooLong(text, limit)
				text = nil
			}
		}
		if !report.Clean() && len(odd) < maxReports && mentionsDatasets(raw) {
			at := int64(-1)
			if ahead >= 0 {
				at = ahead + int64(cap(body)-cap(raw))
				report.Shift(at)
			}
			odd = append(odd, ScriptReport{scripts, at, report})
		}
		if text == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, text...)
	}
	if mayMark(body) {
		out = appendMarkup(out, body, limit)
	}
	if len(out) == 1 {
		return nil, odd
	}
	return append(out, ']'), odd
}

// maxReports is how many scripts of a page are described that are not strict JSON.
const maxReports = 16

// servedBefore returns how many bytes of a page as it was served are before its text, or -1 if the
// text was written anew.
func servedBefore(served, text []byte) int64 {
	n := len(served) - len(text)
	if len(text) == 0 || n < 0 || &served[n] != &text[0] {
		return -1
	}
	return int64(n)
}

// mentionsDatasets reports whether a script may be about datasets. Nobody asked for the others.
func mentionsDatasets(script []byte) bool { return bytes.Contains(script, []byte("ataset")) }

// tooLong is the report of a script that is not read.
func tooLong(text []byte, limit int) lenientjson.Report {
	return lenientjson.Report{Failed: true, LeftOut: 1, Outside: 1,
		Lost: []lenientjson.Problem{{What: fmt.Sprintf("more than %d bytes of JSON-LD with this script of %d bytes,", limit, len(text))}}}
}

// maxType is the longest type attribute that is read, in bytes.
const maxType = 256

// isLinkedData reports whether a type attribute, as it is written, is that of JSON-LD.
func isLinkedData(attr []byte) bool {
	if len(attr) == 0 || len(attr) > maxType {
		return false
	}
	kind, _, _ := mime.ParseMediaType(string(html.Value(attr)))
	return kind == "application/ld+json"
}

// mayLink reports whether a page may contain JSON-LD about datasets. It searches for the end of the
// media type, in every spelling of its plus, and for the word in the script after it. It first
// searches for a character that is rare in pages, which costs about a microsecond (m).
func mayLink(body []byte) bool {
	return mayMark(body) || scriptMayLink(body, '+', "json") || scriptMayLink(body, '&', "#43;json", "#x2b;json", "plus;json")
}

// scriptMayLink is linear: it searches each script once, however often sign occurs in it.
func scriptMayLink(body []byte, sign byte, words ...string) bool {
	end := -1 // of the last script with the sign
	for at := 0; ; {
		i := bytes.IndexByte(body[at:], sign)
		if i < 0 {
			return false
		}
		at += i + 1
		if at <= end {
			continue // this script was searched
		}
		for _, w := range words {
			if rest := body[at:]; len(rest) < len(w) || !strings.EqualFold(string(rest[:len(w)]), w) {
				continue
			}
			end = len(body)
			if n := bytes.Index(body[at:], []byte("</script")); n >= 0 {
				end = at + n
			}
			if bytes.Contains(body[at:end], []byte("ataset")) {
				return true
			}
			break
		}
	}
}

// scriptText removes the comments and CDATA marks in which authors wrap scripts for old browsers.
func scriptText(s []byte) []byte {
	s = bytes.TrimSpace(s)
	for _, wrap := range [][2]string{{"<!--", "-->"}, {"<![CDATA[", "]]>"}} {
		if inner, ok := bytes.CutPrefix(s, []byte(wrap[0])); ok {
			s = bytes.TrimSpace(bytes.TrimSuffix(inner, []byte(wrap[1])))
		}
	}
	return s
}
