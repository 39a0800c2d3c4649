// Package search is the HTTP side of search: a page for people, which needs no script, and an
// interface for programs, which is described in OpenAPI.
//
//	GET /search              the page
//	GET /api/v1/search       an answer as JSON
//	GET /api/v1/suggest      what somebody who types may be about to type, and pages
//	GET /api/v1/pages/{url}  the record of one page
//	GET /api/openapi.json    what programs may ask, and what they are answered
//	GET /search-box.js       a script by which a page of another origin gets a search box
//	GET /opensearch.xml      how a browser searches here
//
// The indexers decide what the directives of a page forbid: here only what they send is shown, and
// nothing else is asked for. Text from sites is shown as text and never as markup. It is a link
// only if it leads to http or https.
package search
