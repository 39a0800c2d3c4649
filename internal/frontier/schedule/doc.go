// Package schedule decides which host is visited now: the schedule of due hosts, grants with their
// leases, the quota of each kind of work on a host, and how many slots one domain may use. It also
// keeps the timeline: the last requests that were sent to each host, as fetchers report them
// (crawl.Trace), for people who want to see when we asked for what.
package schedule
