package pagetext

import (
	"bytes"
	"encoding/json"
	"mime"
	"strings"

	"github.com/curtsy/curtsy/internal/html"
)

// maxScripts is how many scripts of a page are searched for JSON-LD.
const maxScripts = 1000

// LinkedData returns the JSON-LD of a page as one JSON array if it may describe datasets, nil
// otherwise. Scripts that are not valid JSON are left out, and so is everything after limit bytes.
// For a page without JSON-LD it only searches for two words. It builds no tree, so its memory does
// not grow with the page.
func (x *Extractor) LinkedData(contentType, charsetName string, body []byte, limit int) []byte {
	if contentType == "text/plain" || contentType == html.TypeMarkdown {
		return nil
	}
	if wide := strings.HasPrefix(strings.ToLower(charsetName), "utf-16"); !wide && !mayLink(body) {
		return nil
	} else if body = html.Decode(body, charsetName); wide && !mayLink(body) {
		return nil
	}
	_, body = html.Convert(contentType, body)
	out := []byte{'['}
	s, scripts := html.Reader{Page: body, Scripts: true}, 0
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
		text := scriptText(s.Raw())
		if len(out)+len(text)+2 > limit {
			break
		}
		if !json.Valid(text) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, text...)
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, ']')
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
	return scriptMayLink(body, '+', "json") || scriptMayLink(body, '&', "#43;json", "#x2b;json", "plus;json")
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
