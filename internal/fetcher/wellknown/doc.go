// Package wellknown fetches the small files of an origin that are no pages: data.txt, sitemaps,
// feeds, llms.txt, security.txt, the key files of IndexNow, and the answers of update protocols
// (RUP, WebSub). Frontiers ask for them with auxiliary requests.
//
// The kinds of files are a table (table.go). A row says how many redirects are followed and how
// far, which bodies are read up to which size, and which function makes the answer to the frontier
// of what came. One loop fetches all of them (fetch.go): each request needs the permission of the
// origin's robots.txt and of what it says about use, and waits for the host's delay like any other.
// A new kind is a row, and a file with its function.
//
// What a file lists is published before the answer that says that it was read. A fetcher that is
// killed between the two reads the file again, and what is published twice counts once.
package wellknown
