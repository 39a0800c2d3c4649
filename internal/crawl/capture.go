package crawl

import "time"

// Capture is a request and its response as they were on the wire, for the archive of a crawl with
// one (Spec.WARC). URL, time and visit are those of its Page. The fetcher sends no capture of a
// page that must not be stored.
type Capture struct {
	// Number is that of the request in its visit, from 1. Visit and Number identify the capture, so
	// that it is stored once if it comes twice.
	Number  int
	Request []byte // the head that was sent, without credentials
	// Response is the head of the response and its body before any decoding, packed according to
	// Encoding. With OfPage it is only the head, not packed. The body is then that of the page,
	// because it needed no decoding, and Encoding is that of the page.
	Response []byte
	Encoding Encoding
	OfPage   bool
	// CRC is, with OfPage, the CRC-32 (IEEE) of the page's unpacked body, so that the archive need
	// not unpack it. 0: not known.
	CRC   uint32
	Cut   bool   // the body is not complete
	CutBy CutBy  // with Cut: why
	IP    string // of the server
	Took  time.Duration
	// Links are the links of the page that are followed, or some of them if there are very many.
	// They have the form of the archive: one line "outlink: URL" for each, ended by CR and LF, all
	// together as an S2 block.
	Links []byte
}

// CutBy is why the body of a capture is not complete.
type CutBy uint8

// The reasons (ISO 28500 §5.13). The zero value is for bodies that were not read or stored in full.
const (
	CutByLength CutBy = iota
	CutByTime
	CutByDisconnect
	CutUnspecified
)

// String is the reason in the form of WARC-Truncated.
func (c CutBy) String() string {
	if c < CutUnspecified {
		return [...]string{"length", "time", "disconnect"}[c]
	}
	return "unspecified"
}

// Bytes is the approximate size of a capture in a message; 0 for nil.
func (m *Capture) Bytes() int {
	if m == nil {
		return 0
	}
	return len(m.Request) + len(m.Response) + len(m.Links) + 64
}
