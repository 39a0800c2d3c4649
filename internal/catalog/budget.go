package catalog

import "errors"

// One document's nodes may refer to one another, so what it says can be as long as the product of
// two of its lists. Therefore every list that is gone through, and every text that is taken, is
// paid for out of one budget per document. A payment is about what is allocated, in bytes.
const (
	// values in a document: members of objects and of lists. A MiB of ordinary metadata has 30,000
	maxValues = 100_000
	maxWork   = 24 << 20 // of one document: a MiB of ordinary metadata costs 4 MiB

	costValue   = 24  // a value looked at
	costText    = 48  // a text in a list, beside its length
	costColumn  = 192 // a column
	costFile    = 640 // a file; most of it is its address
	costClaim   = 1024
	costKeys    = 384 // an object with prefixed names
	costKey     = 64  // each of its names
	costLicense = 12  // a byte of a licence's name, which is compared with many
)

var (
	// ErrTooMuch says that a document has more values than we read of one. Nothing of it was read.
	ErrTooMuch = errors.New("the document has too many values")
	// ErrCut says that a document was not read to its end, because its nodes refer to one another
	// too often. What was read is returned with it.
	ErrCut = errors.New("it is not read to its end: its content is much longer than the file")
)

// spend takes n from the budget and reports whether it was there.
func (r *jsonReader) spend(n int) bool {
	r.left -= n
	return r.left >= 0
}

// list returns the values that v holds: its members, or v itself. When the budget is
// spent there are none.
func (r *jsonReader) list(v any) []any {
	all := list(v)
	if !r.spend(costValue * len(all)) {
		return nil
	}
	return all
}

// values counts the members of all objects and lists in a JSON text, as far as limit.
// It need not be valid.
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
