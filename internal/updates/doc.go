// Package updates receives what sites say of their changes by mail: reports of the Remote Update
// Protocol (formats §6.4), by SMTP or LMTP from a mail server, or out of a Maildir. It decides
// which mails are believed, as far as a mail can be, and puts what they say into the log of the
// site's shard, as a [crawl.Report]. What follows from a report is decided by the frontier.
//
// Mail can be forged: whatever it says is a hint (formats §6.5). A mail counts only when it comes
// to an address that was told to one site alone, and that nobody can guess for another site.
package updates
