// Package rdf reads RDF as portals publish it: Turtle, TriG, N-Triples, N-Quads and RDF/XML. Read
// delivers triples as the document arrives. JSONLD delivers the same graph as a list of JSON-LD
// nodes, each subject once, so that a reader of JSON-LD reads every form of RDF.
//
// A document with mistakes is read as far as possible. A broken statement ends at its full stop,
// and the next one is read. What was forgiven and what was lost is in the Report, with the position
// of each. Names of graphs are ignored: all graphs of a document are one.
//
// Nothing here loads anything: no external entity, no schema, no @import. Every length, depth and
// number has a limit (limits.go). A document that exceeds one loses the statement concerned.
package rdf
