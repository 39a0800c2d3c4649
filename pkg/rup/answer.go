package rup

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxAnswer is how many bytes of an answer are read. It is more than MaxReport because a report in
// HTML is longer than its text.
const MaxAnswer = 2 * MaxReport

// Answer is the answer to a request (formats §6.2). It is for callers that send requests
// themselves; a Client reads its answers by the same rules.
type Answer struct {
	Status      int
	ContentType string
	RetryAfter  time.Duration
	Body        []byte // at most MaxAnswer bytes
	Cut         bool   // there was more
}

// Err returns nil for status 200, and otherwise an *Error with the text of the answer, shortened.
func (a *Answer) Err() error {
	if a.Status == http.StatusOK {
		return nil
	}
	body := a.Body[:min(len(a.Body), 4<<10)]
	text := strings.Join(strings.FieldsFunc(plainText(a.ContentType, body), func(r rune) bool { return r <= ' ' || r == 0x7F }), " ")
	return &Error{Status: a.Status, Reason: brief(text), RetryAfter: a.RetryAfter}
}

// Key returns the key in the answer to a Register.
func (a *Answer) Key() (Key, error) {
	w, err := a.word(paramKey)
	if len(w) > maxKey {
		return "", fmt.Errorf("%w: a key of %d characters", ErrMalformed, len(w))
	}
	return Key(w), err
}

// Sequence returns the number in the answer to a GetSequenceNumber.
func (a *Answer) Sequence() (int64, error) {
	w, err := a.word("SequenceNumber")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil || !allDigits(w) {
		return 0, fmt.Errorf("%w: SequenceNumber %q is not a number", ErrMalformed, brief(w))
	}
	return n, nil
}

// Report returns the report in the answer to a GetIndex. It is Truncated if the answer was cut.
func (a *Answer) Report() (*Report, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	text := reportText(plainText(a.ContentType, a.Body))
	if a.Cut { // the last line may be incomplete
		text = text[:strings.LastIndexAny(text, "\r\n")+1]
	}
	r, err := ParseReport([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	r.Truncated = r.Truncated || a.Cut
	return r, nil
}

// maxKey is the longest key: it is stored, and sent with each request.
const maxKey = 1 << 10

func (a *Answer) word(name string) (string, error) {
	if err := a.Err(); err != nil {
		return "", err
	}
	if w, ok := word(plainText(a.ContentType, a.Body), name); ok {
		return w, nil
	}
	return "", fmt.Errorf("%w: no line that starts with %s", ErrMalformed, name)
}
