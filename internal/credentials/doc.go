// Package credentials has what a fetching process shows to sites behind a door, and to the proxy it
// goes through: names and passwords, tokens, header fields, cookies, client certificates, and the
// authorities it trusts beside those of the system.
//
// They come from a file that few may read, or from the environment, and stay in the process that
// sends the requests. Nothing here prints a secret: not an error, not a value that is logged.
package credentials
