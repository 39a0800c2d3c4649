package updates

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

var testSite = canon.Origin{Scheme: "http", Host: "www.site.example", Port: 80}

const testReport = "SequenceNumber: 12\r\nURLBase: http://www.site.example/\r\n\r\n" +
	"New[2026-01-15]: docs/a.html, docs/b.html\r\nChange[2026-01-16]: index.html\r\nDelete[2026-01-16]: old.html\r\n" +
	"Change[2026-01-16]: http://other.example/x\r\n-- \r\nThe webmaster\r\n"

// desk is a receiver with a log in memory.
type desk struct {
	*Receiver
	net    *simnet.Net
	t      *testing.T
	began  time.Time
	events map[int][]crawl.Event
	full   error // the error of the log

	listener *Listener // the last one of listen
}

func newDesk(t *testing.T, o Options) *desk {
	t.Helper()
	d := &desk{t: t, began: time.Now().Truncate(time.Second), net: simnet.New(simnet.Options{}), events: map[int][]crawl.Event{}}
	o.Addresses = Addresses{Mailbox: "curtsy@crawler.example", Secret: NewSecret()}
	o.Shards, o.Log = 4, slog.New(slog.DiscardHandler)
	o.Append = func(_ context.Context, shard int, data []byte) error {
		if d.full != nil {
			return d.full
		}
		ev, err := crawl.DecodeEvent(data)
		d.events[shard] = append(d.events[shard], ev)
		return err
	}
	if o.LookupTXT == nil {
		o.LookupTXT = func(context.Context, string) ([]string, error) {
			return nil, &net.DNSError{IsNotFound: true, Err: "no such host"}
		}
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	d.Receiver = r
	return d
}

// mail is a plain mail to the test site's address, with additional header lines.
func (d *desk) mail(header, body string) []byte {
	return []byte("From: webmaster@www.site.example\r\nTo: " + d.address() + "\r\nSubject: Update\r\n" + header + "\r\n" + body)
}

func (d *desk) address() string { return d.o.Addresses.For(testSite, 3) }

// logged returns what was appended to the log, abbreviated.
func (d *desk) logged() string {
	var b strings.Builder
	for shard, all := range d.events {
		if shard != crawl.ShardOf(testSite.Host, 4) {
			d.t.Errorf("shard %d got an event", shard)
		}
		for _, ev := range all {
			for _, r := range ev.Reports {
				if r.Address != d.address() || r.Origin != testSite || r.Received.Before(d.began) || r.Received.After(time.Now()) || r.Index {
					d.t.Errorf("report %+v", r)
				}
				fmt.Fprintf(&b, "%d (%d/%d)", r.Number, r.Part+1, r.Parts)
				for _, l := range r.Links {
					if l.Source != crawl.SourceRUP || l.FoundOn != "http://www.site.example/rupinfo.txt" || l.Depth != 1 || len(l.Mods) != len(l.URLs) {
						d.t.Errorf("links %+v", l)
					}
					for i, u := range l.URLs {
						fmt.Fprintf(&b, " %s %s", time.Unix(l.Mods[i], 0).UTC().Format("0102T15"), u.PathQuery())
						if l.Gone {
							b.WriteString(" gone")
						}
					}
				}
				fmt.Fprintf(&b, " refused %d\n", r.Refused)
			}
		}
	}
	d.events = map[int][]crawl.Event{}
	return b.String()
}

const testLogged = "12 (1/1) 0115T23 /docs/a.html 0115T23 /docs/b.html 0116T23 /index.html 0116T23 /old.html gone refused 1\n"

func TestMailForms(t *testing.T) {
	d := newDesk(t, Options{})
	multipart := "Content-Type: multipart/mixed; boundary=X\r\n"
	part := func(header, body string) string { return "--X\r\n" + header + "\r\n" + body + "\r\n" }
	for name, m := range map[string][]byte{
		"plain":            d.mail("", testReport),
		"bare line feeds":  d.mail("Content-Type: text/plain; charset=us-ascii\r\n", strings.ReplaceAll(testReport, "\r\n", "\n")),
		"quoted-printable": d.mail("Content-Transfer-Encoding: quoted-printable\r\n", strings.ReplaceAll(testReport, "docs/", "docs=\r\n/")),
		"base64":           d.mail("Content-Transfer-Encoding: base64\r\n", base64.StdEncoding.EncodeToString([]byte(testReport))),
		"utf-16":           d.mail("Content-Type: text/plain; charset=utf-16be\r\n", strings.Join(append([]string{""}, strings.Split(testReport, "")...), "\x00")),
		"unknown charset":  d.mail("Content-Type: text/plain; charset=x-none\r\n", testReport),
		"first text part": d.mail(multipart, part("Content-Type: text/html\r\n", "<p>Report")+
			part("Content-Type: text/plain\r\nContent-Disposition: attachment\r\n", "SequenceNumber: 1")+part("", testReport)+part("", "more")+"--X--\r\n"),
		"parts in parts": d.mail(multipart, part("Content-Type: multipart/alternative; boundary=Y\r\n",
			"--Y\r\nContent-Type: text/plain\r\n\r\n"+testReport+"\r\n--Y--")+"--X--\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			if err := d.Receive(t.Context(), d.address(), m); err != nil {
				t.Fatal(err)
			}
			if logged := d.logged(); logged != testLogged {
				t.Errorf("logged %q, want %q", logged, testLogged)
			}
		})
	}
}

// Results of other mail servers are ignored, and so is a result that stands in a comment or a
// string.
func TestMailThatIsNotForged(t *testing.T) {
	d := newDesk(t, Options{Trusted: "mx.crawler.example"})
	for _, result := range []string{
		"mx.elsewhere.example; dkim=fail", "mx.crawler.example; none", "mx.crawler.example; dkim=none; spf=softfail smtp.mailfrom=a@site.example",
		`mx.crawler.example (x; dkim=fail; y); dkim=pass reason="; dkim=fail" header.d=site.example`, "mx.crawler.example; x-dkim=fail; dkim=failed",
	} {
		if err := d.Receive(t.Context(), d.address(), d.mail("Authentication-Results: "+result+"\r\n", testReport)); err != nil || d.logged() != testLogged {
			t.Errorf("%s: %v", result, err)
		}
	}
}

func TestMailRefused(t *testing.T) {
	d := newDesk(t, Options{Trusted: "mx.crawler.example"})
	verdict := func(s string) string { return "Authentication-Results: " + s + "\r\n" }
	deep := ""
	for range maxDepth + 1 {
		deep += "Content-Type: multipart/mixed; boundary=X\r\n\r\n--X\r\n"
	}
	many := "Content-Type: multipart/mixed; boundary=X\r\n\r\n" + strings.Repeat("--X\r\nContent-Type: text/html\r\n\r\n\r\n", maxParts)
	for name, c := range map[string]struct {
		mail []byte
		want string // part of the reason
	}{
		"no text":           {d.mail("Content-Type: text/html\r\n", testReport), "no part"},
		"no report":         {d.mail("", "Hello,\r\n\r\nbuy now\r\n"), "SequenceNumber"},
		"another site's":    {d.mail("", strings.Replace(testReport, "http://www", "https://www", 1)), "not for reports of https://www.site.example"},
		"too large":         {d.mail("", strings.Repeat("x", maxMail)), "10 MiB"},
		"a bomb":            {d.mail("Content-Type: text/plain; charset=iso-8859-1\r\n", testReport+strings.Repeat("\xe9", maxMail-2000)), "10 MiB"},
		"parts without end": {d.mail(many, testReport), "parts"},
		"parts too deep":    {d.mail(deep, testReport), "parts"},
		"DKIM failed":       {d.mail(verdict("mx.crawler.example; dkim=fail header.d=site.example"), testReport), "dkim"},
		"SPF failed":        {d.mail(verdict("mx.crawler.example; spf=fail smtp.mailfrom=site.example"), testReport), "spf"},
		// As mail servers write it.
		"a comment with a semicolon": {d.mail(verdict(`mx.crawler.example; dkim=fail reason="signature verification failed" (2048-bit key; unprotected) header.d=site.example`), testReport), "dkim"},
		"a comment before it":        {d.mail(verdict("mx.crawler.example 1 (postfix (a\\) b); c); spf=pass (mx.crawler.example: 192.0.2.1 is permitted; see https://x.example/);\r\n\tdkim=fail"), testReport), "dkim"},
		"something odd before it":    {d.mail(verdict("mx.crawler.example; odd; auth=pass; dkim=FAIL header.d=site.example"), testReport), "dkim"},
		"a version and blanks":       {d.mail(verdict("mx.crawler.example; dkim / 1 = fail"), testReport), "dkim"},
		"a quoted semicolon":         {d.mail(verdict(`"mx.crawler.example"; auth=pass smtp.auth="a;b(c"; spf=hardfail`), testReport), "spf"},
		"a comment that never ends":  {d.mail(verdict("mx.crawler.example; spf=pass (of a(b; dkim=fail"), testReport), "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			err := d.Receive(t.Context(), d.address(), c.mail)
			refused := (*Refused)(nil)
			if !errors.As(err, &refused) || !strings.Contains(refused.Reason, c.want) {
				t.Errorf("err = %v, want one of %q", err, c.want)
			}
			if logged := d.logged(); logged != "" {
				t.Errorf("logged %s", logged)
			}
		})
	}
	for name, m := range map[string][]byte{
		"somebody's verdict": d.mail(verdict("mx.site.example; dkim=fail header.d=site.example"), testReport),
		"passed":             d.mail(verdict("mx.crawler.example; dkim=pass header.d=site.example; spf=softfail smtp.mailfrom=site.example"), testReport),
	} {
		if err := d.Receive(t.Context(), d.address(), m); err != nil || d.logged() != testLogged {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.full = errors.New("the log is away")
	refused := (*Refused)(nil)
	if err := d.Receive(t.Context(), d.address(), d.mail("", testReport)); err == nil || errors.As(err, &refused) {
		t.Errorf("a log that is away: %v, want trouble that passes", err)
	}
}

func TestMailSigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	var key []string
	var trouble error
	d := newDesk(t, Options{LookupTXT: func(_ context.Context, domain string) ([]string, error) {
		if domain != "s1._domainkey.site.example" {
			t.Errorf("looked up %s", domain)
		}
		return key, trouble
	}})
	var signed bytes.Buffer
	if err := dkim.Sign(&signed, bytes.NewReader(d.mail("", testReport)), &dkim.SignOptions{Domain: "site.example", Selector: "s1", Signer: private}); err != nil {
		t.Fatal(err)
	}
	right := []string{"v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public)}
	forged := bytes.Replace(signed.Bytes(), []byte("index.html"), []byte("other.html"), 1)
	refused := (*Refused)(nil)

	key = right
	if err := d.Receive(t.Context(), d.address(), signed.Bytes()); err != nil || d.logged() != testLogged {
		t.Errorf("signed: %v", err)
	}
	if err := d.Receive(t.Context(), d.address(), forged); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "DKIM") {
		t.Errorf("changed after it was signed: %v", err)
	}
	key, trouble = nil, &net.DNSError{IsTimeout: true, IsTemporary: true, Err: "timeout"}
	if err := d.Receive(t.Context(), d.address(), signed.Bytes()); err == nil || errors.As(err, &refused) && refused.Reason == "" {
		t.Errorf("the key cannot be had now: %v", err)
	}
	if logged := d.logged(); logged != "" {
		t.Errorf("logged %s", logged)
	}
}

// A question whether we want a site's reports goes to the site's shard. A question about another
// site, or with a page on another host, is refused.
func TestQuestion(t *testing.T) {
	const link = "http://www.site.example/rup/confirm?token=ABC"
	text := func(base, link string) string {
		return "Somebody, perhaps you, asked.\r\n\r\n  curl -d token=ABC http://x.example/\r\n\r\nURLBase: " + base + "\r\nRUP-Confirm: " + link + "\r\n-- \r\nbye\r\n"
	}
	d := newDesk(t, Options{})
	if err := d.Receive(t.Context(), d.address(), d.mail("", text("http://www.site.example/", link))); err != nil {
		t.Fatal(err)
	}
	events := d.events[crawl.ShardOf(testSite.Host, 4)]
	if len(events) != 1 || len(events[0].Reports) != 1 {
		t.Fatalf("%+v", d.events)
	}
	if r := events[0].Reports[0]; r.Origin != testSite || r.Address != d.address() || r.Confirm != link || len(r.Links) != 0 {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{text("http://other.example/", "http://other.example/rup/confirm?token=A"), text("http://www.site.example/", "http://other.example/?x=1"),
		text("http://www.site.example/", ""), text("", link), text("http://www.site.example/", "mailto:x@y.example")} {
		if err := d.Receive(t.Context(), d.address(), d.mail("", bad)); !errors.As(err, new(*Refused)) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
