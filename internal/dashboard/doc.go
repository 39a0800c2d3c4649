// Package dashboard shows a crawl to people in a browser, and lets them steer it.
//
// Every page is answered by the same questions as the command line (internal/asker), whether the
// crawl is running or not. Pages are made on the server and need no script. Where a browser has
// scripts, live pages follow the crawl: the same address, requested as an event stream, sends the
// page's main part again whenever it has changed.
//
// # How a page is added
//
// A page is a row in the table pages and in the menu (pages.go), a file with its view, and a
// template of its own:
//
//   - The view asks the crawl and returns what the template shows. It reads the address from its
//     request. Its errors name what to do: notFound and wrong make some. An ask.IncompleteError
//     beside a view is reported above the page, which then shows what came.
//   - The template defines "main". Each part of it that changes while somebody looks has an id:
//     those are replaced one by one. Numbers, times, links and empty lists are written by the
//     functions of words.go, so that each has its unit, zone and next step.
//   - A table with the class cards becomes a card for each row on a small screen. Each of its cells
//     has its label in data-l. An empty cell is left out there, and is a dash in a wide table.
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
