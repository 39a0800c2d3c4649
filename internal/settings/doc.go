// Package settings is the table of what an operator can choose about a crawl. A setting is a field
// of crawl.Spec and a row of this table, and it stands nowhere else. The others read the row:
//
//   - config makes flags, environment variables and keys of the file from it, and checks values;
//   - control says in the crawl log what was changed, and which settings a running crawl accepts;
//   - the dashboard shows all settings and makes its form;
//   - the frontier learns what must be decided again after a change;
//   - docs/reference and deploy/curtsy.example.yaml are generated (go generate ./cmd/curtsy).
//
// To add a setting, add the field to crawl.Spec and a row to the file of its group. The code that
// does what the setting says reads the field.
//
// Some fields of crawl.Spec are no settings: the name of the crawl, its seeds, and what operator
// actions write (pauses, forgotten prefixes). A test has the list of them.
package settings
