// Package credentials has what a process shows to sites that require a login, and to the proxy that
// it uses: names and passwords, tokens, header fields, cookies and client certificates. It also has
// the certificate authorities that the process trusts in addition to those of the system.
//
// Credentials come from a file that few users may read, or from the environment. They stay in the
// process that sends the requests. No error and no logged value contains a secret.
package credentials
