package rup

import (
	"errors"
	"fmt"
	"strings"
)

// CheckEmail returns why an address cannot be that of a robot. It must be one addr-spec with a
// dotted domain, without anything before or after it, in at most MaxEmail bytes (formats §6.2).
// Quoted local parts and non-ASCII addresses are refused, because the address is put into a mail's
// header.
func CheckEmail(s string) error {
	if len(s) > MaxEmail {
		return fmt.Errorf("it is longer than %d bytes", MaxEmail)
	}
	local, domain, ok := strings.Cut(s, "@")
	switch {
	case !ok || local == "" || len(local) > 64:
		return errors.New("it is not an e-mail address; use for example robot@example.org")
	case strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, ".."):
		return errors.New("there is a misplaced dot before the @")
	case !strings.Contains(domain, "."):
		return errors.New("the domain has no dot")
	}
	for i := range len(local) {
		if c := local[i]; !isWord(c) && strings.IndexByte("!#$%&'*+-/=?^_`{|}~.", c) < 0 {
			return errors.New("there is an unusual character before the @")
		}
	}
	labels := strings.Split(domain, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return errors.New("there is no domain name after the @")
		}
		for i := range len(label) {
			if c := label[i]; !isWord(c) && c != '-' {
				return errors.New("there is no domain name after the @")
			}
		}
	}
	if allDigits(labels[len(labels)-1]) {
		return errors.New("there is no domain name after the @")
	}
	return nil
}

// EmailKey returns the form of an address by which registrations are identified: two addresses that
// differ only in case are the same.
func EmailKey(email string) string { return lower(email) }

// Mailbox returns the mailbox that an address probably leads to: the address in lower case, without
// the part from a + to the @, and for Gmail without dots before the @.
func Mailbox(email string) string {
	local, domain, _ := strings.Cut(lower(email), "@")
	if base, _, ok := strings.Cut(local, "+"); ok && base != "" {
		local = base
	}
	if domain == "gmail.com" || domain == "googlemail.com" {
		local, domain = strings.ReplaceAll(local, ".", ""), "gmail.com"
	}
	return local + "@" + domain
}

// EmailDomain returns the part after the @, in lower case.
func EmailDomain(email string) string {
	_, domain, _ := strings.Cut(lower(email), "@")
	return domain
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
