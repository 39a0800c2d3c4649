package visit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
)

// Responses that end before they should. Most are connections that broke, and another attempt has
// the rest. But some servers announce more than they have, or leave out the last chunk, each time.
// What came identically in the last two of all attempts is all that there is: it is kept, and
// marked as truncated.

// sameCut reports whether a response that ended too early is the last attempt's, and ended exactly
// as the one before.
func (v *Visit) sameCut(u *crawl.VisitURL, a *wire.Answer, err error) bool {
	cut := cutAt(a, err)
	return cut != "" && u.Attempts+1 >= crawl.MaxAttempts && u.Failed == crawl.ShortDetail(cut)
}

// cutAt is where a response ended that ended too early, in words that are the same for the same
// bytes; empty for any other failure.
func cutAt(a *wire.Answer, err error) string {
	if !errors.Is(err, io.ErrUnexpectedEOF) || a.Status != http.StatusOK || len(a.Body) == 0 {
		return ""
	}
	sum := sha256.Sum256(a.Body)
	return fmt.Sprintf("the connection ended in the middle of the response, after %d bytes (SHA-256 %x…)", len(a.Body), sum[:6])
}
