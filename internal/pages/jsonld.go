package pages

import (
	"bytes"
	"encoding/json"
	"mime"
	"strings"

	"github.com/curtsy/curtsy/internal/mdhtml"
)

// maxScripts is how many scripts of a page are looked into for JSON-LD.
const maxScripts = 1000

// LinkedData returns the JSON-LD of a page as one JSON array, if something in it may be about
// datasets; nil otherwise. Scripts that are not JSON are left out, and so is what is past limit
// bytes. A page without JSON-LD costs a search for two words; a page with both is read tag by tag.
// No tree is built, so memory does not grow with the page.
func (x *Extractor) LinkedData(contentType, charsetName string, body []byte, limit int) []byte {
	if contentType == "text/plain" || contentType == mdhtml.MediaType {
		return nil
	}
	if wide := strings.HasPrefix(strings.ToLower(charsetName), "utf-16"); !wide && !mayLink(body) {
		return nil
	} else if body = DecodeCharset(body, charsetName); wide && !mayLink(body) {
		return nil
	}
	_, body = readable(contentType, body)
	out := []byte{'['}
	s, scripts := scanner{src: body}, 0
	for {
		kind, val, attrs := s.next()
		if kind == atEnd {
			break
		}
		if kind != startTag {
			continue
		}
		raw := rawElement(val)
		if raw == "" {
			continue
		}
		s.raw = raw
		if raw != "script" || !isLinkedData(attr(attrs, "type")) {
			continue // its content comes next, and is passed over
		}
		if scripts++; scripts > maxScripts {
			break
		}
		at := s.i
		kind, val, _ = s.next()
		if kind != rawText {
			s.i = at
			continue
		}
		text := scriptText(val)
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

// maxType is the longest type attribute that is read.
const maxType = 256

// isLinkedData reports whether a type attribute, as it is written, says JSON-LD.
func isLinkedData(attr []byte) bool {
	if len(attr) == 0 || len(attr) > maxType {
		return false
	}
	kind, _, _ := mime.ParseMediaType(string(unescape(attr)))
	return kind == "application/ld+json"
}

// mayLink reports whether JSON-LD about datasets may be in a page. It looks for the end of the
// media type, however its plus is written, and for the word in the script that follows. A character
// that pages have few of is searched first: that costs about a microsecond (m).
func mayLink(body []byte) bool {
	return scriptMayLink(body, '+', "json") || scriptMayLink(body, '&', "#43;json", "#x2b;json", "plus;json")
}

// scriptMayLink looks at no place twice, however often sign occurs.
func scriptMayLink(body []byte, sign byte, words ...string) bool {
	end := -1 // of the script in which sign was found last
	for at := 0; ; {
		i := bytes.IndexByte(body[at:], sign)
		if i < 0 {
			return false
		}
		at += i + 1
		if at <= end {
			continue // that script has been looked through
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

// scriptText removes comments and CDATA marks that are put round scripts for old browsers.
func scriptText(s []byte) []byte {
	s = bytes.TrimSpace(s)
	for _, wrap := range [][2]string{{"<!--", "-->"}, {"<![CDATA[", "]]>"}} {
		if inner, ok := bytes.CutPrefix(s, []byte(wrap[0])); ok {
			s = bytes.TrimSpace(bytes.TrimSuffix(inner, []byte(wrap[1])))
		}
	}
	return s
}
