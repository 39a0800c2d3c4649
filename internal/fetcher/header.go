package fetcher

import (
	"net/http"
	"strings"
	"time"
)

// maxRetryAfter bounds what a Retry-After can ask: a year in a header is a mistake, and a day's rest is patience enough
// to ask again.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads a Retry-After value: seconds, or a date, which counts from now (RFC 9110 §10.2.3). 0 means that it
// asks for nothing, in whatever words.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if value[0] >= '0' && value[0] <= '9' {
		var seconds int64
		for i := 0; i < len(value); i++ {
			c := value[i]
			if c == '.' && i > 0 { // not allowed, but seen
				seconds++
				break
			}
			if c < '0' || c > '9' {
				return 0
			}
			if seconds = seconds*10 + int64(c-'0'); seconds > int64(maxRetryAfter/time.Second) {
				return maxRetryAfter
			}
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// mediaType returns the type of a Content-Type value without parameters, in lower case; "" when there is none or it is
// no type at all.
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
)

// storable reports whether pages of this type are kept.
func storable(mediaType string) bool {
	return mediaType == typeHTML || mediaType == typeXHTML || mediaType == typeText
}

// overloaded reports the statuses by which a server says that it has too much to do.
func overloaded(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}
