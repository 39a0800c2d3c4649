package page

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
)

// Responses that end too early. Most of them are connections that broke, and another attempt gets
// the rest. But some servers always announce more than they have, or always leave out the last
// chunk. What came identically in the last two of all attempts is all that there is. It is stored,
// and marked as truncated.

// sameCut reports whether this is the last attempt and its response ended too early, exactly as
// that of the attempt before.
func sameCut(u *crawl.VisitURL, a *wire.Answer, err error) bool {
	cut := cutAt(a, err)
	return cut != "" && u.Attempts+1 >= crawl.MaxAttempts && u.Failed == crawl.ShortDetail(cut)
}

// cutAt describes where a response ended too early, in the same words for the same bytes. It is
// empty for other failures.
func cutAt(a *wire.Answer, err error) string {
	if !errors.Is(err, io.ErrUnexpectedEOF) || a.Status != http.StatusOK || len(a.Body) == 0 {
		return ""
	}
	sum := sha256.Sum256(a.Body)
	return fmt.Sprintf("the connection ended in the middle of the response, after %d bytes (SHA-256 %x…)", len(a.Body), sum[:6])
}
