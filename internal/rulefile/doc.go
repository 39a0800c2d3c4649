// Package rulefile reads files in YAML that an operator writes: site rules and search rules. It
// collects all mistakes of a file, each with its line and column and what would be accepted.
package rulefile
