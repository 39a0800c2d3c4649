package crawl

import "time"

// Capture is a request and its answer as they went over the wire, for the archive of a crawl that
// has one (Spec.WARC). URL, time and visit are those of the Page that it comes with. An archive
// keeps no capture of what may not be kept: whoever fetched it looks at that first.
type Capture struct {
	// Number of the request in its visit, from 1. With the visit it names the capture, so that one
	// that comes twice is known.
	Number  int
	Request []byte // the head that was sent, without credentials
	// Response is the head of the answer and its body before any decoding, packed as Encoding
	// says. With OfPage it is the head alone, as it is, and the body is the page's, which Encoding
	// is of: nothing was to be decoded.
	Response []byte
	Encoding Encoding
	OfPage   bool
	// CRC is, with OfPage, the CRC-32 (IEEE) of the page's body unpacked, so that the archive need
	// not unpack it; 0: it has to.
	CRC   uint32
	Cut   bool   // there was more of the body
	CutBy CutBy  // with Cut: why it is not all there
	IP    string // the address that was asked
	Took  time.Duration
	// Links is where the page leads, as far as it is followed; of very many, some. It is what the
	// archive writes: a line "outlink: URL" each, ended by CR and LF, all together as an S2 block.
	// Empty: nowhere.
	Links []byte
}

// CutBy is why a capture has not all of a body.
type CutBy uint8

// The reasons (ISO 28500 §5.13). The zero value is that of a part which was not read or not kept.
const (
	CutByLength CutBy = iota
	CutByTime
	CutByDisconnect
	CutUnspecified
)

// String is the reason as WARC-Truncated has it.
func (c CutBy) String() string {
	if c < CutUnspecified {
		return [...]string{"length", "time", "disconnect"}[c]
	}
	return "unspecified"
}

// Bytes is about how much of a message a capture takes; nil takes none.
func (m *Capture) Bytes() int {
	if m == nil {
		return 0
	}
	return len(m.Request) + len(m.Response) + len(m.Links) + 64
}
