// Package render is what the crawler and whatever runs the scripts of pages agree on. A renderer
// gets a page as its server sent it, and returns the page as it is when its scripts have run.
//
// A renderer has no network. Whatever a page asks for is a [Request], which the caller of Render
// sends, or refuses, as it does with its own requests: with the robots.txt, the delay and the
// address guard of the host. The clock of the page stands still meanwhile, so waiting for a polite
// moment breaks no page.
//
// The package below it that runs Chromium is [github.com/curtsy/curtsy/internal/render/browser].
package render
