package download

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// maxDisposition is how much of a Content-Disposition is read.
const maxDisposition = 8 << 10

// disposedName returns the file name of an answer's Content-Disposition, or "": filename* (RFC
// 8187), else filename (RFC 6266), in the forms that servers send. Of a path only the last part
// counts. The name is not safe yet.
func disposedName(h http.Header) string {
	var plain string
	for _, line := range h.Values("Content-Disposition") {
		line = line[:min(len(line), maxDisposition)]
		for line != "" {
			var key, value string
			key, value, line = nextParam(line)
			switch key {
			case "filename*":
				if name := lastPart(extValue(value)); name != "" {
					return name
				}
			case "filename":
				if name := lastPart(plainValue(value)); name != "" && plain == "" {
					plain = name
				}
			}
		}
	}
	return plain
}

// nextParam cuts one parameter off: up to the next semicolon that is not in quotes. The type at the
// beginning, such as attachment, has no value.
func nextParam(s string) (key, value, rest string) {
	quoted, end := false, len(s)
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted && i+1 < len(s) && s[i+1] == '"' && strings.Contains(s[i+2:], `"`):
			i++ // a quote within the name; without another one this is a path's last backslash
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ';' && !quoted:
			end = i
		}
		if end < len(s) {
			break
		}
	}
	if quoted { // a quote is missing, so that the first semicolon counts
		if i := strings.IndexByte(s, ';'); i >= 0 {
			end = i
		}
	}
	part := s[:end]
	if end < len(s) {
		rest = s[end+1:]
	}
	key, value, _ = strings.Cut(part, "=")
	return strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value), rest
}

// unquote removes the quotes around a value. A backslash only escapes a quote or another backslash:
// others are in the paths of Windows.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' {
		if len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\'' {
			return s[1 : len(s)-1]
		}
		return strings.TrimPrefix(s, `"`)
	}
	s = strings.TrimSuffix(s[1:], `"`)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(s)
}

// plainValue decodes the value of filename. It may be encoded as in mail (RFC 2047) or as in a URL,
// and its bytes are UTF-8 or ISO-8859-1.
func plainValue(s string) string {
	s = unquote(s)
	if strings.Contains(s, "=?") {
		if decoded, err := new(mime.WordDecoder).DecodeHeader(s); err == nil {
			s = decoded
		}
	}
	if strings.Contains(s, "%") {
		if decoded, err := url.PathUnescape(s); err == nil && utf8.ValidString(decoded) {
			s = decoded
		}
	}
	return toUTF8(s)
}

// extValue decodes the value of filename*: charset'language'value. It returns "" if that is not
// possible.
func extValue(s string) string {
	s = unquote(s)
	charset, rest, ok := strings.Cut(s, "'")
	if ok {
		_, rest, ok = strings.Cut(rest, "'")
	}
	if !ok { // some servers leave the charset out
		charset, rest = "UTF-8", s
	}
	decoded, err := url.PathUnescape(unquote(rest))
	if err != nil {
		return ""
	}
	switch {
	case strings.EqualFold(charset, "iso-8859-1"):
		decoded, err = charmap.ISO8859_1.NewDecoder().String(decoded)
	case strings.EqualFold(charset, "windows-1252"):
		decoded, err = charmap.Windows1252.NewDecoder().String(decoded)
	default:
		decoded = toUTF8(decoded)
	}
	if err != nil {
		return ""
	}
	return decoded
}

// toUTF8 reads bytes that are not UTF-8 as ISO-8859-1.
func toUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	decoded, err := charmap.ISO8859_1.NewDecoder().String(s)
	if err != nil {
		return strings.ToValidUTF8(s, "_")
	}
	return decoded
}

// lastPart returns what follows the last slash or backslash.
func lastPart(s string) string {
	s = strings.TrimRight(s, `/\ `)
	return s[strings.LastIndexAny(s, `/\`)+1:]
}
