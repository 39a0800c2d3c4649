// Package webtext makes text from sites safe to show on our pages: on one line, in its own
// direction, without control characters, and as a link only if it leads to the web. It does not
// escape markup, because templates do that.
package webtext
