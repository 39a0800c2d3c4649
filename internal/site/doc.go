// Package site is a web site's end of the Remote Update Protocol: it knows what changed in
// a document root, answers robots that ask, and mails reports to those that registered.
// Command rupd runs it.
//
// A [Site] owns one bbolt file, and all that must survive a crash is in it:
//
//   - files: every file of the document root that has a URL, by path, with stat and SHA-256
//     (state.go);
//   - log: New, Change and Delete, by the time at which the Site noticed them (log.go);
//   - robots: the registrations, keys hashed (registry.go);
//   - spool: report mails that were given a number and are not yet with the relay (spool.go).
//
// A change goes through four steps. Inotify names a path, or a scan comes upon it (watch.go,
// scan.go). The file's stat differs from the one kept, so its content is digested. The digest
// differs, or there was no such file, or it is gone: its new state and a line of the log are
// written in one transaction, so that a crash at any point leaves a change either noticed and
// logged, or unnoticed and for the next scan to find. Each robot's report, one per interval, has
// the net effect of the lines since its last.
//
// What is announced: regular files, and symbolic links to such, the latter looked at by scans only.
// Links to directories are not followed. Names that begin with a dot, those that match an ignore
// pattern, and the root's own robots.txt and rupinfo.txt are passed over. A directory's index file
// has the directory's URL. What robots.txt closes to everybody is in the log, but in no report.
package site
