// Package webtext makes text from sites safe wherever people meet it. On a page and in a terminal
// it is on one line, in its own direction, without control characters, and a link only if it leads
// to the web ([Clean], [URL]). In a shell it is one word ([ShellWord]). In a table no spreadsheet
// program takes it for a formula ([Cell], [CSV]). The package does not escape markup, because
// templates do that.
package webtext
