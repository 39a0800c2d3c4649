// Package cli is how our commands speak to the person who types: help in groups, hints for names
// that do not exist, and exit codes. All programs of Curtsy share it.
package cli
