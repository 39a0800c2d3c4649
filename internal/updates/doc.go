// Package updates receives mails in which sites report their changes: reports of the Remote Update
// Protocol (formats §6.4), by SMTP or LMTP from a mail server, or from a Maildir. It decides which
// mails are accepted, as far as a mail can be trusted, and appends their contents to the log of the
// site's shard, as a [crawl.Report]. The frontier decides what follows from a report.
//
// Mail can be forged, so its contents are hints (formats §6.5). A mail counts only if it was sent
// to an address that one site alone received, and that nobody can guess for another site.
package updates
