// Package updates follows sites that report their own changes.
//
//   - RUPSites are sites that speak the Remote Update Protocol: what is known of each, what to ask
//     it next, and what a report means for its pages.
//   - IndexNow receives submissions by IndexNow. A submission comes from somebody unknown and
//     counts only after the site itself is seen to have the key. The key file is requested like any
//     URL of
//     the site, under its rules and delays, at most three times a day; what waits for it is
//     bounded. A proved submission is a hint, like a RUP report: no page is requested sooner than
//     the delay of its site allows, and nothing is erased because of it.
//   - WebSub subscribes to feeds that name a hub (W3C Recommendation of 2018), so that the hub
//     reports changes and the feed is not polled. A hub is a stranger: it is requested like any
//     other host, under a visit of its own. Its answers count only for what it was asked, and what
//     it delivers becomes hints and links, as if the feed had been read.
package updates
