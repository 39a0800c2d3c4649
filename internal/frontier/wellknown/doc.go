// Package wellknown decides when well-known files of an origin are requested, and keeps what they
// contained.
//
//   - DataFiles: /data.txt and the files nested in one.
//   - Sitemaps: which sitemaps are read, and when again: a few of a host at a time, and only while
//     few of its URLs wait.
//   - Feeds: which of the RSS and Atom feeds that pages announce are read, and when again. Each has
//     an interval of its own, by how often it was found to have changed. Its entries become links;
//     the dates in them are hints, like those of a sitemap.
//   - OriginFiles: files that a spec may want of each origin, such as security.txt and llms.txt.
//     They are requested once, and again when the answer is too old. The answer is kept with the
//     record of the origin.
//   - RobotsProxy: a robots.txt that redirects to another host is read there for the first host:
//     who may ask for that, how often, and what is answered without a request.
//
// table.go is the table of the kinds: which files there are, who decides about a request, and what
// is kept of an answer.
package wellknown
