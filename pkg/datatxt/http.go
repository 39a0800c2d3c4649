package datatxt

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// State is the effect of a response to GET /data.txt on the stored copy (formats §5.1).
type State int

// The states. The client follows redirects; the base of the file is the final URL.
const (
	Keep     State = iota // no usable answer: the old copy stays; try again later
	Read                  // a body to Parse
	Absent                // the site makes no statement; datasets may be found otherwise
	Same                  // not modified: the old copy is fresh again
	Redirect              // follow Location
)

// StateOf returns the state for a status code; 0 means a network error.
func StateOf(status int) State {
	switch {
	case status >= 200 && status <= 299:
		return Read
	case status == http.StatusNotModified:
		return Same
	case status >= 300 && status <= 399:
		return Redirect
	case status >= 400 && status <= 499 && status != 429: // which means nothing for the file
		return Absent
	}
	return Keep
}

// Usable reports whether a successful response is a data.txt, by its Content-Type header and its
// body. If not, the site has none: pages that answer any URL with "not found" in HTML and status
// 200 are common. reason explains why not.
func Usable(contentType string, body []byte) (ok bool, reason string) {
	media, _, _ := strings.Cut(contentType, ";")
	switch media = lower(strings.Trim(media, blanks)); media {
	case "", "text/plain", "application/octet-stream", "text/yaml", "text/x-yaml", "application/yaml", "application/x-yaml":
	case "text/html":
		return false, "it is an HTML page"
	default:
		return false, "its type is " + media
	}
	// Byte order marks, and the zeros of UTF-16, count as blanks here.
	if text := bytes.TrimLeft(body, "\xEF\xBB\xBF\xFE\xFF\x00 \t\r\n\f"); bytes.HasPrefix(text, []byte("<")) {
		return false, "it is a page of markup"
	}
	return true, ""
}

// How long a copy is valid (formats §5.1).
const (
	DefaultLifetime = 7 * 24 * time.Hour  // if the server states nothing
	MinLifetime     = time.Hour           // whatever the server states
	MaxLifetime     = 30 * 24 * time.Hour // whatever the server states
	// KeepExpired is how long the rules and datasets of a copy that cannot be renewed stay in use
	// after it has expired.
	KeepExpired = 30 * 24 * time.Hour
)

// Lifetime returns how long a copy that was fetched at the given time is valid: by Cache-Control
// max-age, else Expires, else DefaultLifetime, always between MinLifetime and MaxLifetime.
// no-cache, no-store, and an Expires or max-age that is past or invalid count as MinLifetime.
func Lifetime(h http.Header, fetched time.Time) time.Duration {
	if d, ok := cacheControl(h.Values("Cache-Control")); ok {
		return clamp(d)
	}
	if expires := h.Values("Expires"); len(expires) > 0 {
		t, err := http.ParseTime(strings.Trim(expires[0], blanks))
		if err != nil {
			return MinLifetime
		}
		return clamp(t.Sub(fetched))
	}
	return DefaultLifetime
}

// cacheControl returns the shortest lifetime in the directives, if there is one.
func cacheControl(lines []string) (d time.Duration, found bool) {
	d = MaxLifetime
	for _, directive := range strings.Split(strings.Join(lines, ","), ",") {
		name, value, _ := strings.Cut(directive, "=")
		switch lower(strings.Trim(name, blanks)) {
		case "no-cache", "no-store":
			d, found = 0, true
		case "max-age":
			d, found = min(d, seconds(strings.Trim(value, blanks+`"`))), true
		}
	}
	return d, found
}

// seconds parses a number of seconds. Text that is not a number is 0, and a number that is too
// large counts as MaxLifetime.
func seconds(s string) time.Duration {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil && strings.Trim(s, "0123456789") != "" || s == "" {
		return 0
	}
	if err != nil || n > uint64(MaxLifetime/time.Second) {
		return MaxLifetime
	}
	return time.Duration(n) * time.Second
}

func clamp(d time.Duration) time.Duration { return max(MinLifetime, min(d, MaxLifetime)) }
