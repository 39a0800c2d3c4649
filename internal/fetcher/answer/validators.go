package answer

import (
	"net/http"
	"strconv"
	"strings"
)

// Longest validators that are remembered for the next request.
const (
	maxETag         = 256
	maxLastModified = 64
)

// Conditional returns the header fields of a request that is answered with 304 if the resource
// still has these validators (RFC 9110 §13). It is nil if both are empty.
func Conditional(etag, lastModified string) http.Header {
	if etag == "" && lastModified == "" {
		return nil
	}
	h := make(http.Header, 2)
	if etag != "" {
		h["If-None-Match"] = []string{etag}
	}
	if lastModified != "" {
		h["If-Modified-Since"] = []string{lastModified}
	}
	return h
}

// Validators returns the validators, without those that are too long for a result. A weak one is as
// good as a strong one here: what it calls the same need not be fetched again.
func Validators(etag, lastModified string) (string, string) {
	if len(etag) > maxETag {
		etag = ""
	}
	if len(lastModified) > maxLastModified {
		lastModified = ""
	}
	return etag, lastModified
}

// Short returns the value of a header field, or an empty string if it is longer than 1 KiB.
func Short(h http.Header, key string) string {
	if s := h.Get(key); len(s) <= 1024 {
		return s
	}
	return ""
}

// Length returns the Content-Length, or 0 if it is missing or not a number.
func Length(h http.Header) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(h.Get("Content-Length")), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// FromStart reports whether a 206 answer to a request without Range contains the whole resource:
// some servers call every answer a part. A resource of unknown length is taken to end with the
// part.
func FromStart(h http.Header) bool {
	value := strings.ToLower(strings.TrimSpace(h.Get("Content-Range")))
	if value == "" {
		return true
	}
	reach, length, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(value, "bytes")), "/")
	first, last, isRange := strings.Cut(reach, "-")
	if !ok || !isRange || strings.TrimSpace(first) != "0" {
		return false
	}
	end, err := strconv.ParseUint(strings.TrimSpace(last), 10, 63)
	length = strings.TrimSpace(length)
	return err == nil && (length == "*" || length == strconv.FormatUint(end+1, 10))
}
