// Package web is what all faces of a crawl on HTTP share: the dashboard (web/dashboard), search
// (web/search) and the interface for assistants (web/mcp).
//
//   - Who may ask: a Server refuses requests under names that are not its own and from pages of
//     other origins (guard.go). It knows browsers by a signed cookie, and programs by the token in
//     a header (session.go, login.go). It limits attempts to guess the token (tries.go).
//   - How much: a Semaphore limits the questions that are answered at the same time.
//   - Problems: CauseOf sorts errors into the few causes that a client can act on. Each face words
//     them, and a Problem is sent as a page or as JSON (problem.go).
//   - What browsers may do with an answer: Protect sets the header fields of every answer.
//   - The frame: layout, navigation, login and files that all pages of a Server have (frame.go,
//     templates, static).
//
// A face does not decide who may see it. It adds its pages to a Server with Handle, Mount or
// Programs. Search also works without a Server: Protect and a Semaphore are all that it needs.
package web
