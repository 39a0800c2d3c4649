package warc

import (
	"bufio"
	"bytes"
	"io"
	"net/http/httputil"
	"strconv"
	"strings"
)

// Message is an HTTP message as it was sent (RFC 9112), split into its parts.
type Message struct {
	Head []byte // with the empty line at its end
	Body []byte // as it was sent, including chunks

	lines []byte // Head without its first line
}

// Split splits a message. ok is false if its head does not end.
func Split(b []byte) (m Message, ok bool) {
	first := bytes.IndexByte(b, '\n') + 1
	for at := first; at > 0; {
		n := bytes.IndexByte(b[at:], '\n') + 1
		if n == 0 {
			break
		}
		if at += n; len(bytes.TrimRight(b[at-n:at], "\r\n")) == 0 {
			return Message{Head: b[:at], Body: b[at:], lines: b[first : at-n]}, true
		}
	}
	return m, false
}

// Status is the status of a response; 0 means that it is not a response.
func (m Message) Status() int {
	line, _, _ := strings.Cut(string(m.Head[:min(len(m.Head), 64)]), "\n")
	if f := strings.Fields(line); len(f) >= 2 && strings.HasPrefix(f[0], "HTTP/") && len(f[1]) == 3 {
		n, _ := strconv.Atoi(f[1]) // 0 with an error
		return max(n, 0)
	}
	return 0
}

// Get is the value of the first header line of that name, or "".
func (m Message) Get(name string) string {
	for line := range bytes.Lines(m.lines) {
		if k, v, ok := bytes.Cut(line, []byte(":")); ok && len(k) == len(name) && strings.EqualFold(string(k), name) {
			return string(bytes.TrimSpace(v))
		}
	}
	return ""
}

// Chunked reports whether the body is chunked.
func (m Message) Chunked() bool {
	return strings.HasSuffix(strings.ToLower(m.Get("Transfer-Encoding")), "chunked")
}

// NotChunked reports whether a body that should be chunked does not begin with the size of a chunk.
// Some programs archive such a body without its chunks, and leave the header as it was.
func (m Message) NotChunked() bool {
	line, _, ended := bytes.Cut(m.Body[:min(len(m.Body), 4<<10)], []byte("\n"))
	size, _, _ := bytes.Cut(line, []byte(";"))
	size = bytes.TrimSpace(size)
	return m.Chunked() && len(m.Body) > 0 && (!ended || len(size) == 0 || len(size) > 16 || len(bytes.Trim(size, "0123456789abcdefABCDEF")) > 0)
}

// MediaType is the Content-Type without parameters, in lower case.
func (m Message) MediaType() string {
	s, _, _ := strings.Cut(m.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(s))
}

// Payload is the body without its transfer encoding (ISO 28500 §6.3.2), and how many bytes of Body
// that was: the bytes after it do not belong to the message. whole is false if the body is
// truncated. A body that ends with its connection counts as complete.
func (m Message) Payload() (payload []byte, used int, whole bool) {
	status := m.Status()
	switch {
	case status == 204 || status == 304 || status/100 == 1:
		return nil, 0, true
	case m.Chunked() && !m.NotChunked():
		return unchunk(m.Body)
	}
	if n, err := strconv.ParseInt(m.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		if n > int64(len(m.Body)) {
			return m.Body, len(m.Body), false
		}
		return m.Body[:n], int(n), true
	}
	return m.Body, len(m.Body), true
}

// unchunk removes chunks, up to and including the trailer.
func unchunk(body []byte) (payload []byte, used int, whole bool) {
	in := bytes.NewReader(body)
	br := bufio.NewReaderSize(in, 4<<10)
	payload, err := io.ReadAll(httputil.NewChunkedReader(br))
	if err != nil {
		return payload, len(body), false
	}
	// The reader does not consume the trailer and the empty line.
	used = len(body) - in.Len() - br.Buffered()
	for rest := body[used:]; ; {
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 {
			return payload, len(body), false
		}
		used += n
		if len(bytes.TrimRight(rest[:n], "\r\n")) == 0 {
			return payload, used, true
		}
		rest = rest[n:]
	}
}
