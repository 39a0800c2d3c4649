package pages

import (
	"bytes"
	"encoding/json"
	"mime"
	"strings"

	"github.com/PuerkitoBio/goquery"
)

// LinkedData returns the JSON-LD of a page as one JSON array, if something in it may be about datasets; nil otherwise. Scripts that
// are no JSON are left out, as is what is past limit bytes. A page without costs a look for two words; only one with both is parsed.
func (x *Extractor) LinkedData(contentType, charsetName string, body []byte, limit int) []byte {
	if contentType == "text/plain" {
		return nil
	}
	if wide := strings.HasPrefix(strings.ToLower(charsetName), "utf-16"); !wide && !mayLink(body) {
		return nil
	} else if body = DecodeCharset(body, charsetName); wide && !mayLink(body) {
		return nil
	}
	if contentType == "application/xhtml+xml" {
		body = closedRaw.ReplaceAll(body, []byte("<$1$2></$1>"))
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
	if err != nil {
		return nil // nested too deep to be parsed
	}
	out := []byte{'['}
	doc.Find("script[type]").EachWithBreak(func(_ int, s *goquery.Selection) bool {
		kind, _, _ := mime.ParseMediaType(s.AttrOr("type", ""))
		if kind != "application/ld+json" {
			return true
		}
		text := scriptText(s.Text())
		if len(out)+len(text)+2 > limit {
			return false
		}
		if !json.Valid([]byte(text)) {
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, text...)
		return true
	})
	if len(out) == 1 {
		return nil
	}
	return append(out, ']')
}

// mayLink reports whether JSON-LD about datasets may be in a page: the end of its media type, however the plus is written, and in the
// script that follows the word. A sign that pages have few of is looked for first: that costs about a microsecond (m).
func mayLink(body []byte) bool {
	return scriptMayLink(body, '+', "json") || scriptMayLink(body, '&', "#43;json", "#x2b;json", "plus;json")
}

func scriptMayLink(body []byte, sign byte, words ...string) bool {
	for {
		i := bytes.IndexByte(body, sign)
		if i < 0 {
			return false
		}
		body = body[i+1:]
		for _, w := range words {
			if len(body) < len(w) || !strings.EqualFold(string(body[:len(w)]), w) {
				continue
			}
			script := body
			if end := bytes.Index(body, []byte("</script")); end >= 0 {
				script = body[:end]
			}
			if bytes.Contains(script, []byte("ataset")) {
				return true
			}
		}
	}
}

// scriptText takes off what is put round scripts for the sake of other readers.
func scriptText(s string) string {
	s = strings.TrimSpace(s)
	for _, wrap := range [][2]string{{"<!--", "-->"}, {"<![CDATA[", "]]>"}} {
		if inner, ok := strings.CutPrefix(s, wrap[0]); ok {
			s = strings.TrimSpace(strings.TrimSuffix(inner, wrap[1]))
		}
	}
	return s
}
