// Package searchweb is the HTTP side of search: a page for people, which needs no script, and an
// interface for programs, which is described in OpenAPI.
//
//	GET /search              the page
//	GET /api/v1/search       an answer as JSON
//	GET /api/v1/pages/{url}  the record of one page
//	GET /api/openapi.json    what programs may ask, and what they are answered
//	GET /opensearch.xml      how a browser searches here
//
// What a page's directives forbid is decided by those who hold the pages: here is shown what they
// send, and nothing else is asked for. What comes from sites is text on the page and never markup,
// and a link only where it leads to http or https.
package searchweb
