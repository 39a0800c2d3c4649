package catalog

import "errors"

// The nodes of a document may refer to one another, so its content can be as long as the product of
// two of its lists. Therefore every list that is read and every text that is copied is charged to
// one budget for each document. A charge is approximately the number of bytes allocated.
const (
	// values in a document: members of objects and of lists. 1 MiB of ordinary metadata has 30,000
	maxValues = 100_000
	maxWork   = 24 << 20 // of one document; 1 MiB of ordinary metadata costs 4 MiB

	costValue   = 24  // a value that is read
	costText    = 48  // a text in a list, in addition to its length
	costColumn  = 192 // a column
	costFile    = 640 // a file; most of this is its address
	costClaim   = 1024
	costKeys    = 384 // an object with prefixed names
	costKey     = 64  // each name of such an object
	costLicense = 12  // each byte of a licence's name, which is compared with many names
)

var (
	// ErrTooMuch means that a document has more values than the limit. Nothing of it was read.
	ErrTooMuch = errors.New("the document has too many values")
	// ErrCut means that a document was not read to its end, because its nodes refer to one another
	// too often. What was read is returned with it.
	ErrCut = errors.New("it is not read to its end: its content is much longer than the file")
)

// spend takes n from the budget, and reports whether the budget was sufficient.
func (r *jsonReader) spend(n int) bool {
	r.left -= n
	return r.left >= 0
}

// values counts the members of all objects and lists in a JSON text, up to limit. The text need not
// be valid.
func values(text []byte, limit int) (n int) {
	for i := 0; i < len(text) && n <= limit; i++ {
		switch text[i] {
		case ',', '[', '{':
			n++
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}
