// Package cli has what all our programs share on the command line: help in groups, hints for names
// that do not exist, and exit codes.
package cli
