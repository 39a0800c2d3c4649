// Package dashboard shows a crawl to people in a browser, and lets them control it.
//
// Every page is answered by the same questions as the command line (internal/asker), whether the
// crawl is running or not. Pages are made on the server and need no script. In a browser with
// scripts, live pages follow the crawl: the same address, requested as an event stream, sends the
// main part of the page again whenever it has changed.
//
// Package web decides who may see the dashboard, and has the frame around its pages.
//
// # How a page is added
//
// A page is a row in the table pages and in the menu (pages.go), a file with its view, and a
// template of its own:
//
//   - The view asks the crawl and returns what the template shows. It reads the address from its
//     request. Its errors say what to do: web.NotFound and web.Wrong make some. If a view comes
//     with an ask.IncompleteError, the page shows what it has, and reports the missing parts.
//   - The template defines "main". Each part of it that changes while the page is open has an id:
//     those are replaced one by one. Numbers, times, links and empty lists are written by the
//     functions of words.go, so that each has its unit, zone and next step.
//   - A table with the class cards becomes a card for each row on a small screen. Each of its cells
//     has its label in data-l. An empty cell is left out there, and is a dash in a wide table.
//   - A control is a form with method post, the address of a row in the table actions, and
//     {{template "csrf" $}} in it.
//
// Text from sites goes through webtext (the functions of words.go do that) and is never markup.
package dashboard
