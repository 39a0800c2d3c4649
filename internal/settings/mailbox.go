package settings

import (
	"fmt"
	"net/mail"
	"strings"
)

// LongestMailbox is how many characters a mailbox may have before its @. An address made of it has
// 33 more characters (package updates), and mail allows 64 (RFC 5321 §4.5.3.1.1).
const LongestMailbox = 31

// CheckMailbox returns why reports cannot be sent to addresses made of a mailbox, or nil. The
// mailbox must be a plain mail address with a dotted domain, which sites require. It must be short
// enough for the addresses that are made of it (formats §6.2 allows 254 characters).
func CheckMailbox(mailbox string) error {
	a, err := mail.ParseAddress(mailbox)
	if err != nil || a.Address != mailbox || a.Name != "" || strings.ContainsAny(mailbox, "\"<> \r\n") {
		return fmt.Errorf("%q is not a plain mail address; use one such as curtsy@crawler.example", mailbox)
	}
	local, domain, _ := strings.Cut(mailbox, "@")
	switch {
	case !strings.Contains(domain, ".") || strings.HasPrefix(domain, "["):
		return fmt.Errorf("%q: sites accept addresses with a dotted domain only; use one such as curtsy@crawler.example", mailbox)
	case len(local) > LongestMailbox, len(domain) > 180:
		return fmt.Errorf("%q is too long: up to 31 characters before the @, 180 after it", mailbox)
	case strings.Contains(local, "+"):
		return fmt.Errorf("%q: the part before the @ must not have a +; one is added for each site", mailbox)
	}
	return nil
}
