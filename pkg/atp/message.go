package atp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Request asks for something.
type Request struct {
	Method Method
	URI    string // of the resource: an address, or a path that begins with "/"
	Header textproto.MIMEHeader
	Body   io.Reader // Length octets; nil if there are none
	Length int64     // octets of Body

	// Remote is the address of the client, for a request that a [Server] received.
	Remote netip.AddrPort

	extend func(time.Duration) error // nil for a request that is sent
}

// Extend gives the client this much time from now on to send the rest of a request that a [Server]
// received. A handler calls it when it knows who the client is, so that strangers have only
// Server.Receive.
func (r *Request) Extend(more time.Duration) error {
	if r.extend == nil {
		return nil
	}
	return r.extend(more)
}

// Response answers a request.
type Response struct {
	Status int // HTTP's meaning of the number
	Reason string
	Header textproto.MIMEHeader
	// Body is never nil. After fewer than Length octets it fails with io.ErrUnexpectedEOF. The
	// caller closes it, which closes the connection.
	Body io.ReadCloser
	// Length is the number of octets of Body, or -1 if Body ends with the connection. A cut body
	// then looks like a complete one, so its format must mark its own end.
	Length int64
}

// Err is nil for a status from 200 to 299, otherwise a *[StatusError].
func (r *Response) Err() error {
	if r.Status >= 200 && r.Status < 300 {
		return nil
	}
	e := &StatusError{Status: r.Status, Reason: r.Reason}
	if s, err := strconv.ParseUint(r.Header.Get(RetryAfter), 10, 31); err == nil {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}

// head reads the first line and the header lines of a message, within all limits. The body follows
// in the returned reader.
func head(from io.Reader) (first string, header textproto.MIMEHeader, body *bufio.Reader, err error) {
	limited := &io.LimitedReader{R: from, N: MaxHead}
	// The buffer must not read past the limit of the head and lose octets of the body, so body and
	// head share one buffer, and the limit is lifted between them.
	r := bufio.NewReaderSize(limited, MaxLine)
	lines, err := headLines(r, limited)
	if err != nil {
		return "", nil, nil, err
	}
	limited.N = 1<<63 - 1
	header = make(textproto.MIMEHeader, len(lines)-1)
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) {
			return "", nil, nil, fmt.Errorf("%w: a header line without a name and a colon", ErrMalformed)
		}
		header.Add(name, strings.Trim(value, " \t"))
	}
	return lines[0], header, r, nil
}

// headLines reads the lines of a head, the first line first. Lines that continue another are joined
// to it with a blank.
func headLines(r *bufio.Reader, limited *io.LimitedReader) ([]string, error) {
	var lines []string
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("%w: a line of more than %d octets", ErrTooLarge, MaxLine)
		case err == io.EOF && limited.N == 0:
			return nil, fmt.Errorf("%w: a head of more than %d octets", ErrTooLarge, MaxHead)
		case err == io.EOF && len(lines) == 0 && len(line) == 0:
			return nil, io.EOF
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		if strings.ContainsAny(text, "\r\x00") {
			return nil, fmt.Errorf("%w: a control character in the head", ErrMalformed)
		}
		switch n := len(lines); {
		case text == "" && n > 0:
			return lines, nil
		case text == "":
			return nil, fmt.Errorf("%w: the first line is empty", ErrMalformed)
		case text[0] == ' ' || text[0] == '\t':
			if n < 2 {
				return nil, fmt.Errorf("%w: a line that continues no header line", ErrMalformed)
			}
			joined := lines[n-1] + " " + strings.Trim(text, " \t")
			if len(joined)+2 > MaxLine {
				return nil, fmt.Errorf("%w: a header line of more than %d octets", ErrTooLarge, MaxLine)
			}
			lines[n-1] = joined
		case n > MaxFields:
			return nil, fmt.Errorf("%w: more than %d header lines", ErrTooLarge, MaxFields)
		default:
			lines = append(lines, text)
		}
	}
}

// readRequest reads a request up to its body. Its error is io.EOF if the other side sent nothing.
func readRequest(from io.Reader, maxBody int64) (*Request, error) {
	first, header, body, err := head(from)
	if err != nil {
		return nil, err
	}
	words := strings.Split(first, " ")
	if len(words) != 3 || !isToken(words[0]) {
		return nil, fmt.Errorf("%w: the first line is not Method URI %s", ErrMalformed, Version)
	}
	if err := checkVersion(words[2]); err != nil {
		return nil, err
	}
	if len(words[1]) > MaxURI {
		return nil, fmt.Errorf("%w: a URI of more than %d octets", ErrTooLarge, MaxURI)
	}
	if err := checkURI(words[1]); err != nil {
		return nil, err
	}
	length, err := contentLength(header)
	if err != nil {
		return nil, err
	}
	if length > maxBody {
		return nil, fmt.Errorf("%w: a body of more than %d octets", ErrTooLarge, maxBody)
	}
	length = max(length, 0)
	return &Request{Method: Method(words[0]), URI: words[1], Header: header, Length: length, Body: &exactly{from: body, left: length}}, nil
}

// readResponse reads a response up to its body.
func readResponse(from io.Reader) (*Response, error) {
	first, header, body, err := head(from)
	if err == io.EOF {
		return nil, io.ErrUnexpectedEOF
	} else if err != nil {
		return nil, err
	}
	version, rest, _ := strings.Cut(first, " ")
	if err := checkVersion(version); err != nil {
		return nil, err
	}
	status, reason, _ := strings.Cut(rest, " ")
	code, err := strconv.Atoi(status)
	if err != nil || len(status) != 3 || code < 100 || code > 599 {
		return nil, fmt.Errorf("%w: a status is a number from 100 to 599", ErrMalformed)
	}
	length, err := contentLength(header)
	if err != nil {
		return nil, err
	}
	var r io.Reader = body
	if length >= 0 {
		r = &exactly{from: body, left: length}
	}
	return &Response{Status: code, Reason: clean(reason), Header: header, Length: length, Body: io.NopCloser(r)}, nil
}

// contentLength is -1 if there is none. Several that agree are one, as in RFC 9112 §6.3.
func contentLength(h textproto.MIMEHeader) (int64, error) {
	values := h[ContentLength]
	if len(values) == 0 {
		return -1, nil
	}
	n, err := strconv.ParseUint(values[0], 10, 63)
	if err != nil || slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
		return 0, fmt.Errorf("%w: a Content-Length is one number", ErrMalformed)
	}
	return int64(n), nil
}

func checkVersion(s string) error {
	minor, ok := strings.CutPrefix(s, "ATP/0.")
	if _, err := strconv.ParseUint(minor, 10, 16); ok && err == nil {
		return nil
	}
	if major, ok := strings.CutPrefix(s, "ATP/"); ok && major != "" && major[0] >= '1' && major[0] <= '9' {
		return fmt.Errorf("%w: %s is spoken here", ErrVersion, Version)
	}
	return fmt.Errorf("%w: not %s", ErrMalformed, Version)
}

// checkURI wants a path or an absolute URI of visible ASCII characters.
func checkURI(s string) error {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return fmt.Errorf("%w: a URI has visible ASCII characters only", ErrMalformed)
		}
	}
	if strings.HasPrefix(s, "/") {
		return nil
	}
	if _, err := ParseAddress(s); err != nil {
		return fmt.Errorf("%w: a URI is a path or an address", ErrMalformed)
	}
	return nil
}

// encodeHead returns the first line and the header as they are sent, header lines sorted by name.
// It fails if the other side would have to refuse them.
func encodeHead(first string, h textproto.MIMEHeader) (string, error) {
	var b strings.Builder
	b.WriteString(first + "\r\n")
	lines := 0
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if !isToken(name) {
			return "", fmt.Errorf("%w: %q cannot name a header field", ErrMalformed, name)
		}
		for _, v := range h[name] {
			if strings.ContainsAny(v, "\r\n\x00") {
				return "", fmt.Errorf("%w: the value of %s has more than one line", ErrMalformed, name)
			}
			line := name + ": " + v + "\r\n"
			if lines++; lines > MaxFields || len(line) > MaxLine || b.Len()+len(line)+2 > MaxHead {
				return "", fmt.Errorf("%w: the header of a message", ErrTooLarge)
			}
			b.WriteString(line)
		}
	}
	return b.String() + "\r\n", nil
}

// isToken reports whether s is a token of RFC 9110 §5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// clean makes a reason fit to show: one line of at most MaxReason octets.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return strings.ToValidUTF8(s[:min(len(s), MaxReason)], "")
}

// exactly reads left octets, and fails if the other side ends earlier.
type exactly struct {
	from io.Reader
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.from.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	if err == io.EOF && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
