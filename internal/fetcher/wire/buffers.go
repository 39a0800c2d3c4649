package wire

import (
	"bufio"
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// buffers are what a session sends from and reads into. The zero value is ready for use.
type buffers struct {
	sending bytes.Buffer  // the last request, in one piece
	lines   []byte        // the header of the Config, as it is sent; nil: it was not sent yet
	in      *bufio.Reader // of answers; nil: none was read yet
}

// readers have buffers for reading answers. A session has one: connections that wait for a request
// need none, and there may be many more of them.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBuffer) }}

// answer returns a reader of the answer that comes over c. Nothing of an earlier answer is in it,
// because the connection of that answer was closed if there was more.
func (b *buffers) answer(c *conn) *bufio.Reader {
	if b.in == nil {
		b.in = readers.Get().(*bufio.Reader)
	}
	b.in.Reset(c)
	return b.in
}

// release leaves the reader to other sessions.
func (b *buffers) release() {
	if b.in != nil {
		b.in.Reset(nil)
		readers.Put(b.in)
		b.in = nil
	}
}

// request is what goes out, without what only its connection knows.
type request struct {
	method, target, host string
	header               http.Header
	own                  bool // header is not that of the Config
	body                 string
}

// request makes one piece of a request. It is valid until the next call. The lines that all
// requests of a Config have are made once for a session.
func (b *buffers) request(r *request) []byte {
	out := &b.sending
	out.Reset()
	out.WriteString(r.method)
	out.WriteByte(' ')
	out.WriteString(r.target)
	out.WriteString(" HTTP/1.1\r\nHost: ")
	out.WriteString(r.host)
	out.WriteString("\r\n")
	if r.own {
		writeFields(out, r.header)
	} else {
		if b.lines == nil {
			var lines bytes.Buffer
			writeFields(&lines, r.header)
			b.lines = lines.Bytes()
		}
		out.Write(b.lines)
	}
	if r.method == http.MethodPost {
		writeField(out, "Content-Length", strconv.Itoa(len(r.body)))
	}
	out.WriteString("\r\n")
	out.WriteString(r.body)
	return out.Bytes()
}

// writeFields writes a header: the User-Agent, and then the other fields by their names.
func writeFields(b *bytes.Buffer, header http.Header) {
	for _, v := range header["User-Agent"] {
		writeField(b, "User-Agent", v)
	}
	var names [24]string
	rest := names[:0]
	for name := range header {
		if name != "User-Agent" {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	for _, name := range rest {
		for _, v := range header[name] {
			writeField(b, name, v)
		}
	}
}

// writeField writes a line. Names and values are our own, so only line ends have to be checked.
func writeField(b *bytes.Buffer, name, value string) {
	b.WriteString(name)
	b.WriteString(": ")
	for i := range len(value) {
		if c := value[i]; c != '\r' && c != '\n' {
			b.WriteByte(c)
		} else {
			b.WriteByte(' ')
		}
	}
	b.WriteString("\r\n")
}
