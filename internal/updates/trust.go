package updates

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/emersion/go-message"
	"github.com/emersion/go-msgauth/authres"
	"github.com/emersion/go-msgauth/dkim"
)

// maxSignatures is how many DKIM signatures of a mail are looked at.
const maxSignatures = 5

// authentic refuses a mail that was found to be forged (protocols §6.5): all its DKIM signatures
// fail, or the mail server we trust says in the header that DKIM or SPF failed. A mail without
// either is believed as far as the address it came to. An error that is no *Refused may pass, for
// example when a key could not be looked up.
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

// verdicts reads what the trusted mail server wrote about the mail. That server removes or renames
// such fields of others (RFC 8601 §5).
func (r *Receiver) verdicts(mail []byte) error {
	if r.o.Trusted == "" {
		return nil
	}
	e, err := message.ReadWithOptions(bytes.NewReader(mail), &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return refuse("its header cannot be read: %v", err)
	}
	for f := e.Header.FieldsByKey("Authentication-Results"); f.Next(); {
		id, results, err := authres.Parse(f.Value())
		if err != nil || !strings.EqualFold(id, r.o.Trusted) {
			continue
		}
		for _, result := range results {
			switch v := result.(type) {
			case *authres.DKIMResult:
				if failed(v.Value) {
					return refuse("%s says that its DKIM signature by %s is bad: %s", id, v.Domain, v.Value)
				}
			case *authres.SPFResult:
				if failed(v.Value) {
					return refuse("%s says that SPF fails for %s: %s", id, v.From, v.Value)
				}
			}
		}
	}
	return nil
}

func failed(v authres.ResultValue) bool {
	return v == authres.ResultFail || v == authres.ResultHardFail || v == authres.ResultPolicy
}

// lookupTXT asks the system's resolver.
func lookupTXT(ctx context.Context, domain string) ([]string, error) {
	return net.DefaultResolver.LookupTXT(ctx, domain)
}
