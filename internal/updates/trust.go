package updates

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/emersion/go-message"
	"github.com/emersion/go-msgauth/dkim"
)

// maxSignatures is how many DKIM signatures of a mail are checked.
const maxSignatures = 5

// authentic refuses a mail that was found to be forged (formats §6.5): all its DKIM signatures are
// invalid, or the trusted mail server reports in the header that DKIM or SPF failed. A mail without
// either is accepted because of the address it was sent to. An error that is not a *Refused may be
// temporary, for example if a key could not be looked up.
func (r *Receiver) authentic(ctx context.Context, mail []byte) error {
	if err := r.verdicts(mail); err != nil {
		return err
	}
	checks, err := dkim.VerifyWithOptions(bytes.NewReader(mail), &dkim.VerifyOptions{
		LookupTXT:        func(domain string) ([]string, error) { return r.o.LookupTXT(ctx, domain) },
		MaxVerifications: maxSignatures,
	})
	if err != nil && !errors.Is(err, dkim.ErrTooManySignatures) {
		return refuse("its header cannot be read: %v", err)
	}
	var later, bad error
	for _, c := range checks {
		switch {
		case c.Err == nil:
			return nil
		case dkim.IsTempFail(c.Err):
			later = fmt.Errorf("the key of DKIM signature by %s: %w", c.Domain, c.Err)
		default:
			bad = refuse("the DKIM signature by %s fails: %v", c.Domain, c.Err)
		}
	}
	if later != nil {
		return later
	}
	return bad
}

// verdicts reads the results that the trusted mail server wrote into the header. That server
// removes or renames such fields of other servers (RFC 8601 §5).
func (r *Receiver) verdicts(mail []byte) error {
	if r.o.Trusted == "" {
		return nil
	}
	e, err := message.ReadWithOptions(bytes.NewReader(mail), &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return refuse("its header cannot be read: %v", err)
	}
	for f := e.Header.FieldsByKey("Authentication-Results"); f.Next(); {
		value, whole := uncommented(f.Value())
		id, results, _ := strings.Cut(value, ";")
		if words := strings.Fields(id); len(words) == 0 || !strings.EqualFold(words[0], r.o.Trusted) {
			continue
		}
		for result := range strings.SplitSeq(results, ";") {
			if forged.MatchString(result) {
				return refuse("%s reports that it is forged: %.200s", r.o.Trusted, strings.Join(strings.Fields(result), " "))
			}
		}
		if !whole {
			return refuse("the authentication results of %s cannot be read", r.o.Trusted)
		}
	}
	return nil
}

// forged matches a result (RFC 8601 §2.2) for which a mail is refused: the method, perhaps with its
// version, and its result.
var forged = regexp.MustCompile(`(?i)^\s*(dkim|spf)\s*(/\s*\d+\s*)?=\s*(fail|hardfail|policy)\s*($|\s)`)

// uncommented returns the text of a header field without comments (RFC 5322 §3.2.2), and without
// characters in quoted strings that could be mistaken for the end of a result. whole is false if a
// comment or a string does not end.
func uncommented(field string) (text string, whole bool) {
	var b strings.Builder
	depth, quoted := 0, false // depth: of comments; quoted: in a string
	for i := 0; i < len(field); i++ {
		switch c := field[i]; {
		case c == '\\' && (quoted || depth > 0):
			i++
		case c == '"' && depth == 0:
			quoted = !quoted
		case quoted:
			if c != ';' {
				b.WriteByte(c)
			}
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			if depth--; depth == 0 {
				b.WriteByte(' ')
			}
		case depth == 0:
			b.WriteByte(c)
		}
	}
	return b.String(), depth == 0 && !quoted
}

// lookupTXT uses the system's resolver.
func lookupTXT(ctx context.Context, domain string) ([]string, error) {
	return net.DefaultResolver.LookupTXT(ctx, domain)
}
