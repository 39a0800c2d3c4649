package response

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

var (
	// ErrMalformed is the error of a response that cannot be understood at all.
	ErrMalformed = errors.New("not an HTTP response")
	// ErrTooLarge is the error of a head that is longer than its limit.
	ErrTooLarge = errors.New("the response header is too large")
	// ErrLength is the error of a response that announces two different lengths of its body.
	ErrLength = errors.New("the response has two different lengths")
)

const (
	// maxInterim is how many interim responses (1xx) may precede the final one, as in net/http.
	maxInterim = 5
	// maxBlank is how many empty lines may precede the status line.
	maxBlank = 4
)

// Head is the head of a response.
type Head struct {
	Status int
	Header http.Header // canonical names; the values have no control characters
	// Length is how many bytes the body has. It is -1 if the body ends with the connection, or if
	// it is Chunked.
	Length  int64
	Chunked bool
	// Skipped is how many lines of the head were not understood and left out.
	Skipped int

	odd  bool // something was not according to the grammar
	keep bool // the connection may be used again according to the head
}

// Odd reports whether the head was not written according to RFC 9112, although it was understood.
func (h *Head) Odd() bool { return h.odd }

// Reusable reports whether the connection may be used for another request after the body was read
// to its end.
func (h *Head) Reusable() bool { return h.keep && !h.odd && (h.Chunked || h.Length >= 0) }

// ReadHead reads a head of at most limit bytes, including the interim responses before it. Its
// error is io.EOF if the connection ended before the first byte, io.ErrUnexpectedEOF if it ended
// within the head, ErrTooLarge, ErrMalformed or ErrLength, wrapped, or that of the reader. More
// than five interim responses count as too large.
func ReadHead(br *bufio.Reader, limit int64) (*Head, error) {
	r := &reader{br: br, left: limit}
	for range maxInterim + 1 {
		h, err := r.head()
		if err != nil {
			return nil, err
		}
		// What follows a 101 is another protocol, so the 101 is final.
		if h.Status >= 200 || h.Status == http.StatusSwitchingProtocols {
			h.odd = h.odd || r.odd
			return h, nil
		}
		r.odd = r.odd || h.odd || len(h.Header["Content-Length"]) > 0 || h.Chunked
	}
	return nil, fmt.Errorf("%w: more than %d interim responses", ErrTooLarge, maxInterim)
}

// reader reads lines within a limit.
type reader struct {
	br   *bufio.Reader
	left int64
	any  bool // a byte was read
	odd  bool // something in an interim response was odd
	long []byte
}

// line returns the next line without its end. It is valid until the next call.
func (r *reader) line() ([]byte, error) {
	r.long = r.long[:0]
	for {
		part, err := r.br.ReadSlice('\n')
		r.any = r.any || len(part) > 0
		if r.left -= int64(len(part)); r.left < 0 {
			return nil, ErrTooLarge
		}
		switch {
		case err == bufio.ErrBufferFull:
			r.long = append(r.long, part...)
			continue
		case err == io.EOF && r.any:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		if len(r.long) > 0 {
			r.long = append(r.long, part...)
			part = r.long
		}
		return bytes.TrimSuffix(part[:len(part)-1], []byte{'\r'}), nil
	}
}

func (r *reader) head() (*Head, error) {
	h := &Head{Header: make(http.Header, 12), Length: -1}
	minor, err := r.statusLine(h)
	if err != nil {
		return nil, err
	}
	if err := r.fields(h); err != nil {
		return nil, err
	}
	return h, h.frame(minor)
}

// statusLine reads the status line. It returns the minor version, or 1 if there is none.
func (r *reader) statusLine(h *Head) (minor int, err error) {
	var line []byte
	for blank := 0; ; blank++ {
		if line, err = r.line(); err != nil {
			return 0, err
		}
		whole := len(line)
		if line = trim(line); len(line) > 0 {
			h.odd = h.odd || len(line) != whole
			break
		}
		if h.odd = true; blank == maxBlank {
			return 0, fmt.Errorf("%w: it begins with empty lines", ErrMalformed)
		}
	}
	malformed := func() (int, error) { return 0, fmt.Errorf("%w: it begins with %q", ErrMalformed, clip(line)) }
	protocol, rest, ok := bytes.Cut(line, []byte{' '})
	if !ok || len(protocol) < 6 || !bytes.EqualFold(protocol[:5], []byte("HTTP/")) {
		return malformed()
	}
	major, minorText, hasMinor := bytes.Cut(protocol[5:], []byte{'.'})
	if len(major) != 1 || major[0] < '1' || major[0] > '9' {
		return malformed()
	}
	minor = 1
	switch {
	case !hasMinor:
		h.odd = true
	case len(minorText) == 1 && minorText[0] >= '0' && minorText[0] <= '9':
		minor = int(minorText[0] - '0')
	default:
		return malformed()
	}
	if major[0] != '1' {
		minor, h.odd = 1, true
	}
	h.odd = h.odd || string(protocol[:5]) != "HTTP/"
	code := bytes.TrimLeft(rest, " \t")
	h.odd = h.odd || len(code) != len(rest)
	if len(code) < 3 || len(code) > 3 && code[3] >= '0' && code[3] <= '9' {
		return malformed()
	}
	if h.Status, err = strconv.Atoi(string(code[:3])); err != nil || h.Status < 100 {
		return malformed()
	}
	h.odd = h.odd || len(code) > 3 && code[3] != ' '
	return minor, nil
}

// fields reads the fields up to the empty line.
func (r *reader) fields(h *Head) error {
	last := ""                            // the field that a folded line continues
	values := make([]string, usualFields) // of fields that come once; they share this memory
	for first := true; ; first = false {
		line, err := r.line()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			return nil
		}
		if folded := line[0] == ' ' || line[0] == '\t'; folded && !first {
			if v := h.Header[last]; last != "" {
				if more := value(line, h); more != "" {
					v[len(v)-1] = strings.TrimLeft(v[len(v)-1]+" "+more, " ")
				}
			} else {
				h.skip()
			}
			continue
		}
		name, text, ok := bytes.Cut(line, []byte{':'})
		bare := trim(name)
		h.odd = h.odd || len(bare) != len(name)
		if last = ""; !ok || !isToken(bare) {
			h.skip()
			continue
		}
		last = canonical(bare)
		v := value(text, h)
		if before := h.Header[last]; len(before) > 0 || len(values) == 0 {
			h.Header[last] = append(before, v)
			continue
		}
		values[0] = v
		h.Header[last], values = values[:1:1], values[1:]
	}
}

// usualFields is how many fields an ordinary response has at most.
const usualFields = 16

// canonical returns the canonical form of a field's name. Names of fields that many responses have,
// as most servers write them, are not allocated.
func canonical(name []byte) string {
	if s, ok := usualNames[string(name)]; ok {
		return s
	}
	return textproto.CanonicalMIMEHeaderKey(string(name))
}

// usualNames has the canonical names of frequent fields by themselves and by their lower case.
var usualNames = func() map[string]string {
	m := make(map[string]string)
	for _, name := range []string{
		"Accept-Ranges", "Access-Control-Allow-Origin", "Age", "Alt-Svc", "Cache-Control", "Cf-Cache-Status", "Cf-Ray", "Connection",
		"Content-Encoding", "Content-Language", "Content-Length", "Content-Security-Policy", "Content-Type", "Date", "Etag", "Expires",
		"Keep-Alive", "Last-Modified", "Link", "Location", "Permissions-Policy", "Pragma", "Referrer-Policy", "Server", "Set-Cookie",
		"Strict-Transport-Security", "Transfer-Encoding", "Vary", "Via", "X-Cache", "X-Content-Type-Options", "X-Frame-Options",
		"X-Powered-By", "X-Robots-Tag", "X-Xss-Protection",
	} {
		m[name], m[strings.ToLower(name)] = name, name
	}
	return m
}()

func (h *Head) skip() {
	h.Skipped++
	h.odd = true
}

// value returns a field's value, with blanks instead of control characters.
func value(text []byte, h *Head) string {
	text = trim(text)
	for i, c := range text {
		if c < ' ' && c != '\t' || c == 0x7f {
			text[i], h.odd = ' ', true
		}
	}
	return string(trim(text))
}

// frame determines where the body ends.
func (h *Head) frame(minor int) error {
	length, err := h.length()
	if err != nil {
		return err
	}
	codings, encoded := h.Header["Transfer-Encoding"]
	if delete(h.Header, "Transfer-Encoding"); encoded && minor == 0 {
		h.odd = true // HTTP/1.0 does not have it, but a server that sends it may use it
	} else if encoded {
		for name := range strings.SplitSeq(strings.Join(codings, ","), ",") {
			switch strings.ToLower(strings.Trim(name, " \t")) {
			case "chunked":
				h.odd = h.odd || h.Chunked
				h.Chunked = true
			case "":
			default: // identity, which means nothing, or a value that browsers ignore, too
				h.odd = true
			}
		}
	}
	switch {
	case h.Status < 200, h.Status == http.StatusNoContent, h.Status == http.StatusNotModified:
		h.Chunked, h.Length = false, 0
	case h.Chunked:
		if length >= 0 {
			h.odd = true
		}
		delete(h.Header, "Content-Length")
	default:
		h.Length = length
	}
	h.keep = minor >= 1
	for name := range strings.SplitSeq(strings.Join(h.Header["Connection"], ","), ",") {
		switch strings.ToLower(strings.Trim(name, " \t")) {
		case "close":
			h.keep = false
			return nil
		case "keep-alive":
			h.keep = true
		}
	}
	return nil
}

// length returns the Content-Length, or -1 if it cannot be understood.
func (h *Head) length() (int64, error) {
	length := int64(-1)
	fields := h.Header["Content-Length"]
	for text := range strings.SplitSeq(strings.Join(fields, ","), ",") {
		text = strings.Trim(text, " \t")
		if text == "" {
			h.odd = h.odd || len(fields) > 0
			continue
		}
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			h.skip()
			continue
		}
		if length >= 0 && int64(n) != length {
			return 0, fmt.Errorf("%w: %d and %d bytes", ErrLength, length, n)
		}
		h.odd = h.odd || length >= 0
		length = int64(n)
	}
	return length, nil
}

func trim(b []byte) []byte { return bytes.Trim(b, " \t\r") }

// isToken reports whether a name is a token (RFC 9110 §5.6.2).
func isToken(name []byte) bool {
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return len(name) > 0
}

func clip(b []byte) []byte { return b[:min(len(b), 60)] }
