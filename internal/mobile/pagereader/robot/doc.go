// Package robot is what the page reader does on a site's machine: it lists the documents below its
// subtree, reads each, and sends a record of it (package reading). It asks the host for everything,
// so tests run it on any system; the command in ../wasm is the module that travels.
//
// A document is sent as it is, unless
//
//   - the crawl has stored it: then only its path is sent;
//   - its robots tags ask that it is not indexed: then only its links and robots tags are sent, so
//     that its text stays where it is;
//   - facts are wanted: then what is on it is sent, as JSON.
//
// The module travels to every site, and each run compiles it again. Its size therefore counts more
// than anything else here. The charset tables, Markdown and the text readers of a crawl would make
// it four times as large, so the robot does without: where it is not sure, it sends the document,
// and the crawl decides.
package robot
