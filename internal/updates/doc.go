// Package updates receives what sites say of their changes by mail: reports of the Remote Update Protocol (protocols §6.4), by SMTP or
// LMTP from a mail server, or out of a Maildir. It decides which mails are believed as far as a mail can be, and puts what they
// tell into the log of the site's shard, as a [crawl.Report]. What becomes of a report there is the frontier's affair.
//
// Mail is forgeable: whatever it says is a hint (§6.5). A mail counts only when it comes to an address that one site alone was
// told, which its holder cannot guess for another.
package updates
