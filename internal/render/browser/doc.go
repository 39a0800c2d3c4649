// Package browser renders pages with Chromium. The browser has no network: whatever a page asks for
// comes through a pipe as an event of the Chrome DevTools Protocol, and is answered through it.
//
// [New] finds the browser, and the best way to keep it from the network. [Renderer.Render] gives a
// page to one of the browsers, and has another one started in place of one that a page broke.
//
// # Isolation
//
// A browser is started by a guard: this program, started again, as the readers of documents are. On
// Linux the guard has namespaces of its own: of the network, which has no interface that is up, of
// processes, of mounts and of IPC. It applies a filter of system calls (confine.Offline), limits of
// memory and of the length of files, and becomes nobody for the browser if it is root, so that
// Chromium's own sandbox can be on. If namespaces are forbidden, as in most containers, the filter
// alone keeps the browser from the network. Where neither is possible New returns an error. All
// processes of a browser end with its guard, and the guard ends when its standard input is closed,
// which the system does when this process is killed.
//
// # The life of a page
//
// Each page has a browser context of its own, so nothing of it survives: no cookies, no storage, no
// cache. Its clock begins at Page.Time and stands still until the document is there, and while a
// request is open; otherwise it jumps from timer to timer. It is granted in steps. After each step
// the page is drawn, because what loads when it becomes visible loads then. When
// Limits.Own is over, the tree that is shown is taken (DOMSnapshot) and written as HTML. A page
// that crashes, hangs or uses too much memory costs its browser, which is replaced.
package browser
