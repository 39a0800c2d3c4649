// Package dashboard shows a crawl to people in a browser, and lets them steer it.
//
// Every page is answered by the same questions as the command line (internal/asker), of a crawl
// that runs or of one at rest. Pages are made on the server and need no script. Where a browser has
// scripts, those that are live follow the crawl: the same address, asked for as an event stream,
// sends the page's main part again whenever it has changed.
//
// # How a page is added
//
// A page is a row in the table pages (pages.go), a file with its view, and a template of its own:
//
//   - The view asks the crawl and returns what the template shows. It takes what is in the address
//     from its request. Its errors say what to do: notFound and wrong make some. An
//     ask.IncompleteError beside a view is told above the page, which then shows what came.
//   - The template defines "main". Each part of it that changes while somebody looks has an id:
//     those are replaced one by one. Numbers, times, links and empty lists are written by the
//     functions of words.go, so that each has its unit, zone and next step.
//   - A control is a form with method post, the address of a row in the table acts, and
//     {{template "csrf" $}} in it.
//
// Text from sites goes through webtext (the functions of words.go do that) and is never markup.
//
// # Who may look
//
// On loopback, whoever is on this machine, by an address or as localhost. Elsewhere whoever has the
// token, which becomes a cookie. Requests under names that are not ours, from pages of other
// origins, and changes without this session's CSRF token are refused (guard.go, session.go).
package dashboard
