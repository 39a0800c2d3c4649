package download

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// meaning is what an answer means: where its body belongs or, without a useful body, what to do
// next.
type meaning int

const (
	piece    meaning = iota // 206: bytes that continue the part
	whole                   // 200: the whole file, from its first byte
	complete                // 416: the part is the whole file
	changed                 // the part is from another copy: start again
	unranged                // repeat the request without Range
	moved                   // 3xx
	trouble                 // may succeed later
	refusal                 // will not succeed soon
)

// answer is the head of an HTTP answer and what it means.
type answer struct {
	meaning   meaning
	last      int64  // piece: its last byte
	length    int64  // of the whole file; -1: unknown
	size      int64  // of the body; -1: unknown
	validator string // strong, as If-Range requires; "": none
	location  string
	why       string
}

// hasBody reports whether the body is the file, or a part of it.
func (a *answer) hasBody() bool { return a.meaning == piece || a.meaning == whole }

// asked is the request for an answer.
type asked struct {
	ranged   bool
	from, to int64  // bytes requested, if ranged
	ifRange  string // validator of the part; "": request from the beginning
	length   int64  // of the file, if known; else -1
	path     string
}

// read interprets the head of an answer (RFC 9110 §14, §15.3.7).
func (q asked) read(status int, h http.Header) answer {
	a := answer{length: -1, size: contentLength(h), validator: validator(h)}
	switch {
	case status == http.StatusPartialContent:
		return q.partial(a, h)
	case status == http.StatusOK:
		a.meaning, a.length = whole, a.size
		return q.encoded(a, h)
	case status == http.StatusRequestedRangeNotSatisfiable && q.ranged:
		_, _, total, ok := contentRange(h)
		switch {
		case q.from == 0:
			a.meaning = unranged // an empty file has no ranges
		case ok && total == q.from && q.length < 0 && (a.validator == "" || a.validator == q.ifRange):
			a.meaning, a.length = complete, total
		default:
			a.meaning = changed
		}
		return a
	case status == http.StatusPreconditionFailed && q.ifRange != "":
		a.meaning = changed
		return a
	case slices.Contains([]int{301, 302, 303, 307, 308}, status):
		a.meaning, a.location = moved, h.Get("Location")
		return a
	}
	a.why = fmt.Sprintf("HTTP %d %s", status, http.StatusText(status))
	a.meaning = refusal
	if slices.Contains([]int{408, 425, 429, 500, 502, 503, 504}, status) {
		a.meaning = trouble
	}
	return a
}

// partial interprets a 206. Only bytes of the same copy that continue the part are useful.
func (q asked) partial(a answer, h http.Header) answer {
	first, last, total, ok := contentRange(h)
	refuse := func(why string) answer {
		a.meaning, a.why = refusal, "the server sends a wrong range: "+why
		return a
	}
	switch {
	case !q.ranged:
		return refuse("no range was requested")
	case !ok:
		// multipart/byteranges has no Content-Range either
		return refuse(fmt.Sprintf("Content-Range %.100q", h.Get("Content-Range")))
	case first != q.from || last > q.to:
		return refuse(fmt.Sprintf("bytes %d-%d instead of %d-%d", first, last, q.from, q.to))
	case a.size >= 0 && a.size != last-first+1:
		return refuse(fmt.Sprintf("bytes %d-%d in a file of %d bytes", first, last, a.size))
	case q.length >= 0 && total >= 0 && total != q.length, q.ifRange != "" && differs(h, q.ifRange):
		a.meaning = changed // the server has ignored If-Range
		return a
	}
	a.meaning, a.last, a.length, a.size = piece, last, total, last-first+1
	return q.encoded(a, h)
}

// encoded refuses a body that is not the file itself. Old servers send a gzip file with
// Content-Encoding gzip: this is stored as it is.
func (q asked) encoded(a answer, h http.Header) answer {
	enc := strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ",")))
	ext := strings.ToLower(path.Ext(q.path))
	switch {
	case enc == "" || enc == "identity":
	case (enc == "gzip" || enc == "x-gzip") && (ext == ".gz" || ext == ".tgz"):
	default:
		a.meaning = refusal
		a.why = fmt.Sprintf("the server sends it with Content-Encoding %.40q although the request asks for none, so the result would not be the original file", enc)
	}
	return a
}

func contentLength(h http.Header) int64 {
	n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// contentRange reads "bytes 0-99/1000", "bytes 0-99/*" and "bytes */1000". A missing number is -1.
func contentRange(h http.Header) (first, last, total int64, ok bool) {
	unit, rest, _ := strings.Cut(strings.TrimSpace(h.Get("Content-Range")), " ")
	span, size, slash := strings.Cut(strings.TrimSpace(rest), "/")
	if !strings.EqualFold(unit, "bytes") || !slash {
		return 0, 0, 0, false
	}
	if total = -1; size != "*" {
		if total = digits(size); total < 0 {
			return 0, 0, 0, false
		}
	}
	if span == "*" {
		return -1, -1, total, total >= 0
	}
	a, b, dash := strings.Cut(span, "-")
	first, last = digits(a), digits(b)
	if !dash || first < 0 || last < first || total >= 0 && last >= total {
		return 0, 0, 0, false
	}
	return first, last, total, true
}

// digits reads a number; it returns -1 for anything else.
func digits(s string) int64 {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || len(s) > 18 {
		return -1
	}
	return int64(n)
}

// leastAge is how much older than Date a Last-Modified must be to count as a strong validator (RFC
// 9110 §8.8.2.2). A minute is enough if a file changes twice in a second, or if clocks differ
// slightly.
const leastAge = time.Minute

// validator returns what If-Range may contain: a strong ETag, else a Last-Modified that counts as
// strong, else "".
func validator(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" {
		if strongTag(tag) {
			return tag
		}
		return "" // the tag is weak
	}
	last := h.Get("Last-Modified")
	modified, err := http.ParseTime(last)
	if err != nil {
		return ""
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || date.Sub(modified) < leastAge {
		return ""
	}
	return last
}

// maxTag is the longest ETag that is stored and sent back.
const maxTag = 1024

func strongTag(tag string) bool {
	if len(tag) < 2 || len(tag) > maxTag || tag[0] != '"' || tag[len(tag)-1] != '"' {
		return false
	}
	for _, c := range []byte(tag[1 : len(tag)-1]) {
		if c < 0x21 || c == '"' || c == 0x7f {
			return false
		}
	}
	return true
}

// differs reports whether an answer has another validator than the request had.
func differs(h http.Header, ifRange string) bool {
	if strongTag(ifRange) {
		tag := h.Get("ETag")
		return tag != "" && tag != ifRange
	}
	last := h.Get("Last-Modified")
	return last != "" && last != ifRange
}
