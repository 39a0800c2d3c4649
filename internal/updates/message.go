package updates

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/emersion/go-message"
	// a site's mailer may use any charset
	_ "github.com/emersion/go-message/charset"
)

// The limits of a mail (formats §0).
const (
	maxMail   = 10 << 20 // bytes, also of its text after decoding
	maxHeader = 256 << 10
	maxParts  = 100
	maxDepth  = 8 // of nested parts
)

// Refused means that a mail is rejected for good. Sending it again would have the same result.
type Refused struct{ Reason string }

// Error is the reason, written for the sender of the mail.
func (r *Refused) Error() string { return r.Reason }

func refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// text returns the first text/plain part of a mail, with transfer encoding and charset
// decoded (formats §6.4).
func text(mail []byte) (string, error) {
	e, err := message.ReadWithOptions(bytes.NewReader(mail), &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return "", refuse("the mail cannot be read: %v", err)
	}
	parts := 0
	body, err := firstText(e, 0, &parts)
	switch {
	case err != nil:
		return "", err
	case body == nil:
		return "", refuse("the mail has no part of type text/plain")
	}
	b, err := io.ReadAll(io.LimitReader(body, maxMail+1))
	switch {
	case err != nil:
		return "", refuse("the mail's text cannot be decoded: %v", err)
	case len(b) > maxMail:
		return "", refuse("the mail's text is larger than %d MiB", maxMail>>20)
	}
	return string(b), nil
}

// firstText finds the first text/plain part that is not an attachment. It returns nil without an
// error if there is none.
func firstText(e *message.Entity, depth int, parts *int) (io.Reader, error) {
	if *parts++; *parts > maxParts || depth > maxDepth {
		return nil, refuse("the mail has too many parts")
	}
	if many := e.MultipartReader(); many != nil {
		for {
			p, err := many.NextPart()
			if errors.Is(err, io.EOF) {
				return nil, nil
			}
			if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
				return nil, refuse("the mail's parts cannot be read: %v", err)
			}
			if body, err := firstText(p, depth+1, parts); body != nil || err != nil {
				return body, err
			}
		}
	}
	kind, _, err := e.Header.ContentType() // text/plain if there is no type (RFC 2045 §5.2)
	if err != nil || kind != "text/plain" {
		return nil, nil
	}
	if how, _, _ := e.Header.ContentDisposition(); strings.EqualFold(how, "attachment") {
		return nil, nil
	}
	return e.Body, nil
}
