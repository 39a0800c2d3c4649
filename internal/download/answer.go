package download

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	answers "github.com/curtsy/curtsy/internal/fetcher/answer"
)

// meaning is what an answer means: where its body belongs or, without a useful body, what to do
// next.
type meaning int

const (
	piece     meaning = iota // 206: bytes that continue the part
	whole                    // 200: the whole file, from its first byte
	complete                 // 416: the part is the whole file
	changed                  // the part is from another copy: start again
	unranged                 // repeat the request without Range
	misranged                // a wrong range: the same without Range may be right
	preparing                // 202: the server asks to wait
	moved                    // 3xx
	trouble                  // may succeed later
	refusal                  // will not succeed soon
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
	status    int
	encoding  string        // content codings of the body, as codingsOf returns them
	kind      string        // Content-Type
	wait      time.Duration // preparing: as the server asks; 0: it does not say how long
}

// hasBody reports whether the body is the file, or a part of it.
func (a *answer) hasBody() bool { return a.meaning == piece || a.meaning == whole }

// asked is the request for an answer.
type asked struct {
	ranged   bool
	from, to int64  // bytes requested, if ranged
	ifRange  string // validator of the part; "": request from the beginning
	length   int64  // of the file, if known; else -1
	encoding string // of the part
}

// read interprets the head of an answer (RFC 9110 §14, §15.3.7).
func (q asked) read(status int, h http.Header) answer {
	a := answer{length: -1, size: contentLength(h), validator: validator(h), status: status, encoding: codingsOf(h), kind: answers.ContentType(h)}
	switch {
	case status == http.StatusPartialContent:
		return q.partial(a, h)
	case status == http.StatusOK, status == http.StatusNonAuthoritativeInfo:
		a.meaning, a.length = whole, a.size
		return a
	case status == http.StatusAccepted:
		a.meaning, a.wait = preparing, answers.RetryAfter(h, time.Now())
		return a
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

// noRange reports whether an answer may mean that the server does not want the field Range. There
// are servers with each of these.
func (a *answer) noRange() bool {
	return a.meaning == misranged || slices.Contains([]int{400, 403, 405, 406, 500, 501}, a.status)
}

// expired reports whether an answer may mean that an address is no longer valid that was valid for
// some time or for some requests.
func (a *answer) expired() bool {
	return a.meaning == refusal && slices.Contains([]int{200, 206, 400, 401, 403, 404, 410}, a.status)
}

// partial interprets a 206. Only bytes of the same copy that continue the part are useful. Bytes
// with another content coding are those of another copy.
func (q asked) partial(a answer, h http.Header) answer {
	first, last, total, ok := contentRange(h)
	refuse := func(why string) answer {
		a.meaning, a.why = misranged, "the server sends a wrong range: "+why
		return a
	}
	switch {
	case !ok:
		// multipart/byteranges has no Content-Range either
		return refuse(fmt.Sprintf("Content-Range %.100q", h.Get("Content-Range")))
	case a.size >= 0 && a.size != last-first+1:
		return refuse(fmt.Sprintf("bytes %d-%d in a file of %d bytes", first, last, a.size))
	case !q.ranged:
		if first == 0 && (total < 0 || total == last+1) {
			// Without Range, a server sends all that it has.
			a.meaning, a.size, a.length = whole, last+1, last+1
			return a
		}
		return refuse("no range was requested")
	case first != q.from || last > q.to:
		return refuse(fmt.Sprintf("bytes %d-%d instead of %d-%d", first, last, q.from, q.to))
	case q.length >= 0 && total >= 0 && total != q.length, q.ifRange != "" && differs(h, q.ifRange), q.from > 0 && a.encoding != q.encoding:
		a.meaning = changed // the server has ignored If-Range
		return a
	}
	a.meaning, a.last, a.length, a.size = piece, last, total, last-first+1
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
