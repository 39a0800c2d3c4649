package simweb

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// request is what the sites need to know of a request.
type request struct {
	method, host, path string // host as sent, path with the query
	agent              string // User-Agent
	peer               string // address of the client; not read from the request
	accepts            string // Accept-Encoding
	ifNoneMatch        string
	byteRange, ifRange string
	authorization      string
	signer             string // Signature-Agent: the name of the signer
	secure             bool   // it came over TLS
	reused             bool   // its connection was used for a request before
	close              bool   // the client wants the connection closed afterwards
	length             int64
	form               string // the body of a POST
}

// headLimit is the size of a request's longest line, and maxHeaders the number of its header lines.
const (
	headLimit  = 8 << 10
	maxHeaders = 100
)

var errHead = errors.New("request head is not understood")

// readRequest parses the next request of a connection into q, and reuses q's strings that did not
// change. It reads only the head; io.EOF means that the client is done.
func readRequest(br *bufio.Reader, q *request) error {
	line, err := readLine(br)
	if err != nil {
		return err
	}
	host, err := q.requestLine(line)
	if err != nil {
		return err
	}
	q.ifNoneMatch, q.byteRange, q.ifRange, q.authorization, q.signer = "", "", "", "", ""
	agent, accepts := false, false
	for n := 0; ; n++ {
		if line, err = readLine(br); err != nil {
			return unexpected(err)
		}
		if len(line) == 0 {
			break
		}
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok || n == maxHeaders {
			return errHead
		}
		value = bytes.TrimSpace(value)
		switch {
		case isHeader(name, "host"):
			if host == nil {
				keep(&q.host, value)
			}
		case isHeader(name, "user-agent"):
			keep(&q.agent, value)
			agent = true
		case isHeader(name, "accept-encoding"):
			keep(&q.accepts, value)
			accepts = true
		case isHeader(name, "connection"):
			q.close = q.close || bytes.EqualFold(value, []byte("close"))
		case isHeader(name, "transfer-encoding"):
			q.close = true // nobody reads the body
		case isHeader(name, "content-length"):
			if q.length, err = strconv.ParseInt(string(value), 10, 64); err != nil || q.length < 0 {
				return errHead
			}
		case isHeader(name, "if-none-match"):
			q.ifNoneMatch = string(value)
		case isHeader(name, "range"):
			q.byteRange = string(value)
		case isHeader(name, "if-range"):
			q.ifRange = string(value)
		case isHeader(name, "authorization"):
			q.authorization = string(value)
		case isHeader(name, "signature-agent"):
			q.signer = strings.Trim(string(value), `"`)
		}
	}
	if host != nil {
		keep(&q.host, host)
	}
	if !agent {
		q.agent = ""
	}
	if !accepts {
		q.accepts = ""
	}
	return nil
}

// requestLine sets what the first line of a request says. If that has a URL instead of a path, its
// host counts instead of the Host header, and is returned.
func (q *request) requestLine(line []byte) (host []byte, err error) {
	method, rest, ok := bytes.Cut(line, []byte{' '})
	target, version, ok2 := bytes.Cut(rest, []byte{' '})
	if !ok || !ok2 || !bytes.HasPrefix(version, []byte("HTTP/1.")) || len(target) == 0 {
		return nil, errHead
	}
	keep(&q.method, method)
	q.close = string(version) == "HTTP/1.0"
	q.length = 0
	if target[0] != '/' { // absolute form, as proxies get it
		_, after, ok := bytes.Cut(target, []byte("://"))
		if !ok {
			return nil, errHead
		}
		slash := bytes.IndexByte(after, '/')
		if slash < 0 {
			return nil, errHead
		}
		host, target = bytes.Clone(after[:slash]), after[slash:]
	}
	q.path = string(target)
	return host, nil
}

// maxForm is the maximum length of a POST body that a handler gets.
const maxForm = 64 << 10

// readForm reads the body of a POST, if it is short.
func readForm(br *bufio.Reader, q *request) error {
	q.form = ""
	if q.method != "POST" || q.length > maxForm {
		return nil
	}
	body := make([]byte, q.length)
	_, err := io.ReadFull(br, body)
	q.form, q.length = string(body), 0
	return err
}

// readLine is the next line without its end.
func readLine(br *bufio.Reader) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		return nil, errHead
	}
	if err != nil {
		if len(line) > 0 {
			err = unexpected(err)
		}
		return nil, err
	}
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// isHeader compares a header's name with one in lower case.
func isHeader(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// keep sets *s to b without a new string if they are equal already.
func keep(s *string, b []byte) {
	if *s != string(b) {
		*s = string(b)
	}
}
