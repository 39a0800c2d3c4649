// Package site is a web site's end of the Remote Update Protocol: it knows what changed in a
// document root, answers requests of robots, and mails reports to the robots that registered. The
// command rupd runs it.
//
// A [Site] owns one bbolt file, which has everything that must survive a crash:
//
//   - files: every file of the document root that has a URL, by path, with stat and SHA-256
//     (state.go);
//   - log: New, Change and Delete, by the time at which the Site noticed them (log.go);
//   - robots: the registrations, with hashed keys (registry.go);
//   - spool: mails with reports that have a number and were not yet sent to the relay (spool.go).
//
// A change is processed as follows. Inotify reports a path, or a scan reaches it (watch.go,
// scan.go). If the file's stat differs from the stored one, its content is digested. If the digest
// differs, or the file is new or gone, its new state and a line of the log are written in one
// transaction. After a crash at any point, a change is therefore either noticed and logged, or not
// noticed, and the next scan finds it. Each robot gets one report per interval, with the net effect
// of the lines since its previous report.
//
// Announced are regular files and symbolic links to regular files; changes behind links are found
// by scans only. Links to directories are not followed. Ignored are names that begin with a dot,
// names that match an ignore pattern, and the root's own robots.txt and rupinfo.txt. A directory's
// index file has the directory's URL. Changes of files that robots.txt closes to everybody are in
// the log, but in no report.
package site
