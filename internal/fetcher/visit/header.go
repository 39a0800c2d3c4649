package visit

import (
	"net/http"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/mdhtml"
)

// maxRetryAfter bounds what a Retry-After can ask: a year in a header is a mistake, and a day's
// rest is patience enough to ask again.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the longest wait the Retry-After lines of an answer ask for: seconds, or a date
// (RFC 9110 §10.2.3). A date counts from now, and from the answer's own Date if that is longer: our
// clock need not agree with the server's. 0 means that they ask for nothing, in whatever words.
func retryAfter(header http.Header, now time.Time) (wait time.Duration) {
	for _, value := range header["Retry-After"] {
		if s, ok := retrySeconds(strings.TrimSpace(value)); ok {
			wait = max(wait, s)
		} else if at, err := http.ParseTime(value); err == nil {
			wait = max(wait, at.Sub(now))
			if date, err := http.ParseTime(header.Get("Date")); err == nil {
				wait = max(wait, at.Sub(date))
			}
		}
	}
	return min(wait, maxRetryAfter)
}

func retrySeconds(value string) (d time.Duration, ok bool) {
	var seconds int64
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c == '.' && i > 0 { // not allowed, but seen
			seconds++
			break
		}
		if c < '0' || c > '9' {
			return 0, false
		}
		if seconds = seconds*10 + int64(c-'0'); seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter, true
		}
	}
	return time.Duration(seconds) * time.Second, value != ""
}

// mediaType returns the type of a Content-Type value without parameters, in lower case; "" when
// there is none or it is no type at all.
func mediaType(value string) string {
	value, _, _ = strings.Cut(value, ";")
	value, _, _ = strings.Cut(value, ",") // two headers joined by a proxy: the first counts
	value = strings.TrimSpace(value)
	if slash := strings.IndexByte(value, '/'); slash <= 0 || slash == len(value)-1 || strings.ContainsAny(value, " \t") {
		return ""
	}
	return strings.ToLower(value)
}

const (
	typeHTML  = "text/html"
	typeXHTML = "application/xhtml+xml"
	typeText  = "text/plain"

	typeMarkdown = mdhtml.MediaType
)

// storable reports whether pages of this type can be compared with others.
func storable(mediaType string) bool {
	return mediaType == typeHTML || mediaType == typeXHTML || mediaType == typeText
}

// overloaded reports the statuses by which a server says that it has too much to do.
func overloaded(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}
