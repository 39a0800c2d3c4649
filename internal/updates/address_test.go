package updates

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/settings"
	"github.com/curtsy/curtsy/pkg/canon"
)

func TestAddresses(t *testing.T) {
	a := Addresses{Mailbox: "Curtsy@crawler.example", Secret: NewSecret()}
	site := canon.Origin{Scheme: "https", Host: "a.example", Port: 443}
	was := a.For(site, 0)
	if len(was) > 254 || strings.Count(was, "@") != 1 || len(was[:strings.Index(was, "@")]) > 64 {
		t.Errorf("%q is no address that every server takes", was)
	}
	for _, same := range []string{was, strings.ToLower(was), strings.ToUpper(was)} {
		if as, ok := a.Has(same); !ok || as != was {
			t.Errorf("Has(%q) = %q, %v", same, as, ok)
		}
	}
	other := site
	other.Port = 8443
	if a.For(site, 0) != was || a.For(site, 1) == was || a.For(other, 0) == was {
		t.Error("one address for each site and registration, always the same one")
	}
	changed := []byte(was)
	changed[len("Curtsy+")+3] ^= 1
	stranger := Addresses{Mailbox: a.Mailbox, Secret: NewSecret()}
	for _, no := range []string{
		"", "curtsy@crawler.example", "curtsy+@crawler.example", string(changed), stranger.For(site, 0), strings.Replace(was, "+", "", 1),
		strings.Replace(was, "crawler", "crawl", 1), "x" + was, was + "x", strings.Replace(was, "@", "a@", 1), was[:20],
	} {
		if as, ok := a.Has(no); ok {
			t.Errorf("Has(%q) = %q", no, as)
		}
	}
	if _, ok := (Addresses{Mailbox: a.Mailbox}).Has((Addresses{Mailbox: a.Mailbox}).For(site, 0)); ok {
		t.Error("an address without a secret is believed")
	}
}

// An address that is made of the longest mailbox is one that mail servers accept.
func TestLongestMailbox(t *testing.T) {
	a := Addresses{Mailbox: strings.Repeat("a", settings.LongestMailbox) + "@crawler.example", Secret: NewSecret()}
	if local, _, _ := strings.Cut(a.For(canon.Origin{Scheme: "https", Host: "a.example", Port: 443}, 0), "@"); len(local) != 64 {
		t.Errorf("%d characters before the @", len(local))
	}
}
