// Package webtext makes what sites send fit to stand on a page of ours: on one line, in its
// direction, without control characters, and as a link only where it leads to the web. Markup is
// not its matter: templates escape.
package webtext
